package scalar

import (
	"math"

	"github.com/attn-go/attn/contract"
)

var (
	exp2Coefficients = contract.Exp2()
	log2Coefficients = contract.Log2()
	tanhCoefficients = contract.Tanh()
	tanhPoints       = contract.TanhPoints()
)

// roundMagic is 1.5·2^23. Added to a float32 of magnitude below 2^22 it leaves no bits
// for a fraction: the sum is rounded to an integer, ties to even, and its low bits are
// that integer.
const roundMagic = 0x1.8p23

// Exp2 returns 2^x as the contract defines it: exactly 0 below -126, from there on within
// 0.80 ulp, +Inf from 128 on, NaN for NaN.
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
	p := math.Float32frombits(exp2Coefficients[6])
	for i := 5; i >= 0; i-- {
		c := math.Float32frombits(exp2Coefficients[i])
		s := MulAdd(p, r, c)
		if Rare(s) {
			s = Wide(FMA(p, r, c))
		}
		p = float32(s)
	}
	// p lies within [2^-1/2, 2^1/2], below 1 for the largest n, and the result is a normal
	// number. So n can be added to the exponent. The shift keeps only the low bits of n in
	// t.
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
}

// leastWeight is -100.
var leastWeight = math.Float32frombits(contract.LeastWeight)

// Weight returns the weight of a key whose score is x ≤ 0 from the maximum: Exp2(x), and exactly 0
// below -100. So are the factors that merge blocks.
func Weight(x float32) float32 {
	if x < leastWeight {
		return 0
	}
	return Exp2(x)
}

var leastWeightBF16, roundBF16Magic = math.Float32frombits(contract.LeastWeightBF16), float32(3 << 15)

// WeightBF16 is RoundBF16(Weight(x)) for x ≤ 0. A NaN stays one.
//
// With e the power of two in p, p + 1.5·2^16·e has the last place of a bfloat16 in p, and so the
// sum rounds as that does.
func WeightBF16(x float32) float32 {
	if x < leastWeightBF16 {
		return 0
	}
	p := Exp2(x)
	e := math.Float32frombits(math.Float32bits(p) & 0xff800000)
	return FMA(-e, roundBF16Magic, FMA(e, roundBF16Magic, p))
}

// Log2Units returns x·log2 e, rounded once: a score in the unit of Exp2.
func Log2Units(x float32) float32 { return float32(float64(x) * math.Log2E) }

// LSE returns the logarithm of the sum of exponentials, in natural units, of a row whose maximum,
// in the unit of Exp2, and sum of weights are given: -Inf for a sum of 0, NaN for NaN.
func LSE(max, sum float32) float32 {
	switch {
	case sum == 0:
		return NegInf
	case sum != sum:
		return math.Float32frombits(contract.Canonical)
	}
	return float32((max+Log2(sum))*math.Float32frombits(contract.Ln2)) + 0
}

// twoThirds are the bits of the smallest float32 above 2/3.
const twoThirds = 0x3f2aaaab

// Log2 returns log2(x) as the contract defines it: within 1.66 ulp, around 1 too, -Inf
// for 0, +Inf for +Inf, NaN for NaN and for numbers below 0.
func Log2(x float32) float32 {
	switch {
	case x == 0:
		return NegInf
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

const (
	tanhLimit   = 0x1.206p3 // from here on tanh is 1 to all 24 bits
	tanhDensity = 0x1.aap-1 // points per unit of x
)

// Tanh returns tanh(x) as the contract defines it: within 1.85 ulp, odd, and ±1 from
// ±9.01 on. It uses tanh(c+r) = t + v·r / (r/tanh(r) + t·r). Near 0, where t is 0, that
// is accurate, and further out the first term is most of the result.
func Tanh(x float32) float32 {
	a := float32(math.Abs(float64(x)))
	if a > tanhLimit {
		a = tanhLimit
	}
	p := &tanhPoints[math.Float32bits(FMA(a, tanhDensity, roundMagic))&7]
	t, v := math.Float32frombits(p.T), math.Float32frombits(p.V)
	r := a - math.Float32frombits(p.C) // exact
	h := horner(tanhCoefficients[:], float32(r*r))
	y := t + float32(v*r)/FMA(t, r, h)
	return float32(math.Copysign(float64(y), float64(x)))
}

// horner returns c[0] + x·(c[1] + x·(c[2] + ...)), with one fma per step.
func horner(c []uint32, x float32) float32 {
	last := len(c) - 1
	p := math.Float32frombits(c[last])
	for i := last - 1; i >= 0; i-- {
		p = FMA(p, x, math.Float32frombits(c[i]))
	}
	return p
}
