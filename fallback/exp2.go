package fallback

import "math"

// Exp2Coefficients are the coefficients of the polynomial that the contract's exp2
// evaluates on [-1/2, 1/2], as float32 bits, the constant term first.
var Exp2Coefficients = [7]uint32{
	0x3f800000, 0x3f317218, 0x3e75fdee, 0x3d6357be, 0x3c1d96f0, 0x3aaf8418, 0x3920b5ae,
}

// roundMagic is 1.5·2^23. Added to a float32 of magnitude below 2^22 it leaves no bits
// for a fraction: the sum is rounded to an integer, ties to even, and its low bits are
// that integer.
const roundMagic = 0x1.8p23

// Exp2 returns 2^x as the contract defines it: within 0.80 ulp, exactly 0 below -126,
// +Inf from 128 on, NaN for NaN. Attention needs it only for x ≤ 0.
func Exp2(x float32) float32 {
	if !(x >= -126 && x < 128) {
		switch {
		case x < -126:
			return 0
		case x >= 128:
			return float32(math.Inf(1))
		}
		return x // NaN
	}
	t := x + roundMagic
	r := x - (t - roundMagic) // exact
	p := math.Float32frombits(Exp2Coefficients[6])
	for i := 5; i >= 0; i-- {
		c := math.Float32frombits(Exp2Coefficients[i])
		s := muladd(p, r, c)
		if rare(s) {
			s = wide(FMA(p, r, c))
		}
		p = float32(s)
	}
	// p lies within [2^-1/2, 2^1/2], below 1 for the largest n, and the result is a normal
	// number. So n can be added to the exponent. The shift keeps only the low bits of n in
	// t.
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
}

// Exp2Slice computes dst = 2^src for len(dst) elements.
func Exp2Slice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = Exp2(x)
	}
}
