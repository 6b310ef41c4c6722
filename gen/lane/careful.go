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
	fourUnits = 0x01800000 // 2^-124

	leastTanh = 0x21800000 // 2^-60: the squares of larger numbers are not subnormal

	// Up to here no power of two or step of a slope is subnormal, with negative numbers either.
	lastSiLU      = 0x42ae0000 // 87
	lastGELUTanh  = 0x411f0000 // 9.9375
	lastGELUSlope = 0x414c0000 // 12.75

	// Here 2^t is from 2^128 to 2^129. Its steps make a NaN, which fraction takes for an infinity.
	infiniteSiLU     = 0xc2b20000 // -89
	infiniteGELUTanh = 0xc1214000 // -10.078125
)

// anySiLU is SiLU, by careful steps where others may take long. So are the functions below. Numbers
// from From to To are within the limits of the function, too. Short steps put others within limits:
// then z/(1+2^t) is z above, and -0 below.
func anySiLU(b *Builder, x *Value) *Value {
	return b.rareOf(x, wholeSiLU, siluWays(b, x, spec.SiLUHighest))
}
func anyGELUTanh(b *Builder, x *Value) *Value { return b.rareOf(x, wholeGELUTanh, geluTanhWays(b, x)) }
func anyGELU(b *Builder, x *Value) *Value     { return b.rareOf(x, wholeGELU, geluWays(b, x)) }

func siluWays(b *Builder, x *Value, highest uint32) Ways {
	return Ways{
		From: twiceUnit, To: lastSiLU, Beyond: spec.SiLULowest &^ spec.SignBit,
		In: func() []*Value { return []*Value{x, x} },
		Short: func() []*Value {
			z := b.AtLeast(x, b.Const(infiniteSiLU))
			return []*Value{z, b.AtMost(z, b.Const(highest))}
		},
		Usual: func(in []*Value) []*Value { return []*Value{b.fraction(in[0], b.plainPower(b.siluSums(in[1])))} },
	}
}

func geluTanhWays(b *Builder, x *Value) Ways {
	return Ways{
		From: twiceUnit, To: lastGELUTanh, Beyond: spec.GELUTanhLowest &^ spec.SignBit,
		In: func() []*Value { return []*Value{x, x, b.Abs(x)} },
		Short: func() []*Value {
			z := b.AtLeast(x, b.Const(infiniteGELUTanh))
			return []*Value{z, b.AtMost(z, b.Const(spec.GELUTanhHighest)), b.AtMost(b.Abs(x), b.Const(infiniteGELUTanh&^spec.SignBit))}
		},
		Usual: func(in []*Value) []*Value {
			return []*Value{b.fraction(in[0], b.plainPower(b.geluTanhSums(in[1], b.visibleSquare(in[2]))))}
		},
	}
}

func geluWays(b *Builder, x *Value) Ways {
	return Ways{
		From: twiceUnit, To: spec.GELUSubnormal &^ spec.SignBit, Beyond: spec.GELULowest &^ spec.SignBit,
		In: func() []*Value { return []*Value{b.Abs(x)} },
		Short: func() []*Value { // T(0) is 0, so that numbers far from 0 are max(x, -0)
			return []*Value{b.Select(Less, b.Abs(x), b.number(14), b.Abs(x), b.Const(0))}
		},
		Usual: func(in []*Value) []*Value { return []*Value{b.usualGELU(x, in[0], b.visibleSquare(in[0]))} },
	}
}

func anyTanh(b *Builder, x *Value) *Value {
	return b.rareOf(x, wholeTanh, Ways{From: leastTanh, To: spec.Infinity, Usual: func([]*Value) []*Value { return []*Value{b.Tanh(x)} }})
}

// rareOf is a Rare with one result.
func (b *Builder) rareOf(x *Value, whole Function, w Ways) *Value {
	w.Whole = func() []*Value { return []*Value{whole(b, x)} }
	return b.Rare(x, w)[0]
}

// visibleSquare is a, but 2^-30 for numbers below: where their squares are added to numbers near 1,
// that makes the same sums.
func (b *Builder) visibleSquare(a *Value) *Value { return b.AtLeast(a, b.number(0x1p-30)) }

// plainPower is 2^t, of a normal number.
func (b *Builder) plainPower(c, high, low *Value) *Value {
	k, r := b.reduced(c, high, low)
	return b.AddInt(b.horner(spec.Exp2Coefficients[:], r), b.ShiftLeft(k, 23))
}

// fraction is z/(1+p). A NaN in p, which short steps have for numbers far below 0, is an infinity.
func (b *Builder) fraction(z, p *Value) *Value {
	return b.Div(z, b.Add(b.AtMost(b.Const(spec.Infinity), p), b.Const(spec.One)))
}

// usualGELU is max(x, 0) - T(a)·e^(-of²/2) where the exponential is a normal number. -0 in place of
// 0 is the result of numbers far below 0.
func (b *Builder) usualGELU(x, a, of *Value) *Value {
	p := b.geluPower(of, spec.RoundMagic)
	return b.NegMulAdd(p, b.geluFactor(a), b.AtLeast(x, b.Const(spec.SignBit)))
}

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

// With a bias of n the powers of two of careful steps are normal numbers: 2^t/2^34, 2^34/2^t and
// 1/2^34. As it is even, ties are rounded as without it.
const (
	bias   = 34
	scaled = spec.One - bias<<23
	grown  = spec.One + bias<<23
)

// biased is the k and the r of reduced for a bias.
func (b *Builder) biased(c, high, low *Value) (k, r *Value) {
	k, r = b.split(c, high, b.Const(spec.RoundMagic-bias))
	return k, b.MulAdd(low, c, r)
}

// lowered is c/(1+2^t), where c is lift(x) within limits, so that quotients are ±2^-126 beside the
// result if up is set. For numbers below a limit the last FMA adds ±2^-126. A number beyond the
// highest one is its own result: its quotient by 2^-34 may be too large.
func (b *Builder) lowered(x, up, c, k, r *Value, below, highest uint32) *Value {
	p := b.AddInt(b.horner(spec.Exp2Coefficients[:], r), b.ShiftLeft(k, 23))
	q := b.Div(c, b.Add(p, b.Const(scaled)))
	unit := b.Select(Less, x, b.Const(below), b.Const(leastUnit), b.Const(0))
	y := b.MulAdd(q, b.Const(scaled), b.CopySign(unit, x))
	y = b.SubInt(y, b.Or(unit, b.ShiftRight(up, 1)))
	return b.Select(Less, x, b.Const(highest), y, x)
}

// opposite is v/(1+2^-t).
func (b *Builder) opposite(v, k, r *Value) *Value {
	p := b.SubInt(b.hornerOf(spec.Exp2Coefficients[:], r, b.NegMulAdd), b.ShiftLeft(k, 23))
	return b.Mul(b.Div(v, b.Add(p, b.Const(grown))), b.Const(grown))
}

func (b *Builder) carefulSiLU(x *Value) *Value {
	up, c, k, r := b.siluParts(x)
	return b.siluOfParts(x, up, c, k, r)
}

func (b *Builder) siluParts(x *Value) (up, c, k, r *Value) {
	lifted, up := b.lift(x)
	_, c = b.siluLimits(lifted)
	k, r = b.biased(b.siluSums(c))
	return up, c, k, r
}

func (b *Builder) siluOfParts(x, up, c, k, r *Value) *Value {
	return b.lowered(x, up, c, k, r, spec.SiLUSubnormal, spec.SiLUHighest)
}

func (b *Builder) carefulGELUTanh(x *Value) *Value {
	up, c, k, r := b.geluTanhParts(x)
	return b.geluTanhOfParts(x, up, c, k, r)
}

func (b *Builder) geluTanhParts(x *Value) (up, c, k, r *Value) {
	lifted, up := b.lift(x)
	_, c = b.geluTanhLimits(lifted)
	k, r = b.biased(b.geluTanhSums(c, b.visibleSquare(b.Abs(c))))
	return up, c, k, r
}

func (b *Builder) geluTanhOfParts(x, up, c, k, r *Value) *Value {
	return b.lowered(x, up, c, k, r, spec.GELUTanhSubnormal, spec.GELUTanhHighest)
}

// carefulGELU takes the square of 2^-30 for squares of smaller numbers, too. An exponential below
// 2^-124 is computed in units of 2^-149, to which it is rounded if it is below 2^-126: of a number
// of them less 2^24 a unit is the last place, or less if they are more than 2^23. Where x is below
// 2^-125 in magnitude, T is half of that, and the exponential 1.
func (b *Builder) carefulGELU(x *Value) *Value {
	lifted, _ := b.lift(x)
	a := b.geluMagnitude(lifted)
	t := b.geluFactor(a)
	p := b.geluPower(b.visibleSquare(a), spec.GELURound)

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
