package kernel

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/fallback"
)

// elementsOf returns rows of w elements of size bytes at a distance of ld, up to
// the last element. What is in them is the caller's business.
func elementsOf[T any](a *arena, name string, rows, w, ld, size int) []T {
	n := 0
	if rows > 0 && w > 0 {
		n = (rows-1)*ld + w
	}
	return typed[T](a.take(name, size*n, size).data)
}

// converterShapes are the rows that converters are tested with: all remainders.
func converterShapes(add func(n, d, gapS, gapD int)) {
	for _, d := range upTo(2*16+1, 64, 80, 128, 129) {
		for n := range 4 {
			add(n, d, (n+d)%3, (n+d/3)&1*5)
		}
	}
}

// A widening is one of the kernels widenF16 and widenBF16, a narrowing one of
// narrowF16 and narrowBF16.
type (
	widening  func(c *converters) func(dst []float32, ldd int, src []uint16, lds, n, d int)
	narrowing func(c *converters) func(dst []uint16, ldd int, src []float32, lds, n, d int)
)

func widenF16Of(c *converters) func([]float32, int, []uint16, int, int, int)   { return c.widenF16 }
func widenBF16Of(c *converters) func([]float32, int, []uint16, int, int, int)  { return c.widenBF16 }
func narrowF16Of(c *converters) func([]uint16, int, []float32, int, int, int)  { return c.narrowF16 }
func narrowBF16Of(c *converters) func([]uint16, int, []float32, int, int, int) { return c.narrowBF16 }

// A widenCase is a call of a widening, on any bits.
type widenCase struct {
	kernel           widening
	n, d, gapS, gapD int
}

func (c widenCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func widenCases(kernel widening) func(w int) []microCase {
	return func(int) (list []microCase) {
		converterShapes(func(n, d, gapS, gapD int) { list = append(list, widenCase{kernel, n, d, gapS, gapD}) })
		return list
	}
}

func (c widenCase) call(a *arena, r *rng, _ int) func(p *panelKernels) {
	lds, ldd := c.d+c.gapS, c.d+c.gapD
	src := elementsOf[uint16](a, "src", c.n, c.d, lds, 2)
	for i := range src {
		src[i] = uint16(r.next())
	}
	dst := a.matrix("dst", c.n, c.d, ldd, canary)
	return func(p *panelKernels) { c.kernel(&p.converters)(dst, ldd, src, lds, c.n, c.d) }
}

// A widenInt8Case is a call of widenInt8.
type widenInt8Case struct {
	n, d, gapS, gapD, group int
	values                  values
}

func (c widenInt8Case) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d group=%d scales of %v", c.n, c.d, c.gapS, c.gapD, c.group, c.values)
}

func widenInt8Cases(int) (list []microCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		for _, group := range []int{1, 3, 8, 17, 32, d} {
			if group > 0 && group <= d {
				list = append(list, widenInt8Case{n, d, gapS, gapD, group, kindOf(len(list))})
			}
		}
	})
	return list
}

func (c widenInt8Case) call(a *arena, r *rng, _ int) func(p *panelKernels) {
	lds, ldd, groups := c.d+c.gapS, c.d+c.gapD, ceilDiv(c.d, c.group)
	src := elementsOf[int8](a, "src", c.n, c.d, lds, 1)
	for i := range src {
		src[i] = int8(r.next())
	}
	lsc := groups + c.gapD
	scales := a.matrix("scales", c.n, groups, lsc, canary)
	c.values.fill(r, scales, c.n, groups, lsc)
	dst := a.matrix("dst", c.n, c.d, ldd, canary)
	return func(p *panelKernels) { p.widenInt8(dst, ldd, src, lds, scales, lsc, c.group, c.n, c.d) }
}

// A narrowCase is a call of a narrowing.
type narrowCase struct {
	kernel           narrowing
	n, d, gapS, gapD int
}

func (c narrowCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func narrowCases(kernel narrowing) func(w int) []microCase {
	return func(int) (list []microCase) {
		converterShapes(func(n, d, gapS, gapD int) {
			for range 8 {
				list = append(list, narrowCase{kernel, n, d, gapS, gapD})
			}
		})
		return list
	}
}

func (c narrowCase) call(a *arena, r *rng, _ int) func(p *panelKernels) {
	lds, ldd := c.d+c.gapS, c.d+c.gapD
	src := a.matrix("src", c.n, c.d, lds, canary)
	for i := range src {
		src[i] = narrowable(r)
	}
	dst := elementsOf[uint16](a, "dst", c.n, c.d, ldd, 2)
	for i := range dst {
		dst[i] = 0x1234
	}
	return func(p *panelKernels) { c.kernel(&p.converters)(dst, ldd, src, lds, c.n, c.d) }
}

// narrowable returns any float32, or one with a size and low bits that matter to
// who narrows it.
func narrowable(r *rng) float32 {
	bits := uint32(r.next())
	switch r.intn(4) {
	case 0:
		return math.Float32frombits(bits)
	case 1:
		return nonfinite.next(r)
	}
	exp := uint32(127 - 26 + r.intn(26+18)) // from below binary16's subnormals to beyond its largest
	kept := []uint32{13, 16, uint32(13 + r.intn(11))}[r.intn(3)]
	bits = bits&(1<<31|(1<<23-1)&^(1<<kept-1)) | exp<<23
	return math.Float32frombits(bits + []uint32{0, 1<<(kept-1) - 1, 1 << (kept - 1), 1<<(kept-1) + 1}[r.intn(4)])
}

// TestWidenAll compares all values of 16 bits, and all of 8 with many scales, with
// package fallback.
func TestWidenAll(t *testing.T) {
	halves, ints := make([]uint16, 1<<16), make([]int8, 256)
	for i := range halves {
		halves[i] = uint16(i)
	}
	for i := range ints {
		ints[i] = int8(i)
	}
	got, want := make([]float32, len(halves)), make([]float32, len(halves))
	r := rng(8)
	eachPanel(t, func(t *testing.T, p *panelKernels) {
		check := func(what string, n int) {
			for i, x := range got[:n] {
				if !sameBits(x, want[i]) {
					t.Fatalf("%s %#x is %v (%08x), want %v (%08x)", what, i, x, math.Float32bits(x), want[i], math.Float32bits(want[i]))
				}
			}
		}
		p.widenF16(got, 0, halves, 0, 1, len(halves))
		fallback.WidenF16(want, 0, halves, 0, 1, len(halves))
		check("binary16", len(halves))
		p.widenBF16(got, 0, halves, 0, 1, len(halves))
		fallback.WidenBF16(want, 0, halves, 0, 1, len(halves))
		check("bfloat16", len(halves))
		for i := range 1000 {
			scale := []float32{kindOf(i).next(&r)}
			p.widenInt8(got, 0, ints, 0, scale, 0, len(ints), 1, len(ints))
			fallback.WidenInt8(want, 0, ints, 0, scale, 0, len(ints), 1, len(ints))
			check(fmt.Sprintf("int8 times %v", scale[0]), len(ints))
		}
	})
}

var narrowAll = flag.Bool("narrowall", false, "narrow all float32 (a minute)")

// TestNarrowAll compares the narrowing of a sample of all float32, or of all, with
// package fallback.
func TestNarrowAll(t *testing.T) {
	step := uint64(487)
	switch {
	case *narrowAll:
		step = 1
	case thin():
		step = 9973
	}
	const chunk = 1 << 14
	src, got, want := make([]float32, chunk), make([]uint16, chunk), make([]uint16, chunk)
	for first := uint64(0); first < 1<<32; first += chunk * step {
		for i := range src {
			src[i] = math.Float32frombits(uint32(first + uint64(i)*step))
		}
		for _, kernel := range []narrowing{narrowF16Of, narrowBF16Of} {
			kernel(&genericTier().panels[0].converters)(want, 0, src, 0, 1, chunk)
			eachKernels(func(tier string, p *panelKernels) {
				kernel(&p.converters)(got, 0, src, 0, 1, chunk)
				for i, x := range got {
					if x != want[i] {
						t.Fatalf("tier=%s: %v (%08x) is %#04x, want %#04x", tier, src[i], math.Float32bits(src[i]), x, want[i])
					}
				}
			})
		}
	}
}
