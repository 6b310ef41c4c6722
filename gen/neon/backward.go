package neon

import (
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// The element-wise kernels of the backward pass of attention, see amd64/backward.go.

func (g *neon) BackwardDots() {
	g.function(spec.BackwardDots)
	sum, rest, x, y, ld := g.slice("sum"), g.slice("rest"), g.slice("x"), g.slice("y"), g.stride("ld")
	loop.Chunks(g, chunkWidths, g.param(g.Len("sum")), func(vectors int, name string) {
		g.Label(name)
		sums, rests := g.Vecs(vectors), g.Vecs(vectors)
		for v := range sums {
			g.LoadVec(sum, v, sums[v])
			g.LoadVec(rest, v, rests[v])
		}
		p, other, rows := g.GP(), g.GP(), g.num("n")
		g.Op("MOVD", y, other)
		g.scoreRows(name, x, p, rows, ld, func() {
			g.Scope(func() {
				a, b, product, low, z, r := g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec()
				for v := range sums {
					g.LoadVec(p, v, a)
					g.LoadVec(other, v, b)
					g.FMUL(product, a, b)
					g.zero(low)
					g.FSUB(low, low, product)
					g.Op("VFMLA", a.S4(), b.S4(), low.S4()) // a·b - product
					g.FADD(a, sums[v], product)             // t
					g.FSUB(z, a, sums[v])
					g.FSUB(r, a, z)
					g.FSUB(r, sums[v], r)
					g.FSUB(z, product, z)
					g.FADD(r, r, z)
					g.FADD(r, r, low)
					g.FADD(rests[v], rests[v], r)
					g.Op("VORR", a.B16(), a.B16(), sums[v].B16())
				}
			})
			g.Op("ADD", ld, other, other)
		})
		for v := range sums {
			g.StoreVec(sums[v], sum, v)
			g.StoreVec(rests[v], rest, v)
		}
		g.Advance(vectors*vecBytes, sum, rest, x, y)
	})
}

func (g *neon) BackwardSoftmax() {
	g.function(spec.BackwardSoftmax)
	inv := g.slice("inv")
	s, dp, ld, max, delta := g.slice("s"), g.slice("dp"), g.stride("ld"), g.slice("max"), g.slice("delta")
	left, e, zero := g.param(g.Len("max")), g.exp2Regs(notPositive), g.Vec()
	g.zero(zero)
	loop.Chunks(g, []int{2, 1}, left, func(vectors int, name string) {
		g.Label(name)
		ls, is, ds := g.Vecs(vectors), g.Vecs(vectors), g.Vecs(vectors)
		for v := range ls {
			g.LoadVec(max, v, ls[v])
			g.LoadVec(inv, v, is[v])
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
					g.FMUL(x, x, is[v])
					g.FMUL(grad, grad, x)
					g.BIC(grad, grad, hidden[v])
					g.BIC(x, x, hidden[v])
					g.StoreVec(x, p, v)
					g.StoreVec(grad, other, v)
				}
			})
			g.Op("ADD", ld, other, other)
		})
		g.Advance(vectors*vecBytes, s, dp, max, inv, delta)
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
