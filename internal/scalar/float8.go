package scalar

import "math"

// The two types of the OCP 8-bit Floating Point Specification (OFP8), Revision 1.0: E4M3 with
// 4 bits of exponent and 3 of fraction, E5M2 with 5 and 2. E5M2 is laid out as IEEE-754 would, E4M3 has
// no infinity: all of its highest exponent are numbers, but for S.1111.111, which is NaN. Narrowing
// saturates, as the specification calls it: what is beyond the largest number, infinity too, becomes
// that number.

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

// ToF8E4M3 returns the bits of the E4M3 nearest to x, ties to even, and that of ±448 beyond. Every NaN
// becomes 0x7f.
func ToF8E4M3(x float32) uint8 { return toFloat8(x, 3, 7, largestE4M3, nanE4M3) }

// ToF8E5M2 returns the bits of the E5M2 nearest to x, ties to even, and that of ±57344 beyond. Every
// NaN becomes 0x7e.
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
		// The last place of the sum is that of a subnormal number.
		unit := normal + drop<<23
		return sign | uint8(math.Float32bits(math.Float32frombits(b)+math.Float32frombits(unit))-unit)
	}
	b += 1<<(drop-1) - 1 + b>>drop&1 // half a unit in the last place; an exact tie goes up only if that is odd
	return sign | uint8(min((b-(127-bias)<<23)>>drop, uint32(largest)))
}
