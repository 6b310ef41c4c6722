package lane

import "github.com/attn-go/attn/gen/spec"

// The activations without subnormal operands and results of steps, for Rare. Two facts are used.
// Below 2^-125 in magnitude the bits of a float32 count units of 2^-149, the distance of subnormal
// numbers. So do the bits of y + 2^-126 less the bits of 2^-126: this sum is a normal number, and
// rounds y as a subnormal result is rounded. And a sum of a subnormal and a normal number that is a
// normal number takes no longer than others.

const (
	leastUnit = 0x00800000 // 2^-126
	twiceUnit = 0x01000000 // 2^-125

	leastSquare = 0x2b800000 // 2^-40: the parts of the squares of larger numbers are not subnormal
	leastTanh   = 0x21800000 // 2^-60: nor are the squares themselves

	// Up to here no step of a slope is subnormal, with negative numbers either.
	lastSiLUSlope     = 0x42ae0000 // 87
	lastGELUSlope     = 0x414c0000 // 12.75
	lastGELUTanhSlope = 0x411f0000 // 9.9375
)

// anySiLU is SiLU, by careful steps where others may take long. So are the functions below. Numbers
// within the limits of a Rare are within the limits of the function, too.
func anySiLU(b *Builder, x *Value) *Value {
	return b.rareOf(x, twiceUnit, spec.SiLUSubnormal&^spec.SignBit, wholeSiLU, usualSiLU)
}

func anyGELUTanh(b *Builder, x *Value) *Value {
	return b.rareOf(x, leastSquare, spec.GELUTanhSubnormal&^spec.SignBit, wholeGELUTanh, usualGELUTanh)
}

func anyGELU(b *Builder, x *Value) *Value {
	return b.rareOf(x, leastSquare, spec.GELUSubnormal&^spec.SignBit, wholeGELU, usualGELU)
}

func anyTanh(b *Builder, x *Value) *Value {
	return b.rareOf(x, leastTanh, spec.Infinity, wholeTanh, (*Builder).Tanh)
}

// rareOf is a Rare with one result.
func (b *Builder) rareOf(x *Value, from, to uint32, whole, usual Function) *Value {
	one := func(f Function) func() []*Value { return func() []*Value { return []*Value{f(b, x)} } }
	return b.Rare(x, from, to, one(whole), one(usual))[0]
}

func usualSiLU(b *Builder, x *Value) *Value     { return b.siluOf(x, x) }
func usualGELUTanh(b *Builder, x *Value) *Value { return b.geluTanhOf(x, x) }
func usualGELU(b *Builder, x *Value) *Value     { return b.geluOf(x, b.Abs(x)) }

// whole returns the function for all numbers: by careful steps if these are worth it.
func whole(function, careful Function) Function {
	return func(b *Builder, x *Value) *Value {
		if b.Skips {
			return careful(b, x)
		}
		return function(b, x)
	}
}

var (
	wholeSiLU     = whole((*Builder).SiLU, (*Builder).carefulSiLU)
	wholeGELUTanh = whole((*Builder).GELUTanh, (*Builder).carefulGELUTanh)
	wholeGELU     = whole((*Builder).GELU, (*Builder).carefulGELU)
	wholeTanh     = whole((*Builder).Tanh, (*Builder).carefulTanh)
)

// lift is x, but for magnitudes below 2^-125, where it is ±(2^-125 + |x|), rounded: half of that
// is ±2^-126 and |x|/2, rounded as a subnormal number is. up is 2^-125 there, and 0 elsewhere.
func (b *Builder) lift(x *Value) (y, up *Value) {
	limit := b.Const(twiceUnit)
	up = b.Select(Less, b.Abs(x), limit, limit, b.Const(0))
	return b.Add(x, b.CopySign(up, x)), up
}

// With this bias the powers of two of careful steps are normal numbers: 2^t/2^34, 2^34/2^t and
// 1/2^34. It is even: ties in n remain what they are.
const (
	bias   = 34
	scaled = spec.One - bias<<23
	grown  = spec.One + bias<<23
)

// lowered is c/(1+2^t), t = of·(high+low), where c is lift(x) within limits, so that quotients are
// ±2^-126 beside the result if up is set. Results below that get it here. Numbers beyond the
// highest one, whose quotient by 2^-34 may be too large, are their own results. k and r are those
// of t.
func (b *Builder) lowered(x, up, c, of, high, low *Value, below, highest uint32) (y, k, r *Value) {
	k, r = b.split(of, high, b.Const(spec.RoundMagic-bias))
	r = b.MulAdd(low, of, r)
	p := b.AddInt(b.horner(spec.Exp2Coefficients[:], r), b.ShiftLeft(k, 23))
	q := b.Div(c, b.Add(p, b.Const(scaled)))
	unit := b.Select(Less, x, b.Const(below), b.Const(leastUnit), b.Const(0))
	y = b.MulAdd(q, b.Const(scaled), b.CopySign(unit, x))
	y = b.SubInt(y, b.Or(unit, b.ShiftRight(up, 1)))
	return b.Select(Less, x, b.Const(highest), y, x), k, r
}

// other is v/(1+2^-t).
func (b *Builder) other(v, k, r *Value) *Value {
	p := b.SubInt(b.hornerOf(spec.Exp2Coefficients[:], r, b.NegMulAdd), b.ShiftLeft(k, 23))
	return b.Mul(b.Div(v, b.Add(p, b.Const(grown))), b.Const(grown))
}

func (b *Builder) carefulSiLU(x *Value) *Value {
	y, _, _, _ := b.carefulSiLUParts(x)
	return y
}

func (b *Builder) carefulSiLUParts(x *Value) (y, c, k, r *Value) {
	lifted, up := b.lift(x)
	_, c = b.siluLimits(lifted)
	of, high, low := b.siluSums(c)
	y, k, r = b.lowered(x, up, c, of, high, low, spec.SiLUSubnormal, spec.SiLUHighest)
	return y, c, k, r
}

func (b *Builder) carefulGELUTanh(x *Value) *Value {
	y, _, _, _ := b.carefulGELUTanhParts(x)
	return y
}

// carefulGELUTanhParts takes the square of 2^-30 for squares of smaller numbers: there p is 1.
func (b *Builder) carefulGELUTanhParts(x *Value) (y, c, k, r *Value) {
	lifted, up := b.lift(x)
	_, c = b.geluTanhLimits(lifted)
	of, high, low := b.geluTanhSums(c, b.AtLeast(b.Abs(c), b.number(0x1p-30)))
	y, k, r = b.lowered(x, up, c, of, high, low, spec.GELUTanhSubnormal, spec.GELUTanhHighest)
	return y, c, k, r
}

// carefulGELU takes the square of 2^-30 for squares of smaller numbers, too. An exponential below
// 2^-124 is computed in units of 2^-149, to which it is rounded if it is below 2^-126: of a number
// of them less 2^24 a unit is the last place, or less if they are more than 2^23. Where x is below
// 2^-125 in magnitude, T is half of that, and the exponential 1.
func (b *Builder) carefulGELU(x *Value) *Value {
	lifted, _ := b.lift(x)
	a := b.geluMagnitude(lifted)
	t := b.geluFactor(a)
	p := b.geluPower(b.AtLeast(a, b.number(0x1p-30)))

	scale := b.Select(Less, x, b.Const(spec.GELUSubnormal), b.number(0x1p22), b.Const(0)) // its bits make a factor 2^149 larger
	big := b.Mul(scale, b.number(-4))
	p = b.Sub(b.MulAdd(p, b.AddInt(scale, b.Const(spec.GELUUnscale)), big), big)
	units := b.Add(scale, scale)
	y := b.SubInt(b.NegMulAdd(p, t, b.Sub(b.AtLeast(lifted, b.Const(0)), units)), units)

	half := b.SubInt(t, b.Const(leastUnit))
	negative := b.Select(Equal, x, b.Const(spec.SignBit+1), b.Const(0), b.CopySign(half, x)) // +0 for the least number, as -0 + 0
	tiny := b.Select(LessInt, x, b.Const(0), negative, b.SubInt(x, half))
	return b.Select(Less, b.Abs(x), b.Const(twiceUnit), tiny, y)
}

// carefulTanh is x where that is tiny.
func (b *Builder) carefulTanh(x *Value) *Value {
	a, tiny := b.Abs(x), b.number(0x1p-30)
	return b.Select(Less, a, tiny, x, b.Tanh(b.ZeroWhere(x, Less, a, tiny)))
}
