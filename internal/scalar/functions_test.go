package scalar

import (
	"math"
	"testing"
)

// worstOf tries f on the floats from the one with the bits from to the one with the
// bits to, of every stride one, and returns the largest error in ulps.
func worstOf(from, to, stride uint32, f func(x float32) float32, want func(x float64) float64) (ulp float64, where float32) {
	for b := uint64(from); b <= uint64(to); b += uint64(stride) {
		x := math.Float32frombits(uint32(b))
		if e := ulps(f(x), want(float64(x))); !(e <= ulp) {
			ulp, where = e, x
		}
	}
	return ulp, where
}

// step is the distance of the floats that tests of all floats try.
func step() uint32 {
	switch {
	case *all:
		return 1
	case testing.Short():
		return 49999
	}
	return 997
}

func TestTanhError(t *testing.T) {
	ulp, where := worstOf(1, infBits-1, step(), Tanh, math.Tanh)
	t.Logf("largest error %.4f ulp, at %x", ulp, where)
	if ulp > 1.85 {
		t.Errorf("error %v ulp at %x", ulp, where)
	}
}

// Tanh is odd, never beyond 1, x itself near 0, and 1 where that is nearest. From one
// float to the next it may fall, as all functions with such errors may, by 2 ulp.
func TestTanhShape(t *testing.T) {
	for b := uint64(0); b <= infBits; b += uint64(step()) {
		x := math.Float32frombits(uint32(b))
		y := Tanh(x)
		if !same(Tanh(-x), -y) {
			t.Fatalf("tanh(%x) = %x, tanh(%x) = %x", x, y, -x, Tanh(-x))
		}
		if y > 1 || x > 9.011 && y != 1 || x < 0x1p-13 && y != x {
			t.Fatalf("tanh(%x) = %x", x, y)
		}
		if next := Tanh(math.Nextafter32(x, inf)); math.Float32bits(next)+2 < math.Float32bits(y) {
			t.Fatalf("tanh(%x) = %x, and %x for the next float", x, y, next)
		}
	}
}

func TestTanhSpecial(t *testing.T) {
	tiny := float32(math.SmallestNonzeroFloat32)
	for _, c := range []struct{ x, want float32 }{
		{0, 0}, {negZero, negZero}, {tiny, tiny}, {-0x1.fffffcp-127, -0x1.fffffcp-127}, {0x1p-126, 0x1p-126},
		{9.01, 1 - 0x1p-24}, {tanhLimit, 1}, {10, 1}, {-math.MaxFloat32, -1}, {inf, 1}, {-inf, -1},
	} {
		if got := Tanh(c.x); !same(got, c.want) {
			t.Errorf("tanh(%x) = %x, want %x", c.x, got, c.want)
		}
	}
	for _, b := range []uint32{0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff} {
		if y := Tanh(math.Float32frombits(b)); y == y {
			t.Errorf("tanh(NaN %08x) = %x", b, y)
		}
	}
}

// The table is what its comment says.
func TestTanhPoints(t *testing.T) {
	for k, p := range tanhPoints {
		c, tanh, v := math.Float32frombits(p.C), float64(math.Float32frombits(p.T)), math.Float32frombits(p.V)
		if off := math.Abs(math.Tanh(float64(c))-tanh) * (1 << 24); off > 0.001 {
			t.Errorf("point %d: t is off by %v ulp", k, off)
		}
		if want := float32(1 - tanh*tanh); v != want {
			t.Errorf("point %d: v is %x, want %x", k, v, want)
		}
		if got := int(FMA(c, tanhDensity, roundMagic) - roundMagic); got != k {
			t.Errorf("point %d belongs to %d", k, got)
		}
	}
}

func TestLog2Error(t *testing.T) {
	log2 := func(x float64) float64 {
		if x > 0.5 && x < 2 {
			return math.Log1p(x-1) / math.Ln2
		}
		return math.Log2(x)
	}
	one := math.Float32bits(1)
	for _, r := range [][2]uint32{{1, one - 1}, {one + 1, infBits - 1}, {one - 1<<16, one - 1}, {one + 1, one + 1<<16}} {
		ulp, where := worstOf(r[0], r[1], step(), Log2, log2)
		t.Logf("largest error %.4f ulp, at %x", ulp, where)
		if ulp > 1.66 {
			t.Errorf("error %v ulp at %x", ulp, where)
		}
	}
}

func TestLog2Special(t *testing.T) {
	for n := -149; n <= 127; n++ {
		if got := Log2(float32(math.Ldexp(1, n))); got != float32(n) {
			t.Errorf("log2(2^%d) = %x", n, got)
		}
	}
	for _, c := range []struct{ x, want float32 }{{0, -inf}, {negZero, -inf}, {1, 0}, {inf, inf}} {
		if got := Log2(c.x); !same(got, c.want) {
			t.Errorf("log2(%x) = %x, want %x", c.x, got, c.want)
		}
	}
	for _, x := range []float32{nan, -1, -math.SmallestNonzeroFloat32, -inf} {
		if y := Log2(x); y == y {
			t.Errorf("log2(%x) = %x", x, y)
		}
	}
}
