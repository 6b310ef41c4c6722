package main

import "github.com/mmcloughlin/avo/operand"

// settle adds a bias to the rows of a product, and makes every NaN the same one:
//
//	x = c[i·ldc+lane] + bias[lane], 0x7fc00000 where that is NaN
//
// one row after the other, a vector at a time.
func (g *gen) settle() {
	g.function(addBiasFunction)
	row, ldc, m := g.slice("c"), g.stride("ldc"), g.num("m")
	bias, lanes := g.slice("bias"), g.sliceLen("bias")
	nan := g.vec()
	g.VMOVUPS(g.constant(nanF32), nan)
	g.SHLQ(operand.Imm(2), lanes)
	g.JZ(operand.LabelRef("done"))
	g.TESTQ(m, m)
	g.JZ(operand.LabelRef("done"))

	g.Comment("One row.")
	g.Label("row")
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
	g.DECQ(m)
	g.JNZ(operand.LabelRef("row"))
	g.Label("done")
	g.ret()
}
