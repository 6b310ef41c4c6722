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

// BackwardDots has one chain per lane. The vectors of a chunk hide its latency.
//
// Vector registers: the chain of each vector, x.
func (g *gen) BackwardDots() {
	g.function(spec.BackwardDots)
	sum, x, other := g.slice("sum"), g.slice("x"), g.distance("y", "x")
	ld, n, left := g.stride("ld"), g.num("n"), g.sliceLen("sum")
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		acc := g.Vecs(vectors)
		for v := range acc {
			g.zero(g.Context, acc[v])
		}
		g.scoreRows(name, x, n, ld, func(p reg.GPVirtual) {
			for v := range acc {
				e := g.vec()
				g.LoadVec(p, v, e)
				g.VFMADD231PS(g.besides(p, other, v), e, acc[v])
			}
		})
		for v := range acc {
			g.VADDPS(at(sum, v*g.bytes()), acc[v], acc[v])
			g.StoreVec(acc[v], sum, v)
		}
		g.Advance(vectors*g.bytes(), sum, x)
	})
}

// BackwardSoftmax computes p = exp2(min(s - lse, 0)) and ds = p·(dp - delta).
//
// Vector registers: lse and delta of each vector of the chunk, 0, -Inf, x, n, r and p of each,
// and with 32 registers the 8 constants of exp2.
func (g *gen) BackwardSoftmax() {
	g.function(spec.BackwardSoftmax)
	s, other := g.slice("s"), g.distance("dp", "s")
	ld, n, lse, delta, left := g.stride("ld"), g.num("n"), g.slice("lse"), g.slice("delta"), g.sliceLen("lse")
	ops, zero, inf := g.exp2Operands(), g.vec(), g.constant(spec.MinusInf)
	g.zero(g.Context, zero)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		ls, ds := g.Vecs(vectors), g.Vecs(vectors)
		for v := range ls {
			g.LoadVec(lse, v, ls[v])
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
				g.VMULPS(ps[v], grad, grad)
				g.zeroWhere(g.Context, ps[v], score, inf)
				g.zeroWhere(g.Context, grad, score, inf)
				g.StoreVec(ps[v], p, v)
				g.VMOVUPS(grad, g.besides(p, other, v))
			}
		})
		g.Advance(vectors*g.bytes(), s, lse, delta)
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
