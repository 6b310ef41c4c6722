package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Softmax works on chunks of lanes, a few vectors wide, from the first row to the last.
// Maxima and sums of a chunk stay in registers. The vectors of a row hide each other's
// latency, that of six dependent FMAs and the scaling. The sums take one addition per
// row, as the contract wants.
//
// Vector registers: maximum and sum of each vector of the chunk, x, n, r and p of each,
// and with 32 registers the 8 constants of exp2.
func (g *gen) Softmax() {
	g.Kernel(spec.Softmax)
	s, ld, n := g.Slice("s"), g.Stride("ld"), g.Num("n")
	max, sum, left := g.Slice("max"), g.Slice("sum"), g.SliceLen("max")
	ops := g.Exp2Operands(spec.LeastWeight)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.softmaxChunk(vectors, name, s, ld, n, max, sum, ops)
	})
}

func (g *gen) softmaxChunk(vectors int, name string, s, ld, n, max, sum reg.GPVirtual, ops []operand.Op) {
	g.Commentf("%d vectors of lanes: maxima and sums in registers, one row per iteration.", vectors)
	g.Label(name)
	zs, sums := make([]reg.VecVirtual, vectors), g.Vecs(vectors)
	for v := range vectors {
		m := g.Vec()
		g.LoadVec(max, v, m)
		zs[v] = g.FiniteMax(m)
		g.Zero(g.Context, sums[v])
	}
	g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
		xs := g.Vecs(vectors)
		for v := range xs {
			g.LoadVec(p, v, xs[v])
			g.VSUBPS(zs[v], xs[v], xs[v])
		}
		ps := g.Exp2Vectors(ops, xs)
		for v := range ps {
			g.StoreVec(ps[v], p, v)
			g.VADDPS(ps[v], sums[v], sums[v])
		}
	})
	for v := range sums {
		g.StoreVec(sums[v], sum, v)
	}
	g.Advance(vectors*g.VecBytes(), s, max, sum)
}

// MergeStats merges the statistics of a block into the running ones, one vector of lanes
// at a time:
//
//	m' = max(blockMax, max), z = m' with 0 for -Inf
//	alpha = exp2(max - z), beta = exp2(blockMax - z)
//	sum = fma(blockSum, beta, sum·alpha), max = m'
func (g *gen) MergeStats() {
	g.Kernel(spec.MergeStats)
	names := []string{"max", "sum", "blockMax", "blockSum", "alpha", "beta"}
	p := map[string]reg.GPVirtual{}
	for _, n := range names {
		p[n] = g.Slice(n)
	}
	left := g.SliceLen("max")
	ops := g.Exp2Operands(spec.LeastWeight)
	g.Comment("One vector of lanes: m' = max(blockMax, max).")
	g.Label("columns")
	g.JumpIfZero(left, "done")

	m, mb, next := g.Vec(), g.Vec(), g.Vec()
	g.LoadVec(p["max"], 0, m)
	g.LoadVec(p["blockMax"], 0, mb)
	g.VMAXPS(m, mb, next)
	g.StoreVec(next, p["max"], 0)
	z := g.FiniteMax(next)
	g.VSUBPS(z, m, m)
	g.VSUBPS(z, mb, mb)
	es := g.Exp2Vectors(ops, []reg.VecVirtual{m, mb})
	g.StoreVec(es[0], p["alpha"], 0)
	g.StoreVec(es[1], p["beta"], 0)
	g.Comment("sum = fma(blockSum, beta, sum·alpha)")
	sum := g.Vec()
	g.VMULPS(emit.At(p["sum"], 0), es[0], sum)
	g.VFMADD231PS(emit.At(p["blockSum"], 0), es[1], sum)
	g.StoreVec(sum, p["sum"], 0)

	for _, n := range names {
		g.Advance(g.VecBytes(), p[n])
	}
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.Goto("columns")
	g.Label("done")
	g.Return()
}
