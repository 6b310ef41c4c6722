package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
)

// AddBias adds a bias to the rows of a product and makes every NaN the same one, one row
// after the other, a vector at a time:
//
//	x = c[i·ldc+lane] + bias[lane], 0x7fc00000 if that is a NaN
func (g *gen) AddBias() {
	g.Kernel(spec.AddBias)
	row, ldc, m := g.Slice("c"), g.Stride("ldc"), g.Num("m")
	bias, lanes := g.Slice("bias"), g.SliceLen("bias")
	nan := g.Vec()
	g.VMOVUPS(g.Constant(spec.NaN), nan)
	g.SHLQ(operand.Imm(2), lanes)
	g.JZ(operand.LabelRef("done"))
	loop.AnyTimes(g, m, "row", "done", false, func() {
		lane, x := g.GP64(), g.Vec()
		g.XORL(lane.As32(), lane.As32())
		g.Comment("One vector: x = c + bias.")
		g.Label("vector")
		g.VMOVUPS(emit.Indexed(row, lane, 1), x)
		g.VADDPS(emit.Indexed(bias, lane, 1), x, x)
		g.ReplaceNaN(g.Context, x, nan)
		g.VMOVUPS(x, emit.Indexed(row, lane, 1))
		g.ADDQ(operand.U32(g.VecBytes()), lane)
		g.CMPQ(lane, lanes)
		g.JLT(operand.LabelRef("vector"))
		g.ADDQ(ldc, row)
	})
	g.Return()
}
