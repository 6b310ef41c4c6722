package scalar

import "math"

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
		// The last place of the sum is 2^-24, that of a subnormal binary16.
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
