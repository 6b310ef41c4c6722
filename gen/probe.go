package main

import "github.com/mmcloughlin/avo/operand"

// peakChains independent chains of FMAs hide the latency of 4 cycles on two units.
const peakChains = 12

// peak is the probe of the machine's FMA rate: register operands alone, nothing
// to wait for.
func (g *gen) peak() {
	g.function(peakFunction)
	n := g.num("n")
	acc := g.vectorsOf(peakChains)
	x, y := g.vec(), g.vec()
	for _, v := range append(acc, x, y) {
		g.zero(g.Context, v)
	}
	g.align()
	g.Comment("Every chain twice.")
	g.Label("loop")
	for range 2 {
		for _, a := range acc {
			g.VFMADD231PS(x, y, a)
		}
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("loop"))
	g.ret()
}
