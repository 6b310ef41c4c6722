package kernel

import (
	"bytes"
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/fallback"
)

// microKernels names the micro-kernels and lists the calls that test them on
// panels of w lanes.
var microKernels = []struct {
	name  string
	cases func(w int) []microCase
}{
	{"tile", tileCases(tileProduct, tileContinued)},
	{"tileMax", tileCases(tileTop)},
	{"tileFold", tileCases(tileFolded)},
	{"additive", additiveCases},
	{"softcap", softcapCases},
	{"mask", maskCases},
	{"exp2", functionCases(exp2Of)},
	{"tanh", functionCases(tanhOf)},
	{"alibi", alibiCases},
	{"bias", biasCases},
	{"hide", hideCases},
	{"softmax", softmaxCases},
	{"dropout", dropoutCases},
	{"fold", foldCases},
	{"pack", packCases},
	{"unpack", unpackCases},
	{"fewScores", fewScoresCases},
	{"fewValues", fewValuesCases},
	{"fewScoresF16", narrowScoresCases(Float16)},
	{"fewScoresBF16", narrowScoresCases(BFloat16)},
	{"fewScoresInt8", narrowScoresCases(Int8)},
	{"fewValuesF16", narrowValuesCases(Float16)},
	{"fewValuesBF16", narrowValuesCases(BFloat16)},
	{"fewValuesInt8", narrowValuesCases(Int8)},
	{"fewSoftmax", fewSoftmaxCases},
	{"fewFold", fewFoldCases},
	{"fewUnpack", fewUnpackCases},
	{"widenF16", widenCases(widenF16Of)},
	{"widenBF16", widenCases(widenBF16Of)},
	{"widenInt8", widenInt8Cases},
	{"narrowF16", narrowCases(narrowF16Of)},
	{"narrowBF16", narrowCases(narrowBF16Of)},
	{"strip", stripCases(float32Strip)},
	{"stripF16", stripCases(f16Strip)},
	{"stripBF16", stripCases(bf16Strip)},
	{"settle", settleCases},
}

// A microCase describes one call of a micro-kernel.
type microCase interface {
	String() string

	// call makes the arguments for a panel of w lanes, all slices in a and all
	// values from r, and returns the call.
	call(a *arena, r *rng, w int) func(p *panelKernels)
}

// TestMicro compares every micro-kernel of every tier and width with package
// fallback, bit for bit. Slices start anywhere, between and around them lie
// canaries.
func TestMicro(t *testing.T) {
	for _, k := range microKernels {
		t.Run("kernel="+k.name, func(t *testing.T) {
			eachPanel(t, func(t *testing.T, p *panelKernels) {
				if p.without(k.name) {
					return // as TestMain says
				}
				if err := checkMicro(p, k.cases(p.lanes), newArena(inside)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// eachPanel runs a test on every panel width of every tier that runs here.
func eachPanel(t *testing.T, test func(t *testing.T, p *panelKernels)) {
	eachTier(t, func(t *testing.T, tier *tier) {
		for i := range tier.panels {
			p := &tier.panels[i]
			t.Run(fmt.Sprintf("lanes=%d", p.lanes), func(t *testing.T) { test(t, p) })
		}
	})
}

// reference returns the kernels of package fallback for panels of w lanes. The
// tiles are the ones that are written straight from the definition.
func reference(w int) *panelKernels {
	return &panelKernels{
		lanes: w,
		tile: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			fallback.TileW(w, c, ldc, a, rs, cs, b, ldb, m, k, load)
		},
		tileMax: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, max []float32) {
			fallback.TileMaxW(w, c, ldc, a, rs, cs, b, ldb, m, k, max)
		},
		tileFold: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
			fallback.TileFoldW(w, c, ldc, a, rs, cs, b, ldb, m, k, alpha, beta)
		},
		softcap: fallback.Softcap,
		mask:    fallback.Mask,
		alibi:   fallback.Alibi,
		bias:    fallback.Bias,
		hide:    fallback.Hide,
		softmax: fallback.Softmax,
		dropout: fallback.Dropout,
		fold:    fallback.Fold,
		pack:    fallback.Pack,
		unpack:  fallback.Unpack,

		converters:   genericTier().panels[0].converters,
		fewKernels:   referenceFew(w),
		stripKernels: referenceStrips,
		functions:    functions{exp2: fallback.Exp2Slice, tanh: fallback.TanhSlice, additive: fallback.Additive},
	}
}

// checkMicro makes every call with the reference and with p, with p on slices in
// each of mems, and returns the first difference: in what an argument holds
// afterwards, input or output, or in the canaries around it. An access to a
// guard page or any other panic is an error too.
func checkMicro(p *panelKernels, cases []microCase, mems ...*arena) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	ref, want := reference(p.lanes), newArena(inside)
	for i, c := range cases {
		if thin() && !sampled(i) {
			continue
		}
		want.make(c, i, p.lanes)(ref)
		for _, got := range mems {
			err := panicked(got.make(c, i, p.lanes), p)
			if err == nil {
				err = got.diff(want)
			}
			if err != nil {
				return fmt.Errorf("case %d, %v, slices %v: %w", i, c, got.place, err)
			}
		}
	}
	return nil
}

// make empties the arena and makes call number i in it.
func (a *arena) make(c microCase, i, w int) func(p *panelKernels) {
	a.slots, a.turn = a.slots[:0], i
	r := rng(i)
	return c.call(a, &r, w)
}

// thin tells to test a part of the cases only.
func thin() bool { return testing.Short() || raceEnabled }

// sampled tells whether case i is in that part: one in eight, without a pattern.
func sampled(i int) bool {
	r := rng(^i)
	return r.intn(8) == 0
}

// panicked makes a call and returns what it panicked with.
func panicked(call func(p *panelKernels), p *panelKernels) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
			if f, ok := x.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("access outside the slices, at %#x: %v", f.Addr(), x)
			}
		}
	}()
	call(p)
	return nil
}

// A placement says where in its region of memory a slice lies.
type placement int

const (
	inside  placement = iota // at an odd place, with canaries on both sides
	atStart                  // right at the start
	atEnd                    // up to the end
)

func (p placement) String() string {
	return [...]string{"inside", "at the start of a region", "at the end of a region"}[p]
}

// An arena holds the slices of one call, each in a region of its own.
type arena struct {
	place   placement
	regions [][]byte
	slots   []slot
	turn    int // number of the call, which its alignment depends on
}

// A slot is a slice in an arena.
type slot struct {
	name          string
	ld            int       // distance of its rows, if it has some
	data          []byte    // what it holds,
	floats        []float32 // also as floats, if it does
	before, after []byte    // canaries
}

const (
	regionSize  = 96 << 10 // the largest slice, 256 rows of 64+5 floats, and margins
	regionCount = 6        // the most slices that a kernel has
	marginSize  = 256
	marginByte  = 0x5a // a large finite number as a float
)

// margin is what lies around a slice.
var margin = bytes.Repeat([]byte{marginByte}, marginSize)

// newArena returns an arena of ordinary memory.
func newArena(p placement) *arena {
	a := &arena{place: p}
	for range regionCount {
		a.regions = append(a.regions, make([]byte, regionSize))
	}
	return a
}

// take returns size bytes, a number of elements of elem bytes each.
func (a *arena) take(name string, size, elem int) *slot {
	n := len(a.slots)
	region, at := a.regions[n], 0
	switch a.place {
	case inside:
		at = marginSize + elem*((5*a.turn+3*n)%17)
	case atEnd:
		at = len(region) - size
	}
	end := at + size
	s := slot{
		name:   name,
		data:   region[at:end:end],
		before: region[max(0, at-marginSize):at],
		after:  region[end:min(len(region), end+marginSize)],
	}
	copy(s.before, margin)
	copy(s.after, margin)
	a.slots = append(a.slots, s)
	return &a.slots[n]
}

// matrix returns w columns in rows at a distance of ld, up to the last element,
// all of it gap.
func (a *arena) matrix(name string, rows, w, ld int, gap float32) []float32 {
	n := 0
	if rows > 0 && w > 0 {
		n = (rows-1)*ld + w
	}
	s := a.take(name, 4*n, 4)
	s.floats, s.ld = typed[float32](s.data), ld
	for i := range s.floats {
		s.floats[i] = gap
	}
	return s.floats
}

// vector returns n elements of gap.
func (a *arena) vector(name string, n int, gap float32) []float32 {
	return a.matrix(name, min(n, 1), n, n, gap)
}

// int32s returns n integers.
func (a *arena) int32s(name string, n int) []int32 {
	return typed[int32](a.take(name, 4*n, 4).data)
}

// uint32s returns n integers without a sign.
func (a *arena) uint32s(name string, n int) []uint32 {
	return typed[uint32](a.take(name, 4*n, 4).data)
}

// ints returns n integers.
func (a *arena) ints(name string, n int) []int {
	const size = int(unsafe.Sizeof(int(0)))
	return typed[int](a.take(name, size*n, size).data)
}

// typed returns the elements that lie in data, nil if there are none.
func typed[T any](data []byte) []T {
	if len(data) == 0 {
		return nil
	}
	var x T
	n := len(data) / int(unsafe.Sizeof(x))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// diff returns how the slices differ from those of want, which another call
// made in the same order, or that a canary beside them is gone.
func (a *arena) diff(want *arena) error {
	for i := range a.slots {
		s := &a.slots[i]
		if err := s.diff(&want.slots[i]); err != nil {
			return fmt.Errorf("%s%w", s.name, err)
		}
		if !bytes.Equal(s.before, margin[:len(s.before)]) {
			return fmt.Errorf("%s: the memory before it was written to", s.name)
		}
		if !bytes.Equal(s.after, margin[:len(s.after)]) {
			return fmt.Errorf("%s: the memory after it was written to", s.name)
		}
	}
	return nil
}

func (s *slot) diff(want *slot) error {
	if bytes.Equal(s.data, want.data) {
		return nil
	}
	for i, x := range s.floats {
		if y := want.floats[i]; !sameBits(x, y) {
			return fmt.Errorf("[%d] (row %d, lane %d) is %v (%08x), want %v (%08x)", i, i/s.ld, i%s.ld,
				x, math.Float32bits(x), y, math.Float32bits(y))
		}
	}
	if s.floats == nil {
		return fmt.Errorf(" is % x, want % x", s.data, want.data)
	}
	return nil
}

// sameBits tells whether x and y are equal to the bit, or both NaN.
func sameBits(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// values are the kinds of numbers that kernels are tested with.
type values int

const (
	dyadics   values = iota // few bits: sums are often exact
	mantissas               // all 24 bits, magnitudes 2^-8 to 2^8
	tinies                  // magnitudes around 2^-72: products are subnormal or vanish
	specials                // finite, with extremes among them
	nonfinite               // with ±Inf and NaN among them
	zeros                   // ±0, and a few others
	valueKinds
)

func (v values) String() string {
	return [...]string{"dyadics", "mantissas", "tinies", "specials", "nonfinite", "zeros"}[v]
}

// extremes are the finite specials, as bits; their negatives are some, too.
var extremes = [...]uint32{
	0,                // +0
	1, 2, 0x00012345, // subnormal
	0x007fffff,             // the largest subnormal
	0x00800000, 0x00800001, // the smallest normal
	0x0da24260,             // 1e-30
	0x3f7fffff, 0x3f800000, // around 1
	0x3f800001, 0x4b7fffff, // around 1, 2^24-1
	0x71c9f2ca, 0x7f7fffff, // 2e30, the largest
}

// infinities are the others; the last two are NaN, one of them signalling.
var infinities = [...]uint32{0x7f800000, 0x7f800000, 0x7fc00000, 0x7f800001}

// next returns a number of kind v.
func (v values) next(r *rng) float32 {
	x := r.next()
	sign, small := uint32(x>>63)<<31, uint32(x>>32)&0xff
	one := func(bits []uint32) float32 {
		return math.Float32frombits(sign | bits[uint32(x>>40)%uint32(len(bits))])
	}
	mantissa := func(exp uint32) float32 {
		return math.Float32frombits(sign | exp<<23 | uint32(x)&0x7fffff)
	}
	switch {
	case v == dyadics:
		return float32(int(x&0xfff)-0x800) / 0x100
	case v == tinies:
		return mantissa(127 - 76 + small&7)
	case v == specials && small>>4 < 2:
		return one(extremes[:])
	case v == nonfinite && small < 4:
		return one(infinities[:])
	case v == zeros && small>>4 < 14:
		return math.Float32frombits(sign)
	}
	return mantissa(127 - 8 + small&15)
}

// fill sets w elements of every row.
func (v values) fill(r *rng, s []float32, rows, w, ld int) {
	for i := range rows {
		row := s[i*ld : i*ld+w]
		for lane := range row {
			row[lane] = v.next(r)
		}
	}
}

// kindOf spreads the kinds over the cases without a pattern.
func kindOf(i int) values {
	r := rng(i)
	return values(r.intn(int(valueKinds)))
}
