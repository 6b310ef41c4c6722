package scalar

import (
	"math"

	"github.com/attn-go/attn/contract"
)

// The constants of SiLU and GELUTanh. Both are x/(1+2^t): t is x·(-log2 e) in SiLU, and
// x·(c0 + c1·x²) in GELUTanh. Every factor is a sum of two floats. c0's high part is a multiple of
// 2^-20, so that its difference to c0 + c1·x² is exact. Below the lowest number the result is -0.
// From some number below the highest on it is x. In between 2^t and its root can be represented.
var (
	siluLowest, siluHighest         = float(contract.SiLULowest), float(contract.SiLUHighest)
	negLog2EHigh, negLog2ELow       = float(contract.NegLog2EHigh), float(contract.NegLog2ELow)
	geluTanhLowest, geluTanhHighest = float(contract.GELUTanhLowest), float(contract.GELUTanhHighest)
	tanhC0High, tanhC0Low           = float(contract.GELUTanhC0High), float(contract.GELUTanhC0Low)
	tanhC1High, tanhC1Low           = float(contract.GELUTanhC1High), float(contract.GELUTanhC1Low)
)

// The constants of the slopes of GELU and GELUTanh, see package fallback.
const (
	InvRootTwoPi = 0.398942280401432677939946059934 // 1/sqrt(2π)
	TanhSlope0   = 1.595769121605730711759542307706 // 2·sqrt(2/π)
	TanhSlope1   = 3 * 0.044715 * TanhSlope0

	// Steep is where a slope is 0 or 1: from here on the formulas may multiply 0 by infinity.
	Steep = 100
)

func float(bits uint32) float32 { return math.Float32frombits(bits) }

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
	p := math.Float32bits(horner(exp2Coefficients[:], r))

	// Integers in the place of the exponent.
	n := math.Float32bits(k) << 23
	half := math.Float32bits(k) << 22 &^ (1<<23 - 1) // of n, rounded down
	g := math.Float32frombits(one - half)
	return float32(z / (g + math.Float32frombits(p+n-half)) * g)
}

// one is the bits of 1.
const one = 0x3f800000

// The constants of GELU. The points belong to intervals whose bounds are about a factor sqrt 2
// apart, in the variable a·density + start: 2^GELUBits of its bits are an interval. From some
// number below the highest on the result is x, and the exponential need not become subnormal, which
// is slow on some CPUs.
var (
	geluPoints              = contract.GELUPoints()
	geluLowest, geluHighest = float(contract.GELULowest), float(contract.GELUHighest)
	geluHigh, geluLow       = float(contract.GELUHigh), float(contract.GELULow)
	geluRound, geluUnscale  = float(contract.GELURound), float(contract.GELUUnscale)
	geluDensity, geluStart  = float(contract.GELUDensity), float(contract.GELUStart)
)

// GELU returns x·Φ(x), Φ being the normal distribution function, as the contract defines
// it: within 2.77 ulp, of subnormal results too, with the sign of x, -0 for -Inf, +Inf for
// +Inf and NaN for NaN. It is max(x, 0) - |x|·Q(|x|), and the product is T·e^(-x²/2). T
// is at most 0.4, and the exponential takes care of the magnitude.
func GELU(x float32) float32 {
	_, c := limit(x, geluLowest, geluHighest)
	a := float32(math.Abs(float64(c)))
	// e^(-a²/2) = 2^(n+r). s+e is a².
	s := float32(a * a)
	e := FMA(a, a, -s)
	k := FMA(s, geluHigh, geluRound)
	r := FMA(s, geluHigh, geluRound-k)
	r = FMA(s, geluLow, r)
	r = FMA(e, geluHigh, r)
	p := math.Float32bits(horner(exp2Coefficients[:], r))
	exp := float32(math.Float32frombits(p+math.Float32bits(k)<<23) * geluUnscale)

	i := (math.Float32bits(FMA(a, geluDensity, geluStart)) - contract.GELUStart) >> contract.GELUBits & 7
	point := &geluPoints[i]
	t := horner(point.Coefficients[:], a-math.Float32frombits(point.C))

	rest := x
	if x < 0 {
		rest = 0
	}
	return FMA(-t, exp, rest)
}

// Sigmoid returns 1/(1+e^-x), from e = exp2(-|x|·log2 e), which cannot overflow: 1/(1+e), and
// e/(1+e) for negative x.
func Sigmoid(x float32) float32 {
	if x < 0 {
		e := Exp2(float32(x * Log2E))
		return e / (1 + e)
	}
	return 1 / (1 + Exp2(float32(-x*Log2E)))
}
