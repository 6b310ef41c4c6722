package testutil

import "math"

// A Kind is a kind of numbers to test kernels with.
type Kind int

const (
	Dyadics   Kind = iota // few bits: sums are often exact
	Mantissas             // all 24 bits, magnitudes 2^-8 to 2^8
	Tinies                // magnitudes around 2^-72: products are subnormal or vanish
	Specials              // finite, with extremes among them
	NonFinite             // with ±Inf and NaN among them
	Zeros                 // ±0, and a few others
	Kinds                 // the number of kinds
)

func (k Kind) String() string {
	return [...]string{"dyadics", "mantissas", "tinies", "specials", "nonfinite", "zeros"}[k]
}

// extremes are the bits of finite special numbers. Their negatives are used, too.
var extremes = [...]uint32{
	0,                // +0
	1, 2, 0x00012345, // subnormal
	0x007fffff,             // the largest subnormal
	0x00800000, 0x00800001, // the smallest normal
	0x0da24260,             // 1e-30
	0x3f7fffff, 0x3f800000, // around 1
	0x3f800001, 0x4b7fffff, // around 1, 2^24-1
	0x71c9f2ca, 0x7f7fffff, // 2e30, the largest
}

// infinities are the bits of the numbers that are not finite: Inf, a quiet and a
// signalling NaN.
var infinities = [...]uint32{0x7f800000, 0x7f800000, 0x7fc00000, 0x7f800001}

// Next returns a number of the kind.
func (k Kind) Next(r *Rand) float32 {
	x := r.Uint64()
	sign, small := uint32(x>>63)<<31, uint32(x>>32)&0xff
	one := func(bits []uint32) float32 {
		return math.Float32frombits(sign | bits[uint32(x>>40)%uint32(len(bits))])
	}
	mantissa := func(exp uint32) float32 {
		return math.Float32frombits(sign | exp<<23 | uint32(x)&0x7fffff)
	}
	switch {
	case k == Dyadics:
		return float32(int(x&0xfff)-0x800) / 0x100
	case k == Tinies:
		return mantissa(127 - 76 + small&7)
	case k == Specials && small>>4 < 2:
		return one(extremes[:])
	case k == NonFinite && small < 4:
		return one(infinities[:])
	case k == Zeros && small>>4 < 14:
		return math.Float32frombits(sign)
	}
	return mantissa(127 - 8 + small&15)
}

// Fill sets the first w elements of every row of s. The rows start ld elements apart.
func (k Kind) Fill(r *Rand, s []float32, rows, w, ld int) {
	for i := range rows {
		row := s[i*ld : i*ld+w]
		for lane := range row {
			row[lane] = k.Next(r)
		}
	}
}

// KindOf spreads the kinds over test cases without a pattern.
func KindOf(i int) Kind {
	r := Rand(i)
	return Kind(r.IntN(int(Kinds)))
}
