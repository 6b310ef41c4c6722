package fallback

import "math"

// The activations of feed-forward layers over slices. dst may be any of the others.

// SiLUSlice computes dst = SiLU(src) for len(dst) elements.
func SiLUSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = SiLU(x)
	}
}

// GELUSlice computes dst = GELU(src) for len(dst) elements.
func GELUSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = GELU(x)
	}
}

// GELUTanhSlice computes dst = GELUTanh(src) for len(dst) elements.
func GELUTanhSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = GELUTanh(x)
	}
}

// The gated forms round twice: the activation, and its product with up.

// SwiGLU computes dst = SiLU(gate)·up for len(dst) elements.
func SwiGLU(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(SiLU(x) * up[i])
	}
}

// GeGLU computes dst = GELU(gate)·up for len(dst) elements.
func GeGLU(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(GELU(x) * up[i])
	}
}

// GeGLUTanh computes dst = GELUTanh(gate)·up for len(dst) elements.
func GeGLUTanh(dst, gate, up []float32) {
	up = window(up, 0, len(dst))
	for i, x := range window(gate, 0, len(dst)) {
		dst[i] = float32(GELUTanh(x) * up[i])
	}
}

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

// geluPoints are the points c that GELU expands around, with the coefficients of the
// polynomials in a-c that approximate T(a) = a·Q(a)·e^(a²/2), the constant term first, all
// as float32 bits. Q is the probability that a normal variable is above a. Each c was chosen
// so that T(c) is a float32 to within 0.02 ulp.
var geluPoints = [8]struct {
	c            uint32
	coefficients [7]uint32
}{
	{0x00000000, [7]uint32{0x00000000, 0x3f000000, 0xbecc41ed, 0x3e7fef6c, 0xbe0769be, 0x3d70308e, 0xbc8b8d3a}},
	{0x3f2e4a17, [7]uint32{0x3e59fb84, 0x3e3e7545, 0xbdfb66ec, 0x3d856371, 0xbcf448f1, 0x3c4bdd1d, 0xbb9aedf1}},
	{0x3fae61e6, [7]uint32{0x3e98b188, 0x3da751b2, 0xbd389250, 0x3ca6f38e, 0xbc043e5c, 0x3b432920, 0xba82f329}},
	{0x401484a2, [7]uint32{0x3eb231d3, 0x3d027030, 0xbc64a81c, 0x3ba7e8da, 0xbadbba97, 0x3a09540c, 0xb918d8cd}},
	{0x406c3827, [7]uint32{0x3ebfbdf4, 0x3c3812ec, 0xbb735030, 0x3a897551, 0xb98ca690, 0x388d92da, 0xb7820b21}},
	{0x40b30e31, [7]uint32{0x3ec64702, 0x3b7bf105, 0xba72e082, 0x394b38b6, 0xb81c4d54, 0x36f18d91, 0xb5a6aed1}},
	{0x41050e21, [7]uint32{0x3ec96cad, 0x3aa79641, 0xb965655d, 0x3809a63d, 0xb699481a, 0x352e2774, 0xb3b1ca7f}},
	{0x41433670, [7]uint32{0x3ecae9be, 0x39dd7cbd, 0xb8545248, 0x36b37e2f, 0xb50d64d1, 0x33658a63, 0xb1ac238b}},
}

// The points belong to intervals whose bounds are about a factor sqrt 2 apart, in the
// variable a·geluDensity + geluStart: 2^22 of its bits are an interval.
const (
	geluDensity   = 0x1.4139d4p0
	geluStart     = 0x1.3504f2p0
	geluStartBits = 0x3f9a8279
)

// Below the lowest number the result is -0. From some number below the highest on it is x,
// and the exponential need not become subnormal, which is slow on some CPUs.
const geluLowest, geluHighest = -0x1.ccccccp3, 6

// The two floats of -log2 e/2, and a power of 2 that keeps e^(-a²/2) a normal number.
const (
	geluHigh    = -0x1.715476p-1
	geluLow     = -0x1.4ae0cp-27
	geluBias    = 32
	geluUnscale = 0x1p-32
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
	k := FMA(s, geluHigh, roundMagic+geluBias)
	r := FMA(s, geluHigh, roundMagic+geluBias-k)
	r = FMA(s, geluLow, r)
	r = FMA(e, geluHigh, r)
	p := math.Float32bits(horner(Exp2Coefficients[:], r))
	exp := float32(math.Float32frombits(p+math.Float32bits(k)<<23) * geluUnscale)

	i := (math.Float32bits(FMA(a, geluDensity, geluStart)) - geluStartBits) >> 22 & 7
	point := &geluPoints[i]
	t := horner(point.coefficients[:], a-math.Float32frombits(point.c))

	rest := x
	if x < 0 {
		rest = 0
	}
	return FMA(-t, exp, rest)
}
