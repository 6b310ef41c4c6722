package fallback

import (
	"flag"
	"math"
	"testing"
)

var narrowAll = flag.Bool("narrowall", false, "narrow all float32 (minutes)")

// A format is a binary floating-point format of 16 bits, as IEEE-754 describes it.
type format struct {
	name     string
	fraction int // bits of it
	nan      uint16
	widen    func(uint16) float32
	narrow   func(float32) uint16
}

var formats = []format{
	{"binary16", 10, nanF16, F16, ToF16},
	{"bfloat16", 7, nanBF16, BF16, ToBF16},
}

func (f format) bias() int   { return 1<<(14-f.fraction) - 1 }
func (f format) inf() uint16 { return 1<<15 - 1<<f.fraction }

// value is the number that bits stand for.
func (f format) value(bits uint16) float64 {
	exp, frac := int(bits&0x7fff)>>f.fraction, float64(bits&(1<<f.fraction-1))
	sign := 1 - 2*float64(bits>>15)
	switch {
	case bits&0x7fff > f.inf():
		return math.NaN()
	case bits&0x7fff == f.inf():
		return math.Inf(int(sign))
	case exp == 0:
		return sign * math.Ldexp(frac, 1-f.bias()-f.fraction)
	}
	return sign * math.Ldexp(frac+math.Ldexp(1, f.fraction), exp-f.bias()-f.fraction)
}

// TestWidenAll compares all values of both formats with what they stand for.
func TestWidenAll(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << 16 {
			got, want := f.widen(uint16(i)), f.value(uint16(i))
			if float64(got) != want && want == want || math.Signbit(float64(got)) != (i>>15 == 1) || (got != got) != (want != want) {
				t.Errorf("%s %#04x is %v, want %v", f.name, i, got, want)
			}
		}
	}
}

// nearest rounds by the definition: of the two neighbours of |x| the nearer one,
// or the even one. The largest finite number's upper neighbour is what would
// follow without a bound on the exponent.
func (f format) nearest(x float32) uint16 {
	if x != x {
		return f.nan
	}
	sign, y := uint16(0), math.Abs(float64(x))
	if math.Signbit(float64(x)) {
		sign = 1 << 15
	}
	lo, hi := uint16(0), f.inf() // value(lo) ≤ y < value(hi), or y is infinite
	if math.IsInf(y, 1) {
		return sign | f.inf()
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; f.value(mid) <= y {
			lo = mid
		} else {
			hi = mid
		}
	}
	below := f.value(lo)
	above := f.value(hi)
	if hi == f.inf() {
		above = math.Ldexp(1, f.bias()+1)
	}
	switch { // the distances are exact
	case y-below < above-y, y-below == above-y && lo&1 == 0:
		return sign | lo
	}
	return sign | hi
}

// TestNarrow compares a sample of all float32, and all neighbours of ties and of
// numbers that need no rounding, with the definition; with -narrowall, all.
func TestNarrow(t *testing.T) {
	step := uint64(9973)
	switch {
	case *narrowAll:
		step = 1
	case testing.Short():
		step = 99991
	}
	for _, f := range formats {
		check := func(x float32) {
			if got, want := f.narrow(x), f.nearest(x); got != want {
				t.Errorf("%v (%08x) is %s %#04x, want %#04x", x, math.Float32bits(x), f.name, got, want)
			}
		}
		for bits := uint64(0); bits < 1<<32; bits += step {
			check(math.Float32frombits(uint32(bits)))
		}
		for i := range uint16(1<<15) + 1 {
			if i > f.inf() {
				break
			}
			tie := (f.value(i) + f.value(i+1)) / 2
			if i >= f.inf()-1 {
				tie = math.Ldexp(2-math.Ldexp(0.5, -f.fraction), f.bias())
			}
			for _, x := range []float32{float32(f.value(i)), float32(tie)} {
				for _, y := range []float32{x, math.Nextafter32(x, 0), math.Nextafter32(x, float32(math.Inf(1)))} {
					check(y)
					check(-y)
				}
			}
		}
	}
}

// TestNarrowWidened: what was widened narrows to what it was.
func TestNarrowWidened(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << 16 {
			want := uint16(i)
			if want&0x7fff > f.inf() {
				want = f.nan
			}
			if got := f.narrow(f.widen(uint16(i))); got != want {
				t.Errorf("%s %#04x widened and narrowed is %#04x, want %#04x", f.name, i, got, want)
			}
		}
	}
}

// TestWidenInt8All scales all integers by numbers that overflow, underflow and
// round.
func TestWidenInt8All(t *testing.T) {
	src := make([]int8, 256)
	for i := range src {
		src[i] = int8(i - 128)
	}
	dst := make([]float32, len(src))
	for _, scale := range []float32{0, 1, -1, 1.0 / 3, 0x1.fffffep-126, 0x1p-149, 0x1.8p-147, 0x1.fffffep127, float32(math.Inf(1)), float32(math.NaN())} {
		WidenInt8(dst, 0, src, 0, []float32{scale}, 0, 256, 1, 256)
		for i, got := range dst {
			want := float32(float64(src[i]) * float64(scale)) // exact before it is rounded
			if got != want && want == want || (got != got) != (want != want) {
				t.Errorf("%d·%v is %v, want %v", src[i], scale, got, want)
			}
		}
	}
}
