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

// BackwardWeights computes p = exp2(min(s - lse, 0)) and the sums of p and p·dp.
//
// Vector registers: lse and both sums of each vector of the chunk, 0, x, n, r and p of each, and
// with 32 registers the 8 constants of exp2.
func (g *gen) BackwardWeights() {
	g.Kernel(spec.BackwardWeights)
	s, other := g.Slice("s"), g.distance("dp", "s")
	ld, n, left := g.Stride("ld"), g.Num("n"), g.SliceLen("lse")
	lse, sum, dot := g.Slice("lse"), g.Slice("sum"), g.Slice("dot")
	ops, inf := g.Exp2Operands(spec.LeastWeight), g.Constant(spec.MinusInf)
	zeros := g.Constant(0)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		ls, sums, dots := g.Vecs(vectors), g.Vecs(vectors), g.Vecs(vectors)
		for v := range ls {
			g.LoadVec(lse, v, ls[v])
			g.Zero(g.Context, sums[v])
			g.Zero(g.Context, dots[v])
		}
		g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
			xs, zero := g.Vecs(vectors), g.Vec()
			g.Zero(g.Context, zero)
			for v := range xs {
				g.LoadVec(p, v, xs[v])
				g.VSUBPS(ls[v], xs[v], xs[v])
				g.VMINPS(xs[v], zero, xs[v]) // a NaN stays
			}
			ps := g.Exp2Vectors(ops, xs)
			g.Comment("Hidden scores give weights of 0, and these no products.")
			for v := range ps {
				x := g.Vec()
				g.LoadVec(p, v, x)
				g.ZeroWhere(g.Context, ps[v], x, inf)
				g.StoreVec(ps[v], p, v)
				g.VADDPS(ps[v], sums[v], sums[v])
				g.VMOVUPS(g.besides(p, other, v), x)
				g.ZeroWhere(g.Context, x, ps[v], zeros)
				g.VFMADD231PS(x, ps[v], dots[v])
			}
		})
		for v := range sums {
			g.StoreVec(sums[v], sum, v)
			g.StoreVec(dots[v], dot, v)
		}
		g.Advance(vectors*g.VecBytes(), s, lse, sum, dot)
	})
}

// BackwardScores computes p·inv and p·inv·(dp - mean).
//
// Vector registers: inv and mean of each vector of the chunk, p, dp and the product.
func (g *gen) BackwardScores() {
	g.Kernel(spec.BackwardScores)
	weights, other := g.Slice("p"), g.distance("dp", "p")
	ld, n, left := g.Stride("ld"), g.Num("n"), g.SliceLen("inv")
	inv, mean, zeros := g.Slice("inv"), g.Slice("mean"), g.Constant(0)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		is, means := g.Vecs(vectors), g.Vecs(vectors)
		for v := range is {
			g.LoadVec(inv, v, is[v])
			g.LoadVec(mean, v, means[v])
		}
		g.scoreRows(name, weights, n, ld, func(p reg.GPVirtual) {
			for v := range is {
				x, y, grad := g.Vec(), g.Vec(), g.Vec()
				g.LoadVec(p, v, x)
				g.VMULPS(is[v], x, y)
				g.VMOVUPS(g.besides(p, other, v), grad)
				g.VSUBPS(means[v], grad, grad)
				g.VMULPS(y, grad, grad)
				g.flushBelow(grad, spec.LeastGradient)
				g.ZeroWhere(g.Context, grad, x, zeros)
				g.ZeroWhere(g.Context, y, x, zeros)
				g.StoreVec(y, p, v)
				g.VMOVUPS(grad, g.besides(p, other, v))
			}
		})
		g.Advance(vectors*g.VecBytes(), weights, inv, mean)
	})
}

// BackwardSoftcap computes ds = ds·(1 - u²), u = s·inv.
//
// Vector registers: inv, 0, 1, u, ds and the factor.
func (g *gen) BackwardSoftcap() {
	g.Kernel(spec.BackwardSoftcap)
	ds, other := g.Slice("ds"), g.distance("s", "ds")
	ld, n, left := g.Stride("ld"), g.Num("n"), g.Num("lanes")
	inv, one := g.Vec(), g.Vec()
	zero := g.Constant(0)
	g.VBROADCASTSS(g.Argument("inv"), inv)
	g.VMOVUPS(g.Constant(spec.One), one)
	loop.Chunks(g, g.chunkWidths(), left, func(vectors int, name string) {
		g.Label(name)
		g.scoreRows(name, ds, n, ld, func(p reg.GPVirtual) {
			for v := range vectors {
				u, grad, f := g.Vec(), g.Vec(), g.Vec()
				g.VMULPS(g.besides(p, other, v), inv, u)
				g.LoadVec(p, v, grad)
				g.VMOVAPS(one, f)
				g.VFNMADD231PS(u, u, f)
				g.VMULPS(grad, f, f)
				g.ZeroWhere(g.Context, f, grad, zero)
				g.StoreVec(f, p, v)
			}
		})
		g.Advance(vectors*g.VecBytes(), ds)
	})
}

// distance returns how many bytes slice a lies behind slice b.
func (g *gen) distance(a, b string) reg.GPVirtual {
	d := g.Slice(a)
	g.SUBQ(g.Memory(g.Param(b).Base()), d)
	return d
}

// besides is vector v of the other matrix's row.
func (g *gen) besides(p, other reg.Register, v int) operand.Mem {
	return operand.Mem{Base: p, Index: other, Scale: 1, Disp: v * g.VecBytes()}
}
