// Package scalar computes the numeric contract's functions of single numbers, the same on every
// architecture: the fused multiply-add, exponentials and their kin, activations, conversions, and
// the random numbers of dropout. Kernels in Go and the engines around the kernels use it.
//
// All rests on [FMA], which is an instruction if the compiler offers one and an exact emulation
// otherwise. Every other product is written float32(a*b): without the conversion a compiler may
// fuse it with an addition that follows, and the bits would depend on the architecture.
//
// A fast loop takes the steps of FMA itself, because the compiler inlines them: it calls [MulAdd],
// asks [Rare], and calls FMA if that returns true.
package scalar

import (
	"math"
)

// If the compiler has no float32 fma, it is emulated in float64. The product of two
// float32 is exact there. Only the sum is rounded, first to float64 and then to float32.
// Rounding twice is wrong only in two cases: the first rounding lands halfway between
// two float32, so that it is lost on which side of it the sum was, or the result is
// subnormal, so that it has fewer bits than the test for halfway assumes. Both are rare
// and left to fmaSlow.
//
// There are three functions because the compiler does not inline a function that calls
// another. A fast loop inlines MulAdd and Rare, and calls FMA if Rare returns true. On
// architectures with an fma Rare is constantly false, and the compiler removes the call.

// muladd64 is the fma before its last rounding.
func muladd64(x, y, z float32) float64 {
	return float64(x)*float64(y) + float64(z)
}

// rare64 reports that rounding s to float32 may not give the fma. A zero, which is exact
// and frequent, wraps around to a number above the bound of the subnormals.
func rare64(s float64) bool {
	const (
		lowBits   = 1<<29 - 1          // of the mantissa, which float32 lacks
		halfway   = 1 << 28            // in lowBits
		minNormal = (1023 - 126) << 52 // the smallest normal float32, 2^-126
	)
	b := math.Float64bits(s)
	return b&lowBits == halfway || b<<1-1 < minNormal<<1-1
}

// fmaSlow is correct for all arguments. It rounds the sum to odd: of the two float64
// around an inexact sum it takes that with the odd mantissa. That is never halfway
// between two float32, subnormal or not, and lies on the same side of such a point as
// the sum.
func fmaSlow(x, y, z float32) float32 {
	// TwoSum: s + err is the exact sum. Nothing over- or underflows, as products of
	// float32 are far from the limits of float64. If the compiler fuses p into a sum,
	// nothing changes, as p is exact.
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

// fmaEmulated is FMA without an fma instruction. It is compiled everywhere, so that both
// can be tested against each other on every architecture.
func fmaEmulated(x, y, z float32) float32 {
	s := muladd64(x, y, z)
	if rare64(s) {
		return fmaSlow(x, y, z)
	}
	return float32(s)
}
