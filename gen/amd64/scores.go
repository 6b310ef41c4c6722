package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Softcap works on chunks of columns, a few vectors wide, from the first row to the
// last, with the lanes' maxima in registers. The vectors come one after the other:
// no one waits for another, and the CPU overlaps them by itself.
//
// Vector registers: cap, inv, the maxima, what tanh needs and has.
func (g *gen) Softcap() {
	g.function(spec.Softcap)
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

// ALiBi works on chunks of columns, a few vectors wide, from the first row to the
// last, with the lanes' slopes, positions and maximum in registers; the vectors of
// a row share the number of its key. A distance fits into an int32, and negating
// it is left to the fma.
//
// Vector registers: slope, position, maximum and 2 more of each vector, key, 1.
func (g *gen) ALiBi() {
	g.function(spec.ALiBi)
	a := alibi{gen: g, s: g.slice("s"), ld: g.stride("ld"), n: g.num("n"), slopes: g.slice("slopes"), pos: g.slice("pos"), max: g.slice("max"), one: g.vec()}
	left := g.sliceLen("max")
	g.VMOVUPS(g.constant(1), a.one)
	widest := 2
	if g.evex() {
		widest = 4
	}
	g.chunks(widest, left, a.chunk)
}

type alibi struct {
	*gen
	s, ld, n, slopes, pos, max reg.GPVirtual
	one                        reg.VecVirtual
}

func (g alibi) chunk(vectors int, name string) {
	g.Commentf("%d vectors of lanes, one row a turn.", vectors)
	g.Label(name)
	slope, i, m := g.vectorsOf(vectors), g.vectorsOf(vectors), g.vectorsOf(vectors)
	for v := range vectors {
		g.VMOVUPS(at(g.slopes, v*g.bytes()), slope[v])
		g.VMOVUPS(at(g.pos, v*g.bytes()), i[v])
		g.VMOVUPS(at(g.max, v*g.bytes()), m[v])
	}
	j, p, rows := g.vec(), g.GP64(), g.GP64()
	g.VPBROADCASTD(g.argument("j0"), j)
	g.MOVQ(g.s, p)
	g.MOVQ(g.n, rows)
	g.TESTQ(rows, rows)
	g.JZ(operand.LabelRef(name + "done"))
	g.align()
	g.Label(name + "row")
	for v := range vectors {
		d, x := g.vec(), g.vec()
		g.VPSUBD(j, i[v], d)
		g.VPABSD(d, d)
		g.VCVTDQ2PS(d, d)
		g.VMOVUPS(at(p, v*g.bytes()), x)
		g.VFNMADD231PS(d, slope[v], x)
		g.VMOVUPS(x, at(p, v*g.bytes()))
		g.VMAXPS(m[v], x, m[v])
	}
	g.VPADDD(g.one, j, j)
	g.ADDQ(g.ld, p)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(name + "row"))
	g.Label(name + "done")
	for v := range vectors {
		g.VMOVUPS(m[v], at(g.max, v*g.bytes()))
	}
	g.advance(vectors*g.bytes(), g.s, g.slopes, g.pos, g.max)
}

// MaskSpan hides scores by select, one vector of lanes at a time from the first row
// to the last, with the lanes' spans and maximum in registers.
func (g *gen) MaskSpan() {
	g.function(spec.MaskSpan)
	s, ld := g.slice("s"), g.stride("ld")
	lo, hi, max, left := g.slice("lo"), g.slice("hi"), g.slice("max"), g.sliceLen("max")
	one, inf := g.vec(), g.vec()
	g.VMOVUPS(g.constant(1), one)
	g.VMOVUPS(g.constant(spec.MinusInf), inf)

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
