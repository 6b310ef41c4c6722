package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax works on chunks of columns, a few vectors wide, from the first row to
// the last: maximum and sum of a chunk stay in registers, and the vectors of a
// row hide each other's latency (six dependent FMAs and the scaling). The sums
// are one addition a row deep, as the contract has them.
//
// Vector registers: maximum and sum of each vector of the chunk, x, n, r and p of
// each, and with 32 registers the 8 constants of exp2.
func (g *gen) softmax() {
	g.function(softmaxFunction)
	s, ld, n := g.slice("s"), g.stride("ld"), g.num("n")
	max, sum, left := g.slice("max"), g.slice("sum"), g.sliceLen("max")
	ops := g.exp2Operands()
	widest := 2
	if g.evex() {
		widest = 4
	}
	g.chunks(widest, left, func(vectors int, name string) {
		g.softmaxChunk(vectors, name, s, ld, n, max, sum, ops)
	})
}

func (g *gen) softmaxChunk(vectors int, name string, s, ld, n, max, sum reg.GPVirtual, ops []operand.Op) {
	g.Commentf("%d vectors of lanes: maxima and sums in registers, one row a turn.", vectors)
	g.Label(name)
	zs, sums := make([]reg.VecVirtual, vectors), g.vectorsOf(vectors)
	for v := range vectors {
		m := g.vec()
		g.VMOVUPS(at(max, v*g.bytes()), m)
		zs[v] = g.finiteMax(m)
		g.zero(g.Context, sums[v])
	}
	p, rows := g.GP64(), g.GP64()
	g.MOVQ(s, p)
	g.MOVQ(n, rows)
	g.TESTQ(rows, rows)
	g.JZ(operand.LabelRef(name + "done"))
	g.align()
	g.Label(name + "row")
	xs := g.vectorsOf(vectors)
	for v := range xs {
		g.VMOVUPS(at(p, v*g.bytes()), xs[v])
		g.VSUBPS(zs[v], xs[v], xs[v])
	}
	ps := g.exp2(ops, xs)
	for v := range ps {
		g.VMOVUPS(ps[v], at(p, v*g.bytes()))
		g.VADDPS(ps[v], sums[v], sums[v])
	}
	g.ADDQ(ld, p)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(name + "row"))
	g.Comment("Store the sums; on to the next columns.")
	g.Label(name + "done")
	for v := range sums {
		g.VMOVUPS(sums[v], at(sum, v*g.bytes()))
	}
	g.advance(vectors*g.bytes(), s, max, sum)
}
