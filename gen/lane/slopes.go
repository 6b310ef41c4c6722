package lane

import (
	"math"

	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/scalar"
)

// The activations with their slopes. Package fallback has the formulas.

// number is a float32.
func (b *Builder) number(x float32) *Value { return b.Const(math.Float32bits(x)) }

// A slope is f(x) and the slope there.
type slope func(b *Builder, x *Value) (y, k *Value)

// backward multiplies dy by the slope of a function, and writes the function, too. usual is right
// for magnitudes from one to another number.
func backward(f spec.Function, from, to uint32, whole, usual slope) Kernel {
	return Kernel{Function: f, Lanes: "f", Body: func(b *Builder) {
		x := b.Load(b.Slice("x"))
		both := func(of slope) func() []*Value {
			return func() []*Value {
				y, k := of(b, x)
				return []*Value{y, k}
			}
		}
		steps := both(usual)
		results := b.Rare(x, Ways{From: from, To: to, Usual: func([]*Value) []*Value { return steps() }, Whole: both(whole.limited)})
		b.Store(b.Slice("f"), results[0])
		b.Store(b.Slice("dx"), b.mayUnderflow(b.Load(b.Slice("dy")), results[1]))
	}}
}

// limited has a slope of 0 or 1 far from 0.
func (s slope) limited(b *Builder, x *Value) (y, k *Value) {
	y, k = s(b, x)
	step := b.ZeroWhere(b.Const(spec.One), Less, x, b.Const(0))
	return y, b.Select(Less, b.number(scalar.Steep), b.Abs(x), step, k)
}

// ratio is y/x, and 1/2 where x is 0. Subnormal numbers are divided as counts of their unit: y is
// about half of x.
func (b *Builder) ratio(y, x *Value) *Value {
	p, q := y, x
	if b.Skips {
		p, q = b.CopySign(b.counts(y, x), y), b.CopySign(b.counts(x, x), x)
	}
	return b.Select(Equal, x, b.Const(0), b.number(0.5), b.Div(p, q))
}

// magnitudes is ratio for y and x of the same sign.
func (b *Builder) magnitudes(y, x *Value) *Value {
	return b.Select(Equal, x, b.Const(0), b.number(0.5), b.Div(b.counts(y, x), b.counts(x, x)))
}

// counts is |y|, in units of 2^-149 where x is below 2^-125.
func (b *Builder) counts(y, x *Value) *Value {
	a := b.Abs(y)
	return b.Select(Less, b.Abs(x), b.Const(twiceUnit), b.ToFloat(a), a)
}

// rest is 1-z. Slopes begin with it, as then few values wait for others.
func (b *Builder) rest(z *Value) *Value { return b.Sub(b.Const(spec.One), z) }

// negative is -x.
func (b *Builder) negative(x *Value) *Value { return b.Sub(b.Const(spec.SignBit), x) }

func siluSlope(b *Builder, x *Value) (y, k *Value) {
	if !b.Skips {
		rest := b.rest(b.SiLU(b.negative(x)))
		y = b.SiLU(x)
		return y, b.Mul(b.ratio(y, x), rest)
	}
	up, c, n, r := b.siluParts(x)
	rest := b.Add(b.opposite(b.visible(x, c), n, r), b.Const(spec.One)) // 1 - SiLU(-x)
	y = b.siluOfParts(x, up, c, n, r)
	return y, b.mayUnderflow(b.magnitudes(y, x), rest)
}

func usualSiLUSlope(b *Builder, x *Value) (y, k *Value) {
	p, g, negP, negG := b.powers(b.siluSums(x))
	rest := b.Add(b.quotient(x, negP, negG), b.Const(spec.One)) // 1 - SiLU(-x)
	y = b.quotient(x, p, g)
	return y, b.Mul(b.Div(y, x), rest)
}

// visible is c, but 2^-30 for magnitudes of x below: that makes the same sums with numbers near 1.
func (b *Builder) visible(x, c *Value) *Value {
	tiny := b.number(0x1p-30)
	return b.Select(Less, b.Abs(x), tiny, tiny, c)
}

func geluSlope(b *Builder, x *Value) (y, k *Value) {
	v := x
	if b.Skips {
		v = b.AtMost(b.visible(x, x), b.Const(lastGELUSlope))
	}
	part := b.Mul(v, b.density(v))
	if b.Skips { // too small to change the sum, but for the sign of 0
		part = b.Select(Less, b.Abs(x), b.number(0x1p-30), b.And(x, b.Const(spec.SignBit)), part)
	}
	y = wholeGELU(b, x)
	return y, b.Add(b.ratio(y, x), part)
}

func usualGELUSlope(b *Builder, x *Value) (y, k *Value) {
	part := b.Mul(x, b.density(x))
	y = b.geluOf(x, b.Abs(x))
	return y, b.Add(b.Div(y, x), part)
}

// density is the density of the normal distribution at x.
func (b *Builder) density(x *Value) *Value {
	power := b.Exp2(b.Mul(b.Mul(x, x), b.number(-math.Log2E/2)), spec.Minus126)
	return b.Mul(power, b.number(scalar.InvRootTwoPi))
}

func geluTanhSlope(b *Builder, x *Value) (y, k *Value) {
	if !b.Skips {
		rest := b.rest(b.Mul(b.GELUTanh(b.negative(x)), b.tanhSlope(x)))
		y = b.GELUTanh(x)
		return y, b.Mul(b.ratio(y, x), rest)
	}
	up, c, n, r := b.geluTanhParts(x)
	v := b.visible(x, c)
	rest := b.Add(b.Mul(b.opposite(v, n, r), b.tanhSlope(v)), b.Const(spec.One))
	y = b.geluTanhOfParts(x, up, c, n, r)
	return y, b.mayUnderflow(b.magnitudes(y, x), rest)
}

func usualGELUTanhSlope(b *Builder, x *Value) (y, k *Value) {
	p, g, negP, negG := b.powers(b.geluTanhSums(x, x))
	other := b.quotient(x, negP, negG) // -GELUTanh(-x)
	rest := b.Add(b.Mul(other, b.tanhSlope(x)), b.Const(spec.One))
	y = b.quotient(x, p, g)
	return y, b.Mul(b.Div(y, x), rest)
}

// tanhSlope is twice the slope of the argument of tanh.
func (b *Builder) tanhSlope(x *Value) *Value {
	return b.Add(b.Mul(b.Mul(x, x), b.number(scalar.TanhSlope1)), b.number(scalar.TanhSlope0))
}
