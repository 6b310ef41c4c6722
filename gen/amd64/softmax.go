package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Softmax works on chunks of columns, a few vectors wide, from the first row to
// the last: maximum and sum of a chunk stay in registers, and the vectors of a
// row hide each other's latency (six dependent FMAs and the scaling). The sums
// are one addition a row deep, as the contract has them.
//
// Vector registers: maximum and sum of each vector of the chunk, x, n, r and p of
// each, and with 32 registers the 8 constants of exp2.
func (g *gen) Softmax() {
	g.function(spec.Softmax)
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

// MergeStats merges the statistics of a block into the running ones, one vector of
// lanes at a time:
//
//	m' = max(blockMax, max), z = m' with 0 for -Inf
//	alpha = exp2(max - z), beta = exp2(blockMax - z)
//	sum = fma(blockSum, beta, sum·alpha), max = m'
func (g *gen) MergeStats() {
	g.function(spec.MergeStats)
	names := []string{"max", "sum", "blockMax", "blockSum", "alpha", "beta"}
	p := map[string]reg.GPVirtual{}
	for _, n := range names {
		p[n] = g.slice(n)
	}
	left := g.sliceLen("max")
	ops := g.exp2Operands()
	g.Comment("One vector of lanes: m' = max(blockMax, max).")
	g.Label("columns")
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef("done"))

	m, mb, next := g.vec(), g.vec(), g.vec()
	g.VMOVUPS(at(p["max"], 0), m)
	g.VMOVUPS(at(p["blockMax"], 0), mb)
	g.VMAXPS(m, mb, next)
	g.VMOVUPS(next, at(p["max"], 0))
	z := g.finiteMax(next)
	g.VSUBPS(z, m, m)
	g.VSUBPS(z, mb, mb)
	es := g.exp2(ops, []reg.VecVirtual{m, mb})
	g.VMOVUPS(es[0], at(p["alpha"], 0))
	g.VMOVUPS(es[1], at(p["beta"], 0))
	g.Comment("sum = fma(blockSum, beta, sum·alpha)")
	sum := g.vec()
	g.VMULPS(at(p["sum"], 0), es[0], sum)
	g.VFMADD231PS(at(p["blockSum"], 0), es[1], sum)
	g.VMOVUPS(sum, at(p["sum"], 0))

	for _, n := range names {
		g.ADDQ(operand.U32(g.bytes()), p[n])
	}
	g.SUBQ(operand.U32(g.lanes()), left)
	g.JMP(operand.LabelRef("columns"))
	g.Label("done")
	g.ret()
}
