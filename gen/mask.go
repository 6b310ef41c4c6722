package main

import "github.com/mmcloughlin/avo/operand"

// mask hides scores by select, one vector of lanes at a time from the first row
// to the last, with the lanes' spans and maximum in registers.
func (g *gen) mask() {
	g.function(maskSpanFunction)
	s, ld := g.slice("s"), g.stride("ld")
	lo, hi, max, left := g.slice("lo"), g.slice("hi"), g.slice("max"), g.sliceLen("max")
	one, inf := g.vec(), g.vec()
	g.VMOVUPS(g.constant(1), one)
	g.VMOVUPS(g.constant(minusInf), inf)

	g.Comment("One vector of lanes: spans, maximum and the row's number in registers.")
	g.Label("columns")
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef("done"))
	l, h, m, j := g.vec(), g.vec(), g.vec(), g.vec()
	g.VMOVUPS(at(lo, 0), l)
	g.VMOVUPS(at(hi, 0), h)
	g.VMOVUPS(at(max, 0), m)
	g.VPBROADCASTD(g.argument("j0"), j)
	p, rows := g.GP64(), g.num("n")
	g.MOVQ(s, p)
	g.TESTQ(rows, rows)
	g.JZ(operand.LabelRef("next"))
	g.Comment("Keep the scores with lo ≤ j < hi.")
	g.Label("row")
	x := g.vec()
	g.VMOVUPS(at(p, 0), x)
	g.hide(g.Context, x, j, l, h, inf)
	g.VMOVUPS(x, at(p, 0))
	g.VMAXPS(m, x, m)
	g.VPADDD(one, j, j)
	g.ADDQ(ld, p)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	g.Label("next")
	g.VMOVUPS(m, at(max, 0))
	g.advance(g.bytes(), s, lo, hi, max)
	g.SUBQ(operand.U32(g.lanes()), left)
	g.JMP(operand.LabelRef("columns"))
	g.Label("done")
	g.ret()
}
