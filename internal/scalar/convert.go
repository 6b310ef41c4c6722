package scalar

import (
	"math"

	"github.com/attn-go/attn/contract"
)

// The element types narrower than float32: F16 is IEEE-754 binary16, BF16 is bfloat16,
// the upper half of a binary32. Both are converted as bits, so that it does not matter
// how the hardware treats subnormals and NaN.

const (
	nanF16  = 0x7e00 // every NaN becomes this
	nanBF16 = 0x7fc0
	infBits = 0x7f800000
)

// F16 returns the value of a binary16 given as bits. A NaN stays one.
func F16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // subnormal: a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	case 0x1f:
		if frac != 0 {
			frac |= 0x200 // quiet
		}
		return math.Float32frombits(sign | infBits | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// ToF16 returns the bits of the binary16 nearest to x, ties to even. Numbers
// that are too large become infinite, and every NaN 0x7e00.
func ToF16(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 31 << 15)
	b &= 1<<31 - 1
	switch {
	case b > infBits:
		return nanF16
	case b >= 0x477ff000: // 65520, halfway between the largest binary16 and 2^16
		return sign | 0x7c00
	case b < (127-14)<<23: // subnormal, or rounded up to the smallest normal
		// The last place of the sum is 2^-24, as of a subnormal binary16.
		y := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(y)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // half a unit in the last place; an exact tie goes up only if that is odd
	return sign | uint16((b-(127-15)<<23)>>13)
}

// BF16 returns the value of a bfloat16 given as bits.
func BF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 returns the bits of the bfloat16 nearest to x, ties to even. Numbers
// that are too large become infinite, and every NaN 0x7fc0.
func ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if b&(1<<31-1) > infBits {
		return nanBF16
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// RoundBF16 returns the factor that a product in bfloat16 takes for x: the nearest bfloat16, but +0
// for those whose magnitude is below 2^-56. A NaN is the bfloat16 0x7fc0.
func RoundBF16(x float32) float32 {
	y := BF16(ToBF16(x))
	if math.Float32bits(y)&(1<<31-1) < contract.LeastBF16 {
		return 0
	}
	return y
}

// The two types of the OCP 8-bit Floating Point Specification (OFP8), Revision 1.0: E4M3 with 4
// bits of exponent and 3 of fraction, E5M2 with 5 and 2. E5M2 is laid out as IEEE-754 would, E4M3
// has no infinity: all of its highest exponent are numbers, but for S.1111.111, which is NaN.
// Narrowing saturates, as the specification calls it: what is beyond the largest number, infinity
// too, becomes that number.

const (
	largestE4M3 = 0x7e // 448
	nanE4M3     = 0x7f
	largestE5M2 = 0x7b // 57344
	nanE5M2     = 0x7e
)

// F8E4M3 returns the value of an E4M3 given as bits. A NaN stays one.
func F8E4M3(b uint8) float32 {
	sign, magnitude := uint32(b>>7)<<31, uint32(b&0x7f)
	switch {
	case magnitude == nanE4M3:
		return math.Float32frombits(sign | 0x7fc00000)
	case magnitude < 1<<3: // subnormal: a multiple of 2^-9
		return math.Float32frombits(sign | math.Float32bits(float32(magnitude)*0x1p-9))
	}
	return math.Float32frombits(sign | magnitude<<20 + (127-7)<<23)
}

// F8E5M2 returns the value of an E5M2 given as bits: the upper half of a binary16. A NaN stays one.
func F8E5M2(b uint8) float32 { return F16(uint16(b) << 8) }

// ToF8E4M3 returns the bits of the E4M3 nearest to x, ties to even, and of ±448 beyond. Every NaN
// becomes 0x7f.
func ToF8E4M3(x float32) uint8 { return toFloat8(x, 3, 7, largestE4M3, nanE4M3) }

// ToF8E5M2 returns the bits of the E5M2 nearest to x, ties to even, and of ±57344 beyond. Every NaN
// becomes 0x7e.
func ToF8E5M2(x float32) uint8 { return toFloat8(x, 2, 15, largestE5M2, nanE5M2) }

// toFloat8 rounds x to a format with so many bits of fraction and a bias of the exponent, of which
// largest are the bits of the largest number.
func toFloat8(x float32, fraction, bias uint32, largest, nan uint8) uint8 {
	b := math.Float32bits(x)
	sign := uint8(b >> 31 << 7)
	b &= 1<<31 - 1
	drop, normal := 23-fraction, (127+1-bias)<<23 // the bits to drop; the smallest normal number
	switch {
	case b > infBits:
		return nan
	case b < normal: // subnormal, or rounded up to the smallest normal
		// The last place of the sum is a subnormal number's.
		unit := normal + drop<<23
		return sign | uint8(math.Float32bits(math.Float32frombits(b)+math.Float32frombits(unit))-unit)
	}
	b += 1<<(drop-1) - 1 + b>>drop&1 // half a unit in the last place; an exact tie goes up only if that is odd
	return sign | uint8(min((b-(127-bias)<<23)>>drop, uint32(largest)))
}
