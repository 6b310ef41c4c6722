package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions over slices go a vector of elements a turn. Where the vector does
// not divide the slice, the last vector of it overlaps the one before; as dst may be
// src, it is computed first of all and stored last. Slices shorter than a vector go
// element by element.

// each emits a function over len(dst) elements. init makes what f needs, which
// overwrites a vector and returns the result.
func (g *gen) each(f function, init func(), compute func(x reg.VecVirtual) reg.VecVirtual) {
	g.function(f)
	dst, src, count := g.slice("dst"), g.slice("src"), g.sliceLen("dst")
	init()
	i, end, x := g.GP64(), g.GP64(), g.vec()
	g.XORQ(i, i)
	g.MOVQ(count, end)
	g.SUBQ(operand.U32(g.lanes()), end)
	g.JL(operand.LabelRef("single"))
	g.Comment("The last vector waits in a register.")
	g.VMOVUPS(indexed(src, end, 4), x)
	last := compute(x)
	g.JZ(operand.LabelRef("last"))
	g.align()
	g.Label("vector")
	x = g.vec()
	g.VMOVUPS(indexed(src, i, 4), x)
	g.VMOVUPS(compute(x), indexed(dst, i, 4))
	g.ADDQ(operand.U32(g.lanes()), i)
	g.CMPQ(i, end)
	g.JLT(operand.LabelRef("vector"))
	g.Label("last")
	g.VMOVUPS(last, indexed(dst, end, 4))
	g.ret()

	g.Label("single")
	g.CMPQ(i, count)
	g.JGE(operand.LabelRef("done"))
	x = g.vec()
	g.VMOVSS(indexed(src, i, 4), x.AsX())
	g.VMOVSS(compute(x).AsX(), indexed(dst, i, 4))
	g.INCQ(i)
	g.JMP(operand.LabelRef("single"))
	g.Label("done")
	g.ret()
}

// exp2Each is not for x ≤ 0 alone: beyond 128 x is 128, where n is 128 and the
// polynomial 1, and the scaling makes it +Inf.
func (g *gen) exp2Each() {
	var ops []operand.Op
	limit := g.vec()
	g.each(exp2Function, func() {
		ops = g.exp2Operands()
		g.VMOVUPS(g.constant(plus128), limit)
	}, func(x reg.VecVirtual) reg.VecVirtual {
		g.VMINPS(x, limit, x) // a NaN stays
		return g.exp2(ops, []reg.VecVirtual{x})[0]
	})
}

func (g *gen) tanhEach() {
	var o tanhOperands
	g.each(tanhFunction, func() { o = g.tanhOperands() }, func(x reg.VecVirtual) reg.VecVirtual { return g.tanh(o, x) })
}
