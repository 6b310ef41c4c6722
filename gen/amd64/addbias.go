package amd64

import (
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
)

// AddBias adds a bias to the rows of a product and makes every NaN the same one, one row
// after the other, a vector at a time:
//
//	x = c[i·ldc+lane] + bias[lane], 0x7fc00000 if that is a NaN
func (g *gen) AddBias() {
	g.function(spec.AddBias)
	row, ldc, m := g.slice("c"), g.stride("ldc"), g.num("m")
	bias, lanes := g.slice("bias"), g.sliceLen("bias")
	nan := g.vec()
	g.VMOVUPS(g.constant(spec.NaN), nan)
	g.SHLQ(operand.Imm(2), lanes)
	g.JZ(operand.LabelRef("done"))
	loop.AnyTimes(g, m, "row", "done", false, func() {
		lane, x := g.GP64(), g.vec()
		g.XORL(lane.As32(), lane.As32())
		g.Comment("One vector: x = c + bias.")
		g.Label("vector")
		g.VMOVUPS(indexed(row, lane, 1), x)
		g.VADDPS(indexed(bias, lane, 1), x, x)
		g.replaceNaN(g.Context, x, nan)
		g.VMOVUPS(x, indexed(row, lane, 1))
		g.ADDQ(operand.U32(g.bytes()), lane)
		g.CMPQ(lane, lanes)
		g.JLT(operand.LabelRef("vector"))
		g.ADDQ(ldc, row)
	})
	g.Return()
}
