package fallback

import "math"

// tanhPoints are the points c that Tanh expands around, with t = tanh(c) and v = 1-t²,
// all as float32 bits. Each c was chosen so that its tanh is a float32 to within 0.001
// ulp.
var tanhPoints = [8]struct{ c, t, v uint32 }{
	{0x00000000, 0x00000000, 0x3f800000},
	{0x3f9960b9, 0x3f5547a4, 0x3e9c9f6a},
	{0x401973b4, 0x3f7bcd32, 0x3d053fb8},
	{0x40669340, 0x3f7f9ec0, 0x3b425b0e},
	{0x4099a70b, 0x3f7ff727, 0x398d8d8e},
	{0x40c05395, 0x3f7fff36, 0x37c9ffb0},
	{0x40e7034e, 0x3f7fffee, 0x360ffffb},
	{0x410aa123, 0x3f7fffff, 0x34000000},
}

// tanhCoefficients are the coefficients of the polynomial in r² that approximates
// r/tanh(r) near 0, as float32 bits, the constant term first.
var tanhCoefficients = [4]uint32{0x3f800000, 0x3eaaaa79, 0xbcb5d1e4, 0x3b01b40b}

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
	t, v := math.Float32frombits(p.t), math.Float32frombits(p.v)
	r := a - math.Float32frombits(p.c) // exact
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

// TanhSlice computes dst = tanh(src) for len(dst) elements.
func TanhSlice(dst, src []float32) {
	for i, x := range window(src, 0, len(dst)) {
		dst[i] = Tanh(x)
	}
}
