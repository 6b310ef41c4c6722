package amd64

import (
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
