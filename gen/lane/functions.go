package lane

import (
	"fmt"

	"github.com/attn-go/attn/gen/spec"
)

// The functions of the contract. Package fallback has them in Go, with the reasons for their steps.

// An Exp2Style is how exp2 splits its argument into an integer and the rest.
type Exp2Style int

const (
	// Adding 1.5·2^23 rounds to an integer, ties to even, and leaves it in the low bits. It takes
	// no conversions, for which many CPUs have few units.
	ByMagic Exp2Style = iota
	ByConversion
	ByScaling // by instructions for the rest of rounding and for x·2^y
)

// horner is the polynomial of r, the constant term first.
func (b *Builder) horner(coefficients []uint32, r *Value) *Value {
	return b.hornerOf(coefficients, r, b.MulAdd)
}

// hornerOf is the polynomial of r by MulAdd, or of -r by NegMulAdd.
func (b *Builder) hornerOf(coefficients []uint32, r *Value, step func(x, y, z *Value) *Value) *Value {
	last := len(coefficients) - 1
	p := b.Const(coefficients[last])
	for c := last - 1; c >= 0; c-- {
		p = step(p, r, b.Const(coefficients[c]))
	}
	return p
}

// Exp2 is 2^x for x up to 128, and 0 below the limit, -126 or -100. A NaN stays.
func (b *Builder) Exp2(x *Value, limit uint32) *Value {
	c := spec.Exp2Coefficients[:]
	var p *Value
	switch b.Traits.Exp2 {
	case ByScaling:
		r := b.op(Fraction, x)
		return b.op(ScaleBy, b.horner(c, r), b.Sub(x, r), x, b.Const(limit))
	case ByConversion:
		n := b.ToInt(x)
		p = b.AddInt(b.horner(c, b.Sub(x, b.ToFloat(n))), b.ShiftLeft(n, 23))
	default:
		round := b.Const(spec.RoundMagic)
		n := b.Add(x, round)
		p = b.horner(c, b.Sub(x, b.Sub(n, round)))
		p = b.AddInt(p, b.ShiftLeft(n, 23))
		if !b.OneNaN { // whose low bits are 0
			p = b.Select(Unordered, x, x, x, p)
		}
	}
	return b.ZeroWhere(p, Less, x, b.Const(limit))
}

// Weight is 2^x for x up to 0, and 0 below -100. A NaN stays.
func (b *Builder) Weight(x *Value) *Value { return b.weight(x, spec.LeastWeight) }

// WeightBF16 is Weight rounded to 8 bits, and 0 below a limit of its own. 2^16·p - p is less than
// 2^16·p, whose last place is the one that is left of p. So their difference is p, rounded. Close
// above a power of two the product has a smaller last place, and is rounded to 2^16·p - 2^16·e.
func (b *Builder) WeightBF16(x *Value) *Value {
	p := b.weight(x, spec.LeastWeightBF16)
	return b.MulAdd(b.Const(spec.RoundBF16Factor), p, b.Mul(p, b.Const(spec.RoundBF16Less)))
}

// weight is 2^x for x up to 0, and 0 below the limit.
//
// With 128 more, an even number, so that ties do not change, the low bits are n+128, and shifted
// into the exponent they are 2^(n+1). So the polynomial must be half of 2^r. Halving all
// coefficients halves every step exactly, as no step is near the subnormals, and the last product
// is exact, too. Unlike a sum with the exponent it keeps a NaN, whatever its bits.
func (b *Builder) weight(x *Value, limit uint32) *Value {
	if b.Traits.Exp2 != ByMagic {
		return b.Exp2(x, limit)
	}
	var halves []uint32
	for _, c := range spec.Exp2Coefficients {
		halves = append(halves, c-1<<23)
	}
	round := b.Const(spec.RoundMagic + 128)
	n := b.Add(x, round)
	p := b.Mul(b.horner(halves, b.Sub(x, b.Sub(n, round))), b.ShiftLeft(n, 23))
	return b.ZeroWhere(p, Less, x, b.Const(limit))
}

// Tanh is t + v·r / (h(r²) + t·r). c, t = tanh c and v = 1-t² come from tables of 8 points, for the
// point nearest to |x|. r is |x|-c, and h is a polynomial that approximates r/tanh r. The index of
// the point is the low bits of |x| scaled and added to 1.5·2^23.
func (b *Builder) Tanh(x *Value) *Value {
	a := b.AtMost(b.Abs(x), b.Const(spec.TanhLimit))
	k := b.Index(b.MulAdd(b.Const(spec.TanhDensity), a, b.Const(spec.RoundMagic)), spec.RoundMagic)
	r := b.Sub(a, b.Lookup(b.Table("tanhC", spec.TanhC), k))
	h := b.horner(spec.TanhCoefficients[:], b.Mul(r, r))
	t := b.Lookup(b.Table("tanhT", spec.TanhT), k)
	v := b.Lookup(b.Table("tanhV", spec.TanhV), k)
	y := b.Add(t, b.Div(b.Mul(v, r), b.MulAdd(t, r, h)))
	return b.CopySign(y, x)
}

// split is k = c·high plus the number that rounds it, which leaves n in its low bits, and
// r = c·high - n.
func (b *Builder) split(c, high, round *Value) (k, r *Value) {
	k = b.MulAdd(high, c, round)
	return k, b.MulAdd(high, c, b.Sub(round, k))
}

// square is s - e = a², exactly.
func (b *Builder) square(a *Value) (s, e *Value) {
	s = b.mayUnderflow(a, a)
	return s, b.NegMulAdd(a, a, s)
}

// quotient is z/(1+2^t): z/(p + g)·g with g = 2^-(n/2) and p = 2^t·g.
func (b *Builder) quotient(z, p, g *Value) *Value {
	return b.mayUnderflow(b.Div(z, b.Add(p, g)), g)
}

// power is the p and the g of a quotient with t = c·(high+low).
func (b *Builder) power(c, high, low *Value) (p, g *Value) {
	k, r := b.reduced(c, high, low)
	p = b.horner(spec.Exp2Coefficients[:], r)
	half := b.halfOf(k)
	p = b.SubInt(b.AddInt(p, b.ShiftLeft(k, 23)), half)
	return p, b.SubInt(b.Const(spec.One), half)
}

// reduced is the k and the r of split, with low in r.
func (b *Builder) reduced(c, high, low *Value) (k, r *Value) {
	k, r = b.split(c, high, b.Const(spec.RoundMagic))
	return k, b.MulAdd(low, c, r)
}

// halfOf is n/2, rounded down, in the bits of an exponent.
func (b *Builder) halfOf(k *Value) *Value {
	return b.And(b.ShiftLeft(k, 22), b.Const(spec.Exponent))
}

// powers are 2^t and 2^-t, of normal numbers. -t has -n and -r, where t has n and r.
func (b *Builder) powers(c, high, low *Value) (p, negP *Value) {
	k, r := b.reduced(c, high, low)
	n := b.ShiftLeft(k, 23)
	p = b.AddInt(b.horner(spec.Exp2Coefficients[:], r), n)
	return p, b.SubInt(b.hornerOf(spec.Exp2Coefficients[:], r, b.NegMulAdd), n)
}

func (b *Builder) SiLU(x *Value) *Value {
	z, c := b.siluLimits(x)
	p, g := b.power(b.siluSums(c))
	return b.quotient(z, p, g)
}

// siluLimits are x, at least the lowest number, and the same at most the highest.
func (b *Builder) siluLimits(x *Value) (z, c *Value) {
	z = b.AtLeast(x, b.Const(spec.SiLULowest))
	return z, b.AtMost(z, b.Const(spec.SiLUHighest))
}

// siluSums are the operands of power.
func (b *Builder) siluSums(c *Value) (of, high, low *Value) {
	return c, b.Const(spec.NegLog2EHigh), b.Const(spec.NegLog2ELow)
}

func (b *Builder) GELUTanh(x *Value) *Value {
	z, c := b.geluTanhLimits(x)
	p, g := b.power(b.geluTanhSums(c, c))
	return b.quotient(z, p, g)
}

func (b *Builder) geluTanhLimits(x *Value) (z, c *Value) {
	z = b.AtLeast(x, b.Const(spec.GELUTanhLowest))
	return z, b.AtMost(z, b.Const(spec.GELUTanhHighest))
}

// geluTanhSums has high+low = C0 + C1·of², where the square is a sum of two floats, too. of is c,
// or a number that makes no difference.
func (b *Builder) geluTanhSums(c, of *Value) (_, high, low *Value) {
	s, e := b.square(of)
	c0, c1 := b.Const(spec.TanhC0High), b.Const(spec.TanhC1High)
	high = b.MulAdd(c1, s, c0)
	low = b.MulAdd(c1, s, b.Sub(c0, high))
	low = b.MulAdd(b.Const(spec.TanhC1Low), s, low)
	low = b.NegMulAdd(c1, e, low)
	return c, high, b.Add(low, b.Const(spec.TanhC0Low))
}

func (b *Builder) GELU(x *Value) *Value { return b.geluOf(x, b.geluMagnitude(x)) }

// geluOf is max(x, 0) - T(a)·e^(-a²/2), where a is |x| within limits.
func (b *Builder) geluOf(x, a *Value) *Value {
	p := b.mayUnderflow(b.geluPower(a, spec.GELURound), b.Const(spec.GELUUnscale))
	return b.NegMulAdd(p, b.geluFactor(a), b.AtLeast(x, b.Const(0)))
}

func (b *Builder) geluMagnitude(x *Value) *Value {
	return b.Abs(b.AtMost(b.AtLeast(x, b.Const(spec.GELULowest)), b.Const(spec.GELUHighest)))
}

// geluPower is e^(-a²/2), divided by GELUUnscale if round is GELURound.
func (b *Builder) geluPower(a *Value, round uint32) *Value {
	s, e := b.square(a)
	high := b.Const(spec.GELUHigh)
	k, r := b.split(s, high, b.Const(round))
	r = b.NegMulAdd(high, e, b.MulAdd(b.Const(spec.GELULow), s, r))
	return b.AddInt(b.horner(spec.Exp2Coefficients[:], r), b.ShiftLeft(k, 23))
}

// geluFactor is T(a), a polynomial around the point of the interval in which a lies.
func (b *Builder) geluFactor(a *Value) (t *Value) {
	start := b.Const(spec.GELUStart)
	i := b.SubInt(b.MulAdd(b.Const(spec.GELUDensity), a, start), start)
	i = b.Index(b.ShiftRight(i, spec.GELUInterval), 0)
	d := b.Sub(a, b.Lookup(b.Table("geluC", spec.GELUC), i))
	for c := len(spec.GELUT) - 1; c >= 0; c-- {
		f := b.Lookup(b.Table(fmt.Sprint("geluT", c), spec.GELUT[c]), i)
		if t == nil {
			t = f
		} else {
			t = b.MulAdd(t, d, f)
		}
	}
	return t
}
