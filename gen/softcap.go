package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softcap works on chunks of columns, a few vectors wide, from the first row to the
// last, with the lanes' maxima in registers. The vectors come one after the other:
// no one waits for another, and the CPU overlaps them by itself.
//
// Vector registers: cap, inv, the maxima, what tanh needs and has.
func (g *gen) softcap() {
	g.function(softcapFunction)
	c := softcap{gen: g, s: g.slice("s"), ld: g.stride("ld"), n: g.num("n"), max: g.slice("max"), limit: g.vec(), inv: g.vec()}
	left := g.sliceLen("max")
	g.VBROADCASTSS(g.argument("limit"), c.limit)
	g.VBROADCASTSS(g.argument("inv"), c.inv)
	c.tanh = g.tanhOperands()
	widest := 2
	if g.evex() {
		widest = 4
	}
	g.chunks(widest, left, c.chunk)
}

type softcap struct {
	*gen
	s, ld, n, max reg.GPVirtual
	limit, inv    reg.VecVirtual
	tanh          tanhOperands
}

func (g softcap) chunk(vectors int, name string) {
	g.Commentf("%d vectors of lanes, one row a turn.", vectors)
	g.Label(name)
	m := g.vectorsOf(vectors)
	for v := range vectors {
		g.VMOVUPS(at(g.max, v*g.bytes()), m[v])
	}
	p, rows := g.GP64(), g.GP64()
	g.MOVQ(g.s, p)
	g.MOVQ(g.n, rows)
	g.TESTQ(rows, rows)
	g.JZ(operand.LabelRef(name + "done"))
	g.align()
	g.Label(name + "row")
	for v := range vectors {
		x := g.vec()
		g.VMULPS(at(p, v*g.bytes()), g.inv, x)
		y := g.gen.tanh(g.tanh, x)
		g.VMULPS(g.limit, y, y)
		g.VMOVUPS(y, at(p, v*g.bytes()))
		g.VMAXPS(m[v], y, m[v])
	}
	g.ADDQ(g.ld, p)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(name + "row"))
	g.Label(name + "done")
	for v := range vectors {
		g.VMOVUPS(m[v], at(g.max, v*g.bytes()))
	}
	g.advance(vectors*g.bytes(), g.s, g.max)
}
