package scalar

import (
	"math"
	"testing"

	"github.com/attn-go/attn/contract"
)

// activations lists the functions with their exact values and the errors that their
// documentation names.
var activations = []struct {
	name   string
	f      func(x float32) float32
	exact  func(x float64) float64
	maxULP float64
}{
	{"SiLU", SiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 2.39},
	{"GELU", GELU, func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }, 2.77},
	{"GELUTanh", GELUTanh, func(x float64) float64 {
		return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}, 2.34},
}

// finiteBits lists the bits of the first and the last finite number of both signs.
var finiteBits = [][2]uint32{{1, infBits - 1}, {signBit + 1, signBit + infBits - 1}}

const signBit = 1 << 31

// The errors hold for all finite numbers, those with subnormal results too.
func TestActivationErrors(t *testing.T) {
	for _, a := range activations {
		for _, r := range finiteBits {
			ulp, where := worstOf(r[0], r[1], step(), a.f, a.exact)
			t.Logf("%s: largest error %.4f ulp, at %x", a.name, ulp, where)
			if ulp > a.maxULP {
				t.Errorf("%s: error %v ulp at %x", a.name, ulp, where)
			}
		}
		// where neither x nor 0 is nearest
		from, to := math.Float32bits(0x1p-12), math.Float32bits(128)
		for _, sign := range []uint32{0, signBit} {
			ulp, where := worstOf(sign+from, sign+to, max(step()/8, 1), a.f, a.exact)
			t.Logf("%s: largest error %.4f ulp, at %x", a.name, ulp, where)
			if ulp > a.maxULP {
				t.Errorf("%s: error %v ulp at %x", a.name, ulp, where)
			}
		}
	}
}

// A result has the sign of its argument and is at most as large. Beyond some numbers it is
// -0 or the argument.
func TestActivationShapes(t *testing.T) {
	for _, a := range activations {
		for b := uint64(0); b <= infBits; b += uint64(step()) {
			x := math.Float32frombits(uint32(b))
			y, z := a.f(x), a.f(-x)
			if math.Signbit(float64(y)) || !math.Signbit(float64(z)) || y > x || -z > x {
				t.Fatalf("%s(±%x) = %x, %x", a.name, x, y, z)
			}
			if x > 111 && (y != x || z != 0) {
				t.Fatalf("%s(±%x) = %x, %x", a.name, x, y, z)
			}
		}
	}
}

func TestActivationsSpecial(t *testing.T) {
	for _, a := range activations {
		for _, c := range []struct{ x, want float32 }{
			{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, negZero},
			{math.MaxFloat32, math.MaxFloat32}, {-math.MaxFloat32, negZero}, {-111, negZero},
			{0x1p-126, 0x1p-127}, {-0x1p-126, -0x1p-127}, {0x1p-60, 0x1p-61},
		} {
			if got := a.f(c.x); !same(got, c.want) {
				t.Errorf("%s(%x) = %x, want %x", a.name, c.x, got, c.want)
			}
		}
		for _, b := range []uint32{0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff, 0x7fc12345} {
			if y := a.f(math.Float32frombits(b)); y == y {
				t.Errorf("%s(NaN %08x) = %x", a.name, b, y)
			}
		}
	}
}

// The coefficients of GELU are what their comment says, and each point lies in the interval
// that it is for.
func TestGELUPoints(t *testing.T) {
	for k, p := range geluPoints {
		c := float64(math.Float32frombits(p.C))
		want := c / 2 * math.Erfc(c/math.Sqrt2) * math.Exp(c*c/2)
		if off := ulps(math.Float32frombits(p.Coefficients[0]), want); off > 0.02 {
			t.Errorf("point %d: T is off by %v ulp", k, off)
		}
		bits := math.Float32bits(FMA(math.Float32frombits(p.C), geluDensity, geluStart))
		if got := int(bits-contract.GELUStart) >> 22; got != k {
			t.Errorf("point %d belongs to %d", k, got)
		}
	}
	last := math.Float32bits(FMA(-geluLowest, geluDensity, geluStart))
	if last-contract.GELUStart >= 8<<22 || math.Float32bits(geluStart) != contract.GELUStart {
		t.Error("the intervals do not cover all numbers up to the limit")
	}
}

// The factors of SiLU and GELUTanh are as close as two floats can be.
func TestActivationFactors(t *testing.T) {
	for _, c := range []struct {
		name      string
		high, low float32
		want      float64
	}{
		{"-log2 e", negLog2EHigh, negLog2ELow, -math.Log2E},
		{"-log2 e/2", geluHigh, geluLow, -math.Log2E / 2},
		{"c0", tanhC0High, tanhC0Low, -2 * math.Sqrt(2/math.Pi) * math.Log2E},
		{"c1", tanhC1High, tanhC1Low, -2 * 0.044715 * math.Sqrt(2/math.Pi) * math.Log2E},
	} {
		if want := float32(c.want - float64(c.high)); math.Abs(float64(c.low-want)) > 1e-5*math.Abs(float64(want)) {
			t.Errorf("%s: low is %x, want %x", c.name, c.low, want)
		}
		if math.Abs(float64(c.high)/c.want-1) > 0x1p-18 {
			t.Errorf("%s: high is %x", c.name, c.high)
		}
	}
}
