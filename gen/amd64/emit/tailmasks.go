package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maskWords is one more than the largest number of elements that a mask selects.
const maskWords = spec.NormChains

// Masks returns the address of the masks for the first n elements of a row, n < maskWords, one
// vector after the other. A lane is all ones if its element is among them, otherwise 0.
func (g *Gen) Masks(n reg.GPVirtual) reg.GPVirtual {
	table, first := g.GP64(), g.GP64()
	g.LEAQ(g.maskTable(), table)
	g.MOVQ(operand.U32(maskWords), first)
	g.SUBQ(n, first)
	g.LEAQ(Indexed(table, first, 4), table)
	return table
}

// maskTable is the table of masks: words with all bits set, and then as many zeros.
func (g *Gen) maskTable() operand.Mem {
	const name = "masks"
	if m, ok := g.data[name]; ok {
		return m
	}
	return g.table(name, 2*maskWords, func(i int) uint32 {
		if i < maskWords {
			return 1<<32 - 1
		}
		return 0
	})
}

// Places returns the numbers from 0 to 63, vector after vector.
func (g *Gen) Places() operand.Mem {
	const name = "places"
	if m, ok := g.data[name]; ok {
		return m
	}
	return g.table(name, 64, func(i int) uint32 { return uint32(i) })
}

// EachVector emits a loop over left elements of dst, a vector after the other, and what is left
// under a mask. compute returns the results for the elements from i on. It loads what it needs
// with load. left is used up.
func (g *Gen) EachVector(dst, left reg.GPVirtual, compute func(i reg.Register, load func(m operand.Mem, v reg.VecVirtual)) reg.VecVirtual) {
	i, mask := g.GP64(), g.Vec()
	g.XORQ(i, i)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JL(operand.LabelRef("last"))
	g.AlignLoop()
	g.Label("vector")
	x := compute(i, func(m operand.Mem, v reg.VecVirtual) { g.VMOVUPS(m, v) })
	g.VMOVUPS(x, Indexed(dst, i, 4))
	g.ADDQ(operand.U32(g.Lanes()), i)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JGE(operand.LabelRef("vector"))
	g.Comment("Less than a vector is left.")
	g.Label("last")
	g.ADDQ(operand.U32(g.Lanes()), left)
	g.JZ(operand.LabelRef("end"))
	g.VMOVUPS(At(g.Masks(left), 0), mask)
	x = compute(i, func(m operand.Mem, v reg.VecVirtual) { g.LoadWhere(g.Context, m, mask, v) })
	g.StoreWhere(g.Context, x, mask, Indexed(dst, i, 4))
	g.Label("end")
}
