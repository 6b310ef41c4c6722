package neon

import (
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// The element-wise kernels of the backward pass of attention, see amd64/backward.go.

func (g *neon) BackwardDots() {
	g.function(spec.BackwardDots)
	sum, x, y, ld := g.slice("sum"), g.slice("x"), g.slice("y"), g.stride("ld")
	loop.Chunks(g, chunkWidths, g.param(g.Len("sum")), func(vectors int, name string) {
		g.Label(name)
		acc := g.Vecs(vectors)
		for _, a := range acc {
			g.zero(a)
		}
		p, other, rows := g.GP(), g.GP(), g.num("n")
		g.Op("MOVD", y, other)
		g.scoreRows(name, x, p, rows, ld, func() {
			g.Scope(func() {
				a, b := g.Vec(), g.Vec()
				for v := range acc {
					g.LoadVec(p, v, a)
					g.LoadVec(other, v, b)
					g.Op("VFMLA", a.S4(), b.S4(), acc[v].S4())
				}
			})
			g.Op("ADD", ld, other, other)
		})
		g.Scope(func() {
			old := g.Vec()
			for v := range acc {
				g.LoadVec(sum, v, old)
				g.FADD(acc[v], old, acc[v])
				g.StoreVec(acc[v], sum, v)
			}
		})
		g.Advance(vectors*vecBytes, sum, x, y)
	})
}

func (g *neon) BackwardSoftmax() {
	g.function(spec.BackwardSoftmax)
	s, dp, ld, lse, delta := g.slice("s"), g.slice("dp"), g.stride("ld"), g.slice("lse"), g.slice("delta")
	left, e, zero := g.param(g.Len("lse")), g.exp2Regs(notPositive), g.Vec()
	g.zero(zero)
	loop.Chunks(g, []int{2, 1}, left, func(vectors int, name string) {
		g.Label(name)
		ls, ds := g.Vecs(vectors), g.Vecs(vectors)
		for v := range ls {
			g.LoadVec(lse, v, ls[v])
			g.LoadVec(delta, v, ds[v])
		}
		p, other, rows := g.GP(), g.GP(), g.num("n")
		g.Op("MOVD", dp, other)
		g.scoreRows(name, s, p, rows, ld, func() {
			xs, hidden := g.Vecs(vectors), g.Vecs(vectors)
			for v := range xs {
				g.LoadVec(p, v, xs[v])
				g.FCMEQ(hidden[v], xs[v], e.minusInf)
				g.FSUB(xs[v], xs[v], ls[v])
				g.FMIN(xs[v], xs[v], zero)
			}
			g.exp2(e, xs)
			g.Commentf("Hidden scores give weights and gradients of 0.")
			g.Scope(func() {
				grad := g.Vec()
				for v, x := range xs {
					g.LoadVec(other, v, grad)
					g.FSUB(grad, grad, ds[v])
					g.FMUL(grad, grad, x)
					g.BIC(grad, grad, hidden[v])
					g.BIC(x, x, hidden[v])
					g.StoreVec(x, p, v)
					g.StoreVec(grad, other, v)
				}
			})
			g.Op("ADD", ld, other, other)
		})
		g.Advance(vectors*vecBytes, s, dp, lse, delta)
	})
}

func (g *neon) BackwardSoftcap() {
	g.function(spec.BackwardSoftcap)
	ds, s, ld, left := g.slice("ds"), g.slice("s"), g.stride("ld"), g.num("lanes")
	inv, one := g.broadcastParam("inv"), g.broadcast(spec.One)
	loop.Chunks(g, chunkWidths, left, func(vectors int, name string) {
		g.Label(name)
		p, other, rows := g.GP(), g.GP(), g.num("n")
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
		g.Advance(vectors*vecBytes, ds, s)
	})
}
