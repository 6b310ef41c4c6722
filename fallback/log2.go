package fallback

import "math"

// log2Coefficients are the coefficients of the polynomial in f that approximates
// log2(1+f)/f on [-1/3, 1/3], as float32 bits, the constant term first.
var log2Coefficients = [10]uint32{
	0x3fb8aa3b, 0xbf38aa3c, 0x3ef637fa, 0xbeb8a994, 0x3e93d2e3,
	0xbe767a03, 0x3e4e8a17, 0xbe3377f7, 0x3e501dd4, 0xbe405761,
}

// twoThirds are the bits of the smallest float32 above 2/3.
const twoThirds = 0x3f2aaaab

// Log2 returns log2(x) as the contract defines it: within 1.66 ulp, around 1 too, -Inf
// for 0, +Inf for +Inf, NaN for NaN and for numbers below 0.
func Log2(x float32) float32 {
	switch {
	case x == 0:
		return negInf
	case !(x > 0):
		return float32(math.NaN())
	case x > math.MaxFloat32:
		return x
	}
	n := int32(0)
	if x < 0x1p-126 {
		x *= 0x1p23 // exact, and normal
		n = -23
	}
	// x = m·2^e with m in [2/3, 4/3): a difference of bits counts the octaves.
	b := math.Float32bits(x)
	e := int32(b-twoThirds) >> 23
	f := math.Float32frombits(b-uint32(e)<<23) - 1 // exact
	return FMA(f, horner(log2Coefficients[:], f), float32(n+e))
}
