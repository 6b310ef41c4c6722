package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A mover emits loads and stores of vectors, whole or under a mask, so that one body serves both.
type mover struct {
	load  func(m operand.Mem, v reg.VecVirtual)
	store func(v reg.VecVirtual, m operand.Mem)
}

// wholeVectors moves all elements.
func (g *gen) wholeVectors() mover {
	return mover{
		load:  func(m operand.Mem, v reg.VecVirtual) { g.VMOVUPS(m, v) },
		store: func(v reg.VecVirtual, m operand.Mem) { g.VMOVUPS(v, m) },
	}
}

// firstElements moves the first left elements, fewer than a vector has. The mask is loaded for each.
func (g *gen) firstElements(left reg.GPVirtual) mover {
	masks := g.Masks(left)
	mask := func() reg.VecVirtual {
		v := g.Vec()
		g.VMOVUPS(emit.At(masks, 0), v)
		return v
	}
	return mover{
		load:  func(m operand.Mem, v reg.VecVirtual) { g.LoadWhere(g.Context, m, mask(), v) },
		store: func(v reg.VecVirtual, m operand.Mem) { g.StoreWhere(g.Context, v, mask(), m) },
	}
}

// columns emits the loops of a kernel over left columns: of so many vectors, then of one, and then
// of less than one under a mask. body emits those of some vectors. at are pointers to the columns,
// which are advanced.
func (g *gen) columns(vectors int, left reg.GPVirtual, at []reg.GPVirtual, body func(name string, vectors int, move mover)) {
	for _, n := range []int{vectors, 1} {
		name := fmt.Sprint("columns", n)
		lanes := operand.U32(n * g.Lanes())
		g.SUBQ(lanes, left)
		g.JL(operand.LabelRef(name + "end"))
		g.Label(name)
		body(name, n, g.wholeVectors())
		g.Advance(n*g.VecBytes(), at...)
		g.SUBQ(lanes, left)
		g.JGE(operand.LabelRef(name))
		g.Label(name + "end")
		g.ADDQ(lanes, left)
	}
	g.JZ(operand.LabelRef("end"))
	body("last", 1, g.firstElements(left))
	g.Label("end")
}
