package scalar

import (
	"flag"
	"math"
	"testing"
)

var all = flag.Bool("all", false, "try exp2, tanh, log2 and the activations on all floats (minutes)")

// maxULP is what the contract promises of exp2.
const maxULP = 0.80

// ulps returns the error of got in units of want's last place.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

func TestExp2Error(t *testing.T) {
	stride := step()
	var worst float64
	var where float32
	last := float32(1)        // results for falling x
	const domain = 0x42fc0000 // the bits of 126
	for b := uint32(0); b <= domain; b += stride {
		x := -math.Float32frombits(b)
		y := Exp2(x)
		if e := ulps(y, math.Exp2(float64(x))); !(e <= worst) {
			worst, where = e, x
		}
		if !(y <= last) && stride > 1 { // neighbours may be off by an ulp
			t.Fatalf("exp2(%x) = %x rises to %x", x, y, last)
		}
		last = y
	}
	if e, x := worstOf(0, math.Float32bits(128)-1, stride, Exp2, math.Exp2); !(e <= worst) {
		worst, where = e, x
	}
	t.Logf("largest error %.4f ulp, at %x", worst, where)
	if !(worst <= maxULP) {
		t.Errorf("error %v ulp at %x, want at most %v", worst, where, maxULP)
	}
}

func TestExp2Integers(t *testing.T) {
	for n := -126; n <= 127; n++ {
		x := float32(n)
		y := Exp2(x)
		if y != float32(math.Ldexp(1, n)) {
			t.Errorf("exp2(%d) = %x", n, y)
		}
		down, up := Exp2(math.Nextafter32(x, -200)), Exp2(math.Nextafter32(x, 200))
		if down > y || up < y {
			t.Errorf("around exp2(%d) = %x: %x below, %x above", n, y, down, up)
		}
	}
}

func TestExp2Special(t *testing.T) {
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {negZero, 1}, {-math.SmallestNonzeroFloat32, 1}, {-0x1p-30, 1},
		{-126, 0x1p-126}, {math.Nextafter32(-126, -127), 0}, {-127, 0}, {-1e9, 0}, {-math.MaxFloat32, 0}, {-inf, 0},
		{128, inf}, {1e9, inf}, {inf, inf},
	} {
		if got := Exp2(c.x); !same(got, c.want) {
			t.Errorf("exp2(%x) = %x, want %x", c.x, got, c.want)
		}
	}
	if y := Exp2(nan); y == y {
		t.Errorf("exp2(NaN) = %x", y)
	}
	for x := float32(127); x < 128; x = math.Nextafter32(x+0x1p-10, 200) {
		if e := ulps(Exp2(x), math.Exp2(float64(x))); !(e <= 1) {
			t.Fatalf("exp2(%x) is off by %v ulp", x, e)
		}
	}
}

// The polynomial is evaluated with fma in every step, whatever the fast path.
func TestExp2Definition(t *testing.T) {
	for b := uint32(0); b < 0x42fc0000; b += 99991 {
		x := -math.Float32frombits(b)
		n := float32(math.RoundToEven(float64(x)))
		var p float32
		for i := range exp2Coefficients {
			p = fmaEmulated(p, x-n, math.Float32frombits(exp2Coefficients[len(exp2Coefficients)-1-i]))
		}
		if got, want := Exp2(x), float32(math.Ldexp(float64(p), int(n))); !same(got, want) {
			t.Fatalf("exp2(%x) = %x, want %x", x, got, want)
		}
	}
}
