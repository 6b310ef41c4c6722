package lane

import (
	"slices"

	"github.com/attn-go/attn/gen/spec"
)

// Kernels are all kernels, in the order of the file.
var Kernels = slices.Concat(functions, scores, gathered, gradients, training, rows)

// KernelsFor returns the kernels of an instruction set.
func KernelsFor(t Traits) (list []Kernel) {
	for _, k := range Kernels {
		if (!k.Gathers || t.Gathers) && !(k.Narrow && t.Wide) {
			list = append(list, k)
		}
	}
	return list
}

// A Function of one number.
type Function func(b *Builder, x *Value) *Value

// functions are those over slices. A gated activation multiplies by the element of another slice.
var functions = []Kernel{
	elements(spec.Exp2, (*Builder).exp2All), elements(spec.Tanh, anyTanh),
	elements(spec.RoundBF16, (*Builder).factorBF16), {Function: spec.WidenPairs, Number: "d", Vectors: 3, Body: widenPairs}, {Function: spec.NarrowPairs, Number: "d", Vectors: 4, Body: narrowPairs},
	elements(spec.SiLU, anySiLU), elements(spec.GELU, anyGELU), elements(spec.GELUTanh, anyGELUTanh),
	gated(spec.SwiGLU, anySiLU), gated(spec.GeGLU, anyGELU), gated(spec.GeGLUTanh, anyGELUTanh),
	backward(spec.SiLUBackward, slopes{siluSlope, siluSlopeWays, usualSiLUSlope, noSlope, lastSiLU}),
	backward(spec.GELUBackward, slopes{geluSlope, geluWays, usualGELUSlope, noSlope, lastGELUSlope}),
	backward(spec.GELUTanhBackward, slopes{geluTanhSlope, geluTanhWays, usualGELUTanhSlope, steep, lastGELUTanh}),
}

func elements(f spec.Function, of Function) Kernel {
	return Kernel{Function: f, Lanes: "dst", Body: func(b *Builder) {
		b.Store(b.Slice("dst"), of(b, b.Load(b.Slice("src"))))
	}}
}

func gated(f spec.Function, of Function) Kernel {
	return Kernel{Function: f, Lanes: "dst", Body: func(b *Builder) {
		y := of(b, b.Load(b.Slice("gate")))
		b.Store(b.Slice("dst"), b.mayUnderflow(y, b.Load(b.Slice("up"))))
	}}
}

// exp2All is exp2 for all x. Beyond 128 x is replaced by 128: there n is 128 and the polynomial 1,
// and the scaling makes it +Inf.
func (b *Builder) exp2All(x *Value) *Value {
	return b.Exp2(b.AtMost(x, b.Const(spec.Plus128)), spec.Minus126)
}

// scores change scores in place, or make weights of them. Those that change scores raise their
// maxima.
var scores = []Kernel{
	{Function: spec.Softcap, Lanes: "max", Tile: true, Vectors: 4, Body: scoreRows(func(b *Builder) Function {
		return func(b *Builder, x *Value) *Value {
			return b.Mul(b.Tanh(b.Mul(x, b.Param("inv"))), b.Param("limit"))
		}
	})},
	{Function: spec.ALiBi, Lanes: "max", Tile: true, Vectors: 4, Body: scoreRows(func(b *Builder) Function {
		slope, pos := b.Load(b.Slice("slopes")), b.Load(b.Slice("pos"))
		return func(b *Builder, x *Value) *Value { // a distance fits into an int32
			d := b.ToFloat(b.AbsInt(b.SubInt(pos, b.Counter("j0"))))
			return b.NegMulAdd(d, slope, x)
		}
	})},
	{Function: spec.MaskSpan, Lanes: "max", Tile: true, Vectors: 4, Body: scoreRows(func(b *Builder) Function {
		lo, hi := b.Load(b.Slice("lo")), b.Load(b.Slice("hi"))
		return func(b *Builder, x *Value) *Value { // keeps the scores with lo ≤ j < hi
			return b.Between(b.Counter("j0"), lo, hi, x, b.Const(spec.MinusInf))
		}
	})},
	{Function: spec.Softmax, Lanes: "max", Tile: true, Vectors: 4, Body: softmax((*Builder).Weight)},
	{Function: spec.SoftmaxBF16, Lanes: "max", Tile: true, Vectors: 4, Body: softmax((*Builder).WeightBF16)},
	{Function: spec.MergeStats, Lanes: "max", Tile: true, Vectors: 1, Body: mergeStats},
}

// scoreRows changes the scores of all rows. lanes has what does not depend on the row.
func scoreRows(lanes func(b *Builder) Function) func(b *Builder) {
	return func(b *Builder) {
		s, max := b.Matrix("s", "ld"), b.Slice("max")
		f, top := lanes(b), b.Var(b.Load(max))
		b.EachRow("n", func() {
			y := f(b, b.Load(s))
			b.Store(s, y)
			b.Set(top, b.AtLeast(top, y))
		})
		b.Store(max, top)
	}
}

// Finite is m, but 0 for -Inf: a lane that has seen no key must get weights 0, and -Inf - -Inf
// would be NaN.
func (b *Builder) Finite(m *Value) *Value { return b.ZeroWhere(m, Equal, m, b.Const(spec.MinusInf)) }

// softmax adds the weights of a lane one by one, as the contract wants.
func softmax(weight Function) func(b *Builder) {
	return func(b *Builder) {
		s := b.Matrix("s", "ld")
		z, sum := b.Finite(b.Load(b.Slice("max"))), b.Var(b.Const(0))
		b.EachRow("n", func() {
			p := weight(b, b.Sub(b.Load(s), z))
			b.Store(s, p)
			b.Set(sum, b.Add(sum, p))
		})
		b.Store(b.Slice("sum"), sum)
	}
}

// mergeStats merges the statistics of a block into the running ones:
//
//	m' = max(blockMax, max), z = m' with 0 for -Inf
//	alpha = exp2(max - z), beta = exp2(blockMax - z)
//	sum = fma(blockSum, beta, sum·alpha), max = m'
func mergeStats(b *Builder) {
	max, sum := b.Slice("max"), b.Slice("sum")
	m, block := b.Load(max), b.Load(b.Slice("blockMax"))
	next := b.AtLeast(m, block)
	b.Store(max, next)
	z := b.Finite(next)
	alpha, beta := b.Weight(b.Sub(m, z)), b.Weight(b.Sub(block, z))
	b.Store(b.Slice("alpha"), alpha)
	b.Store(b.Slice("beta"), beta)
	b.Store(sum, b.MulAdd(b.Load(b.Slice("blockSum")), beta, b.Mul(b.Load(sum), alpha)))
}

// gradients are the kernels of attention's backward pass.
var gradients = []Kernel{
	{Function: spec.BackwardWeights, Lanes: "lse", Tile: true, Vectors: 2, Body: backwardWeights},
	{Function: spec.BackwardScores, Lanes: "inv", Tile: true, Vectors: 4, Body: backwardScores},
	{Function: spec.BackwardSoftcap, Number: "lanes", Tile: true, Vectors: 4, Body: backwardSoftcap},
}

// backwardWeights computes p = exp2(min(s - lse, 0)) and the sums of p and p·dp. Hidden scores give
// weights of 0, and these no products. A score is loaded again, so that it takes no register.
func backwardWeights(b *Builder) {
	s, dp := b.Matrix("s", "ld"), b.Matrix("dp", "ld")
	lse, sum, dot := b.Load(b.Slice("lse")), b.Var(b.Const(0)), b.Var(b.Const(0))
	b.EachRow("n", func() {
		p := b.Weight(b.AtMost(b.Sub(b.Load(s), lse), b.Const(0)))
		p = b.ZeroWhere(p, Equal, b.Load(s), b.Const(spec.MinusInf))
		b.Store(s, p)
		b.Set(sum, b.Add(sum, p))
		b.Set(dot, b.MulAdd(p, b.ZeroWhere(b.Load(dp), Equal, p, b.Const(0)), dot))
	})
	b.Store(b.Slice("sum"), sum)
	b.Store(b.Slice("dot"), dot)
}

// backwardScores computes p·inv and p·inv·(dp - mean).
func backwardScores(b *Builder) {
	p, dp := b.Matrix("p", "ld"), b.Matrix("dp", "ld")
	inv, mean, zero := b.Load(b.Slice("inv")), b.Load(b.Slice("mean")), b.Const(0)
	b.EachRow("n", func() {
		x := b.Load(p)
		y := b.Mul(x, inv)
		grad := b.flush(b.Mul(b.Sub(b.Load(dp), mean), y), spec.LeastGradient)
		b.Store(dp, b.ZeroWhere(grad, Equal, x, zero))
		b.Store(p, b.ZeroWhere(y, Equal, x, zero))
	})
}

// backwardSoftcap computes ds = ds·(1 - u²), u = s·inv.
func backwardSoftcap(b *Builder) {
	ds, s := b.Matrix("ds", "ld"), b.Matrix("s", "ld")
	b.EachRow("n", func() {
		u, grad := b.Mul(b.Load(s), b.Param("inv")), b.Load(ds)
		f := b.NegMulAdd(u, u, b.Const(spec.One))
		b.Store(ds, b.ZeroWhere(b.Mul(f, grad), Equal, grad, b.Const(0)))
	})
}

// flush is x, but +0 if its magnitude is below least.
func (b *Builder) flush(x *Value, least uint32) *Value {
	return b.ZeroWhere(x, Less, b.Abs(x), b.Const(least))
}
