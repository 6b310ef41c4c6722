package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Additive has the hidden units in the lanes, see amd64/additive.go. The 16 chains are four
// vectors. They are computed two at a time, as in Softcap.
func (g *neon) Additive() {
	g.Kernel(spec.Additive)
	a := adder{neon: g, tanh: g.inline((*lane.Builder).Tanh, 2, spec.AdditiveChains/emit.VecLanes), q: g.Slice("q"), k: g.GP(), next: g.GP()}
	first, keys, queries, score := g.Slice("s"), g.GP(), g.Num("n"), g.GP()
	ld, ldq, ldk := g.Stride("ld"), g.Stride("ldq"), g.Stride("ldk")
	loop.AnyTimes(g, queries, "query", "done", false, func() {
		g.Load(g.Param("m"), keys)
		g.JumpIfZero(keys, "done")
		g.Load(g.Base("k"), a.k)
		g.Load(g.Base("next"), a.next)
		g.Op("MOVD", first, score)
		loop.Times(g, keys, "key", func() {
			g.Scope(func() { g.Op("FMOVS", a.one(), a64.At(score, 0)) })
			g.Op("ADD", ldk, a.k, a.k)
			g.Op("ADD", ldk, a.next, a.next)
			g.Op("ADD", ld, score, score)
		})
		g.Op("ADD", ldq, a.q, a.q)
		g.Op("ADD", 4, first, first)
	})
	g.Return()
}

type adder struct {
	*neon
	tanh       *lane.Frame[a64.Vec]
	q, k, next a64.GP
}

// one emits one score.
func (g adder) one() a64.Vec {
	acc := g.Vecs(spec.AdditiveChains / emit.VecLanes)
	for _, v := range acc {
		g.Zero(v)
	}
	q, k, next, weights, left := g.GP(), g.GP(), g.GP(), g.Slice("weights"), g.LoadParam(g.Len("weights"))
	g.Op("MOVD", g.q, q)
	g.Op("MOVD", g.k, k)
	g.Op("MOVD", g.next, next)
	g.Jump("CBZ", "sum", left)
	g.AlignLoop()
	g.Label("step")
	g.Op("PRFM", a64.At(next, 0), emit.Hint("PLDL1KEEP"))
	g.Advance(spec.LineBytes, next)
	g.Scope(func() {
		for first := 0; first < len(acc); first += 2 {
			g.pair(acc[first:first+2], q, k, weights)
		}
	})
	g.CountDown(left, spec.AdditiveChains, "step")
	g.Label("sum")
	g.sumOfHalves(acc)
	return acc[0]
}

// sumOfHalves adds the upper half of all lanes to the lower half until one lane is left, the first
// lane of acc[0].
func (g *neon) sumOfHalves(acc []a64.Vec) {
	g.Commentf("The upper half of all lanes is added to the lower half until one lane is left.")
	for half := len(acc) / 2; half > 0; half /= 2 {
		for v := range half {
			g.FADD(acc[v], acc[v], acc[v+half])
		}
	}
	for _, bytes := range []int{8, 4} {
		g.Op("VEXT", bytes, acc[0].B16(), acc[0].B16(), acc[1].B16())
		g.FADD(acc[0], acc[0], acc[1])
	}
}

// pair emits a step of two vectors of chains.
func (g adder) pair(acc []a64.Vec, q, k, weights a64.GP) {
	g.Scope(func() {
		xs := g.Vecs(len(acc))
		g.Scope(func() {
			y := g.Vec()
			for _, x := range xs {
				g.Op("FMOVQ.P", a64.At(k, emit.VecBytes), x)
				g.Op("FMOVQ.P", a64.At(q, emit.VecBytes), y)
				g.FADD(x, x, y)
			}
		})
		ys, w := g.tanh.Of(xs...), g.Vec()
		for i, x := range ys {
			g.Op("FMOVQ.P", a64.At(weights, emit.VecBytes), w)
			g.Op("VFMLA", w.S4(), x.S4(), acc[i].S4())
		}
	})
}
