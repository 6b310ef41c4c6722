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

// read is the probe of the memory: it loads all of a slice, whole cache lines at a
// time and in order, and does nothing with it. What 16 lines do not divide is left
// out.
func (g *gen) read() {
	const lines = 16
	g.function(readFunction)
	p, left := g.slice("p"), g.sliceLen("p")
	g.SHRQ(operand.Imm(8), left) // 16 lines of 16 numbers
	g.JZ(operand.LabelRef("done"))
	g.align()
	g.Label("loop")
	for i := range lines * lineBytes / g.bytes() {
		g.VMOVUPS(at(p, i*g.bytes()), g.vec())
	}
	g.ADDQ(operand.U32(lines*lineBytes), p)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("loop"))
	g.Label("done")
	g.ret()
}
