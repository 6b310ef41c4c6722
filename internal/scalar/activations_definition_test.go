package scalar

import (
	"math"
	"testing"
)

// The functions as the contract's text has them, with every fma emulated and powers of 2
// that need not be float32.

func hexFloat(b uint32) float32 { return math.Float32frombits(b) }

// nearest returns x·y, not rounded, rounded to an integer.
func nearest(x, y float32) float32 { return float32(math.RoundToEven(float64(x) * float64(y))) }

func polynomial(c []uint32, r float32) float32 {
	p := hexFloat(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = fmaEmulated(p, r, hexFloat(c[i]))
	}
	return p
}

func scaled(p float32, n int) float32 { return float32(math.Ldexp(float64(p), n)) }

func definedQuotient(z, r, n float32) float32 {
	h := int(math.Floor(float64(n) / 2))
	sum := scaled(1, -h) + scaled(polynomial(exp2Coefficients[:], r), int(n)-h)
	return mul(z/sum, scaled(1, -h))
}

func definedSiLU(x float32) float32 {
	z := max(x, hexFloat(0xc2dc0000))
	c := min(z, hexFloat(0x41f00000))
	n := nearest(c, hexFloat(0xbfb8aa3b))
	r := fmaEmulated(c, hexFloat(0xb2a57060), fmaEmulated(c, hexFloat(0xbfb8aa3b), -n))
	return definedQuotient(z, r, n)
}

func definedGELUTanh(x float32) float32 {
	z := max(x, hexFloat(0xc12e6666))
	c := min(z, hexFloat(0x40c00000))
	s := mul(c, c)
	e := fmaEmulated(c, c, -s)
	u := fmaEmulated(s, hexFloat(0xbdd2d3e8), hexFloat(0xc0135760))
	v := fmaEmulated(s, hexFloat(0xbdd2d3e8), hexFloat(0xc0135760)-u)
	v = fmaEmulated(e, hexFloat(0xbdd2d3e8), fmaEmulated(s, hexFloat(0x310a8d56), v)) + hexFloat(0xb486f39d)
	n := nearest(c, u)
	return definedQuotient(z, fmaEmulated(c, v, fmaEmulated(c, u, -n)), n)
}

func definedGELU(x float32) float32 {
	a := float32(math.Abs(float64(min(max(x, hexFloat(0xc1666666)), hexFloat(0x40c00000)))))
	s := mul(a, a)
	e := fmaEmulated(a, a, -s)
	n := nearest(s, hexFloat(0xbf38aa3b))
	r := fmaEmulated(s, hexFloat(0xb2257060), fmaEmulated(s, hexFloat(0xbf38aa3b), -n))
	r = fmaEmulated(e, hexFloat(0xbf38aa3b), r)
	p := scaled(polynomial(exp2Coefficients[:], r), int(n))
	point := geluPoints[(math.Float32bits(fmaEmulated(a, hexFloat(0x3fa09cea), hexFloat(0x3f9a8279)))-0x3f9a8279)/(1<<22)]
	t := polynomial(point.Coefficients[:], a-hexFloat(point.C))
	m := x
	if x < 0 {
		m = 0
	}
	return fmaEmulated(-t, p, m)
}

func TestActivationDefinitions(t *testing.T) {
	for i, defined := range []func(x float32) float32{definedSiLU, definedGELU, definedGELUTanh} {
		a := &activations[i]
		for b := uint64(0); b <= math.MaxUint32; b += uint64(4*step()) | 1 {
			x := math.Float32frombits(uint32(b))
			if x != x {
				continue
			}
			if got, want := a.f(x), defined(x); !same(got, want) {
				t.Fatalf("%s(%x) = %x, want %x", a.name, x, got, want)
			}
		}
	}
}
