package scalar

import (
	"flag"
	"math"
	"sort"
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
			// A NaN's sign is not specified: some CPUs drop it.
			sign := math.Float32bits(got)>>31 == uint32(i>>15) || got != got
			if float64(got) != want && want == want || !sign || (got != got) != (want != want) {
				t.Errorf("%s %#04x is %v, want %v", f.name, i, got, want)
			}
		}
	}
}

// magnitudes are the values of 0, 1, 2, ..., ascending. Instead of infinity there
// is what would follow without a bound on the exponent.
func (f format) magnitudes() []float64 {
	list := make([]float64, f.inf()+1)
	for i := range list {
		list[i] = f.value(uint16(i))
	}
	list[f.inf()] = math.Ldexp(1, f.bias()+1)
	return list
}

// nearest rounds by the definition: of the two neighbours of |x| the nearer one,
// or the even one.
func (f format) nearest(magnitudes []float64, x float32) uint16 {
	if x != x {
		return f.nan
	}
	sign, y := uint16(0), math.Abs(float64(x))
	if math.Signbit(float64(x)) {
		sign = 1 << 15
	}
	hi := sort.SearchFloat64s(magnitudes, y)
	if hi == 0 || hi == len(magnitudes) {
		return sign | uint16(min(hi, int(f.inf())))
	}
	below, above := y-magnitudes[hi-1], magnitudes[hi]-y // exact
	if below < above || below == above && hi&1 == 1 {
		hi--
	}
	return sign | uint16(hi)
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
		magnitudes := f.magnitudes()
		check := func(x float32) {
			if got, want := f.narrow(x), f.nearest(magnitudes, x); got != want {
				t.Errorf("%v (%08x) is %s %#04x, want %#04x", x, math.Float32bits(x), f.name, got, want)
			}
		}
		for bits := uint64(0); bits < 1<<32; bits += step {
			check(math.Float32frombits(uint32(bits)))
		}
		for i, x := range magnitudes[1:] {
			tie := (magnitudes[i] + x) / 2
			for _, x := range []float32{float32(x), float32(tie)} {
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
