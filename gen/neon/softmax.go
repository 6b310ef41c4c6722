package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Softmax works on chunks of lanes, see amd64/softmax.go.
func (g *neon) Softmax() {
	g.Kernel(spec.Softmax)
	p := softmaxer{neon: g, s: g.Slice("s"), ld: g.Stride("ld"), max: g.Slice("max"), sum: g.Slice("sum"), left: g.LoadParam(g.Len("max"))}
	e := g.NewExp2(emit.NotPositive, spec.LeastWeight)
	loop.Chunks(g, chunkWidths, p.left, func(vectors int, name string) { p.chunk(vectors, name, e) })
}

type softmaxer struct {
	*neon
	s, ld, max, sum, left a64.GP
}

func (g softmaxer) chunk(vectors int, name string, e emit.Exp2Regs) {
	g.Commentf("%d vectors of lanes: maxima and sums in registers, one row per iteration.", vectors)
	g.Label(name)
	zs, sums := g.Vecs(vectors), g.Vecs(vectors)
	for v := range zs {
		g.LoadVec(g.max, v, zs[v])
		g.FiniteMax(e, zs[v])
		g.Zero(sums[v])
	}
	p, rows := g.GP(), g.Num("n")
	g.scoreRows(name, g.s, p, rows, g.ld, func() {
		xs := g.Vecs(vectors)
		for v := range xs {
			g.LoadVec(p, v, xs[v])
			g.FSUB(xs[v], xs[v], zs[v])
		}
		g.Exp2Vectors(e, xs)
		for v := range xs {
			g.StoreVec(xs[v], p, v)
			g.FADD(sums[v], sums[v], xs[v])
		}
	})
	for v := range sums {
		g.StoreVec(sums[v], g.sum, v)
	}
	g.Advance(vectors*emit.VecBytes, g.s, g.max, g.sum)
}

// MergeStats merges the statistics of a block into the running ones, see
// amd64/softmax.go.
func (g *neon) MergeStats() {
	g.Kernel(spec.MergeStats)
	max, sum, blockMax, blockSum := g.Slice("max"), g.Slice("sum"), g.Slice("blockMax"), g.Slice("blockSum")
	alpha, beta, left := g.Slice("alpha"), g.Slice("beta"), g.LoadParam(g.Len("max"))
	e := g.NewExp2(emit.NotPositive, spec.LeastWeight)
	g.Jump("CBZ", "done", left)
	g.Commentf("One vector of lanes: m' = max(blockMax, max).")
	g.Label("columns")
	x := g.Vecs(2) // max, blockMax
	g.LoadFrom(a64.At(max, 0), x[0])
	g.LoadFrom(a64.At(blockMax, 0), x[1])
	m, scratch := g.Vec(), g.Vec()
	g.Op("VORR", x[0].B16(), x[0].B16(), m.B16())
	g.Raise(m, x[1], scratch)
	g.StoreTo(m, a64.At(max, 0))
	g.FiniteMax(e, m)
	g.FSUB(x[0], x[0], m)
	g.FSUB(x[1], x[1], m)
	g.Exp2Vectors(e, x)
	g.StoreTo(x[0], a64.At(alpha, 0))
	g.StoreTo(x[1], a64.At(beta, 0))
	g.Commentf("sum = fma(blockSum, beta, sum·alpha)")
	g.LoadFrom(a64.At(sum, 0), m)
	g.LoadFrom(a64.At(blockSum, 0), scratch)
	g.FMUL(m, m, x[0])
	g.Op("VFMLA", x[1].S4(), scratch.S4(), m.S4())
	g.StoreTo(m, a64.At(sum, 0))
	g.Advance(emit.VecBytes, max, sum, blockMax, blockSum, alpha, beta)
	g.Op("SUBS", emit.VecLanes, left, left)
	g.Jump("BNE", "columns")
	g.Label("done")
	g.Ret()
}
