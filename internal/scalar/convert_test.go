package scalar

import (
	"flag"
	"math"
	"sort"
	"testing"
)

var narrowAll = flag.Bool("narrowall", false, "narrow all float32 (minutes)")

// A format is a binary floating-point format of 8 or 16 bits, as IEEE-754 or the OCP's
// specification of formats of 8 bits describes it.
type format struct {
	name           string
	bits, fraction int // of a number, and of its fraction
	finite         int // the bits of the largest number
	inf, nan       int // what narrowing makes of infinity, and of NaN
	widen          func(int) float32
	narrow         func(float32) int
}

var formats = []format{
	{"binary16", 16, 10, 0x7bff, 0x7c00, nanF16, func(b int) float32 { return F16(uint16(b)) }, func(x float32) int { return int(ToF16(x)) }},
	{"bfloat16", 16, 7, 0x7f7f, 0x7f80, nanBF16, func(b int) float32 { return BF16(uint16(b)) }, func(x float32) int { return int(ToBF16(x)) }},
	{"E4M3", 8, 3, 0x7e, 0x7e, 0x7f, func(b int) float32 { return F8E4M3(uint8(b)) }, func(x float32) int { return int(ToF8E4M3(x)) }},
	{"E5M2", 8, 2, 0x7b, 0x7b, 0x7e, func(b int) float32 { return F8E5M2(uint8(b)) }, func(x float32) int { return int(ToF8E5M2(x)) }},
}

func (f format) bias() int { return 1<<(f.bits-2-f.fraction) - 1 }

// magnitude is the number that bits without a sign stand for. Bits that stand for infinity or NaN
// have what would follow without a bound on the exponent.
func (f format) magnitude(bits int) float64 {
	exp, frac := bits>>f.fraction, float64(bits&(1<<f.fraction-1))
	if exp == 0 {
		return math.Ldexp(frac, 1-f.bias()-f.fraction)
	}
	return math.Ldexp(frac+math.Ldexp(1, f.fraction), exp-f.bias()-f.fraction)
}

// value is the number that bits stand for.
func (f format) value(bits int) float64 {
	signBit := 1 << (f.bits - 1)
	sign, rest := 1.0, bits&^signBit
	if bits&signBit != 0 {
		sign = -1
	}
	switch {
	case rest <= f.finite:
		return sign * f.magnitude(rest)
	case rest == f.finite+1 && f.name != "E4M3":
		return math.Inf(int(sign))
	}
	return math.NaN()
}

// TestFormats: the tables of the specifications, in numbers.
func TestFormats(t *testing.T) {
	for i, want := range [][3]float64{{65504, 0x1p-14, 0x1p-24}, {0x1.fep127, 0x1p-126, 0x1p-133}, {448, 0x1p-6, 0x1p-9}, {57344, 0x1p-14, 0x1p-16}} {
		f := formats[i]
		if got := [3]float64{f.value(f.finite), f.value(1 << f.fraction), f.value(1)}; got != want {
			t.Errorf("%s: the largest, the smallest normal and the smallest number are %v, want %v", f.name, got, want)
		}
	}
}

// TestWidenAll compares all values of the formats with what they stand for.
func TestWidenAll(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << f.bits {
			got, want := f.widen(i), f.value(i)
			// A NaN's sign is not specified: some CPUs drop it.
			sign := math.Float32bits(got)>>31 == uint32(i>>(f.bits-1)) || got != got
			if float64(got) != want && want == want || !sign || (got != got) != (want != want) {
				t.Errorf("%s %#04x is %v, want %v", f.name, i, got, want)
			}
		}
	}
}

// magnitudes are the numbers 0, 1, 2, ..., ascending, and then what would follow the largest.
func (f format) magnitudes() []float64 {
	list := make([]float64, f.finite+2)
	for i := range list {
		list[i] = f.magnitude(i)
	}
	return list
}

// nearest rounds by the definition: of the two neighbours of |x| the nearer one,
// or the even one. What is rounded beyond the largest number becomes infinite, or that number.
func (f format) nearest(magnitudes []float64, x float32) int {
	if x != x {
		return f.nan
	}
	sign, y := 0, math.Abs(float64(x))
	if math.Signbit(float64(x)) {
		sign = 1 << (f.bits - 1)
	}
	hi := sort.SearchFloat64s(magnitudes, y)
	if hi == 0 {
		return sign
	}
	if hi < len(magnitudes) {
		below, above := y-magnitudes[hi-1], magnitudes[hi]-y // exact
		if below < above || below == above && hi&1 == 1 {
			hi--
		}
	}
	if hi > f.finite {
		return sign | f.inf
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

// TestNarrowWidened: what was widened narrows to what it was, unless the format saturates.
func TestNarrowWidened(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << f.bits {
			want, sign := i, i&(1<<(f.bits-1))
			if x := f.widen(i); x != x {
				want = f.nan
			} else if x-x != 0 {
				want = sign | f.inf
			}
			if got := f.narrow(f.widen(i)); got != want {
				t.Errorf("%s %#04x widened and narrowed is %#04x, want %#04x", f.name, i, got, want)
			}
		}
	}
}
