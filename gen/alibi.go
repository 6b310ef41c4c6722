package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// alibi works on chunks of columns, a few vectors wide, from the first row to the
// last, with the lanes' slopes, positions and maximum in registers; the vectors of
// a row share the number of its key. A distance fits into an int32, and negating
// it is left to the fma.
//
// Vector registers: slope, position, maximum and 2 more of each vector, key, 1.
func (g *gen) alibi() {
	g.function(alibiFunction)
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
