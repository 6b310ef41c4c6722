package fallback

import "math"

// The constants of SiLU and GELUTanh. Both are x/(1+2^t): t is x·(-log2 e) in SiLU, and
// x·(c0 + c1·x²) in GELUTanh, with c0 = -2·sqrt(2/π)·log2 e and c1 = 0.044715·c0. Every
// factor is a sum of two floats. c0's high part is a multiple of 2^-20, so that its
// difference to c0 + c1·x² is exact.
const (
	negLog2EHigh = -0x1.715476p0
	negLog2ELow  = -0x1.4ae0cp-26

	tanhC0High = -0x1.26aecp1
	tanhC0Low  = -0x1.0de73ap-22
	tanhC1High = -0x1.a5a7dp-4
	tanhC1Low  = 0x1.151aacp-29
)

// Below the lowest number the result is -0. From some number below the highest on it is x.
// In between 2^t and its root can be represented.
const (
	siluLowest, siluHighest         = -110, 30
	geluTanhLowest, geluTanhHighest = -0x1.5cccccp3, 6
)

// SiLU returns x/(1+e^-x) as the contract defines it: within 2.39 ulp, of subnormal
// results too, with the sign of x, -0 for -Inf, +Inf for +Inf and NaN for NaN.
func SiLU(x float32) float32 {
	z, c := limit(x, siluLowest, siluHighest)
	return divideByExp2(z, c, negLog2EHigh, negLog2ELow)
}

// GELUTanh returns x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³))), the usual approximation of
// GELU, as the contract defines it: within 2.34 ulp, of subnormal results too, with the
// sign of x, -0 for -Inf, +Inf for +Inf and NaN for NaN. It uses 1 + tanh u = 2/(1+e^-2u).
func GELUTanh(x float32) float32 {
	z, c := limit(x, geluTanhLowest, geluTanhHighest)
	// high + low = c0 + c1·x². Where the exponential is large, t is too, and one float
	// would leave it without its last 8 bits.
	s := float32(c * c)
	e := FMA(c, c, -s) // s+e = c²
	high := FMA(s, tanhC1High, tanhC0High)
	low := FMA(s, tanhC1High, tanhC0High-high)
	low = FMA(s, tanhC1Low, low)
	low = FMA(e, tanhC1High, low) + tanhC0Low
	return divideByExp2(z, c, high, low)
}

// limit returns x, at least lowest, and the same at most highest. A NaN stays.
func limit(x, lowest, highest float32) (z, c float32) {
	z = x
	if z < lowest {
		z = lowest
	}
	c = z
	if c > highest {
		c = highest
	}
	return z, c
}

// divideByExp2 returns z/(1+2^t), t = c·(high+low). With t = n+r and g = 2^-(n/2) it is
// (z/(g + 2^r·2^n·g))·g. The powers of 2 halve the exponents: 2^n may be beyond the range
// of float32, and a quotient by it would be. The last product is exact unless the result is
// subnormal.
func divideByExp2(z, c, high, low float32) float32 {
	k := FMA(c, high, roundMagic) // n in the low bits
	r := FMA(c, high, roundMagic-k)
	r = FMA(c, low, r)
	p := math.Float32bits(horner(Exp2Coefficients[:], r))

	// Integers in the place of the exponent.
	n := math.Float32bits(k) << 23
	half := math.Float32bits(k) << 22 &^ (1<<23 - 1) // of n, rounded down
	g := math.Float32frombits(one - half)
	return float32(z / (g + math.Float32frombits(p+n-half)) * g)
}

// one is the bits of 1.
const one = 0x3f800000
