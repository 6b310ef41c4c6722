package fallback

import "math"

// Where the compiler has no float32 fma, it is emulated in float64: the product
// of two float32 is exact there, so only the sum is rounded, to float64 and
// then to float32. Rounding twice goes wrong only if the first rounding lands
// halfway between two float32 and hides on which side of it the sum was, or if
// the result is subnormal and so has fewer bits than halfway looks at. Both are
// rare and are left to fmaSlow.
//
// The three steps are apart because the compiler cannot inline a function that
// calls: a loop that must be fast inlines muladd and rare and calls FMA when
// rare says so. On fused architectures rare is false, and nothing is left of it.

// muladd64 is the fma before its last rounding.
func muladd64(x, y, z float32) float64 {
	return float64(x)*float64(y) + float64(z)
}

// rare64 tells that rounding s to float32 may not give the fma. Zeros, which
// are exact and not rare, wrap past the bound of the subnormals.
func rare64(s float64) bool {
	const (
		lowBits   = 1<<29 - 1          // of the mantissa: float32 lacks them
		halfway   = 1 << 28            // in lowBits
		minNormal = (1023 - 126) << 52 // the smallest normal float32, 2^-126
	)
	b := math.Float64bits(s)
	return b&lowBits == halfway || b<<1-1 < minNormal<<1-1
}

// fmaSlow is right for all arguments. It rounds the sum to odd: of the two
// float64 around an inexact sum it takes the one with the odd mantissa, which
// is never halfway between two float32, subnormal or not, and on the same side
// of such a point as the sum.
func fmaSlow(x, y, z float32) float32 {
	// TwoSum: s + err is the exact sum. Nothing over- or underflows, as
	// products of float32 keep far from the limits of float64, and a compiler
	// that fuses p into a sum changes nothing, as p is exact.
	p, a := float64(x)*float64(y), float64(z)
	s := p + a
	t := s - p
	err := (p - (s - t)) + (a - t)

	if err == 0 || err != err { // exact, or Inf or NaN
		return float32(s)
	}
	b := math.Float64bits(s)
	if b&1 == 0 {
		if (err > 0) == (s > 0) {
			b++ // away from zero
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}

// fmaEmulated is FMA without an instruction for it. It is compiled everywhere,
// so that every architecture can test the two against each other.
func fmaEmulated(x, y, z float32) float32 {
	s := muladd64(x, y, z)
	if rare64(s) {
		return fmaSlow(x, y, z)
	}
	return float32(s)
}
