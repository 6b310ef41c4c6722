package neon

import (
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The element-wise kernels of the backward pass of attention, see amd64/backward.go.

func (g *neon) BackwardWeights() {
	g.Kernel(spec.BackwardWeights)
	s, dp, ld, lse := g.Slice("s"), g.Slice("dp"), g.Stride("ld"), g.Slice("lse")
	sum, dot, left := g.Slice("sum"), g.Slice("dot"), g.LoadParam(g.Len("lse"))
	e, zero := g.NewExp2(emit.NotPositive, spec.LeastWeight), g.Vec()
	g.Zero(zero)
	loop.Chunks(g, []int{2, 1}, left, func(vectors int, name string) {
		g.Label(name)
		ls, sums, dots := g.Vecs(vectors), g.Vecs(vectors), g.Vecs(vectors)
		for v := range ls {
			g.LoadVec(lse, v, ls[v])
			g.Zero(sums[v])
			g.Zero(dots[v])
		}
		p, other, rows := g.GP(), g.GP(), g.Num("n")
		g.Op("MOVD", dp, other)
		g.scoreRows(name, s, p, rows, ld, func() {
			xs, hidden := g.Vecs(vectors), g.Vecs(vectors)
			for v := range xs {
				g.LoadVec(p, v, xs[v])
				g.FCMEQ(hidden[v], xs[v], e.MinusInf)
				g.FSUB(xs[v], xs[v], ls[v])
				g.FMIN(xs[v], xs[v], zero)
			}
			g.Exp2Vectors(e, xs)
			g.Commentf("Hidden scores give weights of 0, and these no products.")
			g.Scope(func() {
				grad := g.Vec()
				for v, x := range xs {
					g.BIC(x, x, hidden[v])
					g.StoreVec(x, p, v)
					g.FADD(sums[v], sums[v], x)
					g.LoadVec(other, v, grad)
					g.FCMEQZero(hidden[v], x)
					g.BIC(grad, grad, hidden[v])
					g.Op("VFMLA", grad.S4(), x.S4(), dots[v].S4())
				}
			})
			g.Op("ADD", ld, other, other)
		})
		for v := range sums {
			g.StoreVec(sums[v], sum, v)
			g.StoreVec(dots[v], dot, v)
		}
		g.Advance(vectors*emit.VecBytes, s, dp, lse, sum, dot)
	})
}

func (g *neon) BackwardScores() {
	g.Kernel(spec.BackwardScores)
	weights, dp, ld := g.Slice("p"), g.Slice("dp"), g.Stride("ld")
	inv, mean, left := g.Slice("inv"), g.Slice("mean"), g.LoadParam(g.Len("inv"))
	least := g.Broadcast(spec.LeastGradient)
	loop.Chunks(g, chunkWidths, left, func(vectors int, name string) {
		g.Label(name)
		is, means := g.Vecs(vectors), g.Vecs(vectors)
		for v := range is {
			g.LoadVec(inv, v, is[v])
			g.LoadVec(mean, v, means[v])
		}
		p, other, rows := g.GP(), g.GP(), g.Num("n")
		g.Op("MOVD", dp, other)
		g.scoreRows(name, weights, p, rows, ld, func() {
			xs, grads := g.Vecs(vectors), g.Vecs(vectors)
			g.Scope(func() {
				hidden, t := g.Vec(), g.Vec()
				for v, x := range xs {
					g.LoadVec(p, v, x)
					g.LoadVec(other, v, grads[v])
					g.FCMEQZero(hidden, x)
					g.FMUL(x, x, is[v])
					g.FSUB(grads[v], grads[v], means[v])
					g.FMUL(grads[v], grads[v], x)
					g.BIC(grads[v], grads[v], hidden)
					g.flushBelow(grads[v], least, t)
					g.BIC(x, x, hidden)
					g.StoreVec(x, p, v)
					g.StoreVec(grads[v], other, v)
				}
			})
			g.Op("ADD", ld, other, other)
		})
		g.Advance(vectors*emit.VecBytes, weights, dp, inv, mean)
	})
}

func (g *neon) BackwardSoftcap() {
	g.Kernel(spec.BackwardSoftcap)
	ds, s, ld, left := g.Slice("ds"), g.Slice("s"), g.Stride("ld"), g.Num("lanes")
	inv, one := g.BroadcastParam("inv"), g.Broadcast(spec.One)
	loop.Chunks(g, chunkWidths, left, func(vectors int, name string) {
		g.Label(name)
		p, other, rows := g.GP(), g.GP(), g.Num("n")
		g.Op("MOVD", s, other)
		g.scoreRows(name, ds, p, rows, ld, func() {
			us, grads, fs := g.Vecs(vectors), g.Vecs(vectors), g.Vecs(vectors)
			for v := range us {
				g.LoadVec(other, v, us[v])
				g.FMUL(us[v], us[v], inv)
				g.LoadVec(p, v, grads[v])
				g.Op("VORR", one.B16(), one.B16(), fs[v].B16())
				g.Op("VFMLS", us[v].S4(), us[v].S4(), fs[v].S4())
				g.FMUL(fs[v], fs[v], grads[v])
				g.FCMEQZero(us[v], grads[v])
				g.BIC(fs[v], fs[v], us[v])
				g.StoreVec(fs[v], p, v)
			}
			g.Op("ADD", ld, other, other)
		})
		g.Advance(vectors*emit.VecBytes, ds, s)
	})
}
