package amd64

import (
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The element-wise kernels of the backward pass of attention work on chunks of lanes, from
// the first row to the last, like Softmax. Rows of two matrices lie at equal distances, so
// one pointer and the distance of the matrices address both.

// BackwardDots has a sum and its error per lane: see fallback.BackwardDots. The vectors of a
// chunk hide each other's latency.
//
// Vector registers: the sum and the rest of each vector, and 6 more.
func (g *gen) BackwardDots() {
	g.function(spec.BackwardDots)
	sum, rest, x, other := g.slice("sum"), g.slice("rest"), g.slice("x"), g.distance("y", "x")
	ld, n, left := g.stride("ld"), g.num("n"), g.sliceLen("sum")
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		sums, rests := g.Vecs(vectors), g.Vecs(vectors)
		for v := range sums {
			g.LoadVec(sum, v, sums[v])
			g.LoadVec(rest, v, rests[v])
		}
		g.scoreRows(name, x, n, ld, func(p reg.GPVirtual) {
			for v := range sums {
				a, b, product, t, z, r := g.vec(), g.vec(), g.vec(), g.vec(), g.vec(), g.vec()
				g.LoadVec(p, v, a)
				g.VMOVUPS(g.besides(p, other, v), b)
				g.VMULPS(a, b, product)
				g.VFMSUB213PS(product, b, a) // a = a·b - product
				g.VADDPS(product, sums[v], t)
				g.VSUBPS(sums[v], t, z)
				g.VSUBPS(z, t, r)
				g.VSUBPS(r, sums[v], r)
				g.VSUBPS(z, product, z)
				g.VADDPS(z, r, r)
				g.VADDPS(a, r, r)
				g.VADDPS(r, rests[v], rests[v])
				g.VMOVAPS(t, sums[v])
			}
		})
		for v := range sums {
			g.StoreVec(sums[v], sum, v)
			g.StoreVec(rests[v], rest, v)
		}
		g.Advance(vectors*g.bytes(), sum, rest, x)
	})
}

// BackwardSoftmax computes p = exp2(min(s - max, 0))·inv and ds = p·(dp - delta).
//
// Vector registers: max, inv and delta of each vector of the chunk, 0, x, n, r and p of each,
// and with 32 registers the 8 constants of exp2. AVX2 has so few that inv is loaded anew.
func (g *gen) BackwardSoftmax() {
	g.function(spec.BackwardSoftmax)
	s, other := g.slice("s"), g.distance("dp", "s")
	inv := g.slice("inv")
	ld, n, max, delta, left := g.stride("ld"), g.num("n"), g.slice("max"), g.slice("delta"), g.sliceLen("max")
	ops, zero, inf := g.exp2Operands(), g.vec(), g.constant(spec.MinusInf)
	g.zero(g.Context, zero)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		ls, ds := g.Vecs(vectors), g.Vecs(vectors)
		for v := range ls {
			g.LoadVec(max, v, ls[v])
			g.LoadVec(delta, v, ds[v])
		}
		g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
			xs := g.Vecs(vectors)
			for v := range xs {
				g.LoadVec(p, v, xs[v])
				g.VSUBPS(ls[v], xs[v], xs[v])
				g.VMINPS(xs[v], zero, xs[v]) // a NaN stays
			}
			ps := g.exp2(ops, xs)
			g.Comment("Hidden scores give weights and gradients of 0.")
			for v := range ps {
				score, grad := g.vec(), g.vec()
				g.LoadVec(p, v, score)
				g.VMOVUPS(g.besides(p, other, v), grad)
				g.VSUBPS(ds[v], grad, grad)
				g.VMULPS(at(inv, v*g.bytes()), ps[v], ps[v])
				g.VMULPS(ps[v], grad, grad)
				g.zeroWhere(g.Context, ps[v], score, inf)
				g.zeroWhere(g.Context, grad, score, inf)
				g.StoreVec(ps[v], p, v)
				g.VMOVUPS(grad, g.besides(p, other, v))
			}
		})
		g.Advance(vectors*g.bytes(), s, max, inv, delta)
	})
}

// BackwardSoftcap computes ds = ds·(1 - u²), u = s·inv.
//
// Vector registers: inv, 0, 1, u, ds and the factor.
func (g *gen) BackwardSoftcap() {
	g.function(spec.BackwardSoftcap)
	ds, other := g.slice("ds"), g.distance("s", "ds")
	ld, n, left := g.stride("ld"), g.num("n"), g.num("lanes")
	inv, one := g.vec(), g.vec()
	zero := g.constant(0)
	g.VBROADCASTSS(g.argument("inv"), inv)
	g.VMOVUPS(g.constant(spec.One), one)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		g.scoreRows(name, ds, n, ld, func(p reg.GPVirtual) {
			for v := range vectors {
				u, grad, f := g.vec(), g.vec(), g.vec()
				g.VMULPS(g.besides(p, other, v), inv, u)
				g.LoadVec(p, v, grad)
				g.VMOVAPS(one, f)
				g.VFNMADD231PS(u, u, f)
				g.VMULPS(grad, f, f)
				g.zeroWhere(g.Context, f, grad, zero)
				g.StoreVec(f, p, v)
			}
		})
		g.Advance(vectors*g.bytes(), ds)
	})
}

// distance returns how many bytes slice a lies behind slice b.
func (g *gen) distance(a, b string) reg.GPVirtual {
	d := g.slice(a)
	g.SUBQ(g.argumentBase(b), d)
	return d
}

// argumentBase returns the memory of the base pointer of a slice parameter.
func (g *gen) argumentBase(name string) operand.Mem { return g.memory(g.Param(name).Base()) }

// besides is vector v of the other matrix's row.
func (g *gen) besides(p, other reg.Register, v int) operand.Mem {
	return operand.Mem{Base: p, Index: other, Scale: 1, Disp: v * g.bytes()}
}
