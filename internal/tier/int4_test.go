package tier

import (
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// Integers of 4 bits, two in a byte. Rows, groups and distances are even numbers of them.

// A widenInt4Case is a call of WidenInt4.
type widenInt4Case widenInt8Case

func (c widenInt4Case) String() string { return widenInt8Case(c).String() }

func widenInt4Cases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		for _, group := range []int{2, 6, 8, 14, 32, d} {
			if d%2 == 0 && group > 0 && group <= d {
				list = append(list, widenInt4Case{n, d, gapS, gapD, group, testutil.KindOf(len(list))})
			}
		}
	})
	return list
}

func (c widenInt4Case) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd, groups := c.d/2+c.gapS, c.d+c.gapD, (c.d+c.group-1)/c.group
	src := testutil.Rows[byte](a, "src", c.n, c.d/2, lds)
	for i := range src {
		src[i] = byte(r.Uint64())
	}
	lsc := groups + c.gapD
	scales := a.Matrix("scales", c.n, groups, lsc, testutil.Canary)
	c.values.Fill(r, scales, c.n, groups, lsc)
	dst := a.Matrix("dst", c.n, c.d, ldd, testutil.Canary)
	return func(p *kernelSet) { p.Convert.WidenInt4(dst, ldd, src, lds, scales, lsc, c.group, c.n, c.d) }
}

// An unpackInt4Case is a call of UnpackInt4.
type unpackInt4Case struct{ n, d, gapS, gapD int }

func (c unpackInt4Case) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d/2+%d ldd=d+%d", c.n, c.d, c.gapS, c.gapD)
}

func unpackInt4Cases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		if d%2 == 0 {
			list = append(list, unpackInt4Case{n, d, gapS, gapD})
		}
	})
	return list
}

func (c unpackInt4Case) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	lds, ldd := c.d/2+c.gapS, c.d+c.gapD
	src := testutil.Rows[byte](a, "src", c.n, c.d/2, lds)
	for i := range src {
		src[i] = byte(r.Uint64())
	}
	dst := testutil.Rows[int8](a, "dst", c.n, c.d, ldd)
	for i := range dst {
		dst[i] = 99
	}
	return func(p *kernelSet) { p.Convert.UnpackInt4(dst, ldd, src, lds, c.n, c.d) }
}

// A quantizeInt4Case is a call of QuantizeInt4.
type quantizeInt4Case quantizeCase

func (c quantizeInt4Case) String() string { return quantizeCase(c).String() }

func quantizeInt4Cases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		for group := 2; group <= d; group += 2 {
			if d%group != 0 {
				continue
			}
			for values := anyFinite; values <= notFinite; values++ {
				list = append(list, quantizeInt4Case{n, d, gapS, gapD, group, values})
			}
		}
	})
	return list
}

func (c quantizeInt4Case) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	fill := func(group []float32) {
		c.values.fill(r, group)
		if c.values == ties {
			tiesOf8(r, group)
		}
	}
	return quantizeCall(quantizeCase(c), a, r, 2, fill, func(p *kernelSet) quantizeKernel[byte] { return p.Convert.QuantizeInt4 })
}

// tiesOf8 fills a group with halves of a scale, and with 8 of them, of one sign or of both.
func tiesOf8(r *testutil.Rand, group []float32) {
	scale := float32(math.Ldexp(float64(8+r.IntN(8)), r.IntN(200)-100))
	for i := range group {
		group[i] = (float32(r.IntN(16)-8) + 0.5) * scale
	}
	group[r.IntN(len(group))] = 8 * scale * float32(1-2*r.IntN(2))
	if r.IntN(2) == 0 {
		group[r.IntN(len(group))] = 8 * scale
	}
}

// By hand: the first number is in the low half, the number of largest magnitude becomes -8, and
// what would be 8 is 7.
func TestQuantizeInt4ByHand(t *testing.T) {
	eachTier(func(tier *Tier) {
		dst, scales, back := make([]byte, 4), make([]float32, 2), make([]float32, 8)
		src := []float32{4, -4, 0.75, -1.25, -16, 3, 5, 0}
		c := tier.Convert()
		if !c.QuantizeInt4(dst, 4, scales, 2, src, 8, 4, 1, 8) {
			t.Fatalf("tier=%s: these numbers are finite", tier.Name)
		}
		c.WidenInt4(back, 8, dst, 4, scales, 2, 4, 1, 8)
		want := []float32{4, -3.5, 1, -1, -16, 4, 4, 0}
		wantBytes := []byte{0x78, 0x2e, 0x28, 0x02}
		for i := range want {
			if back[i] != want[i] || dst[i/2] != wantBytes[i/2] {
				t.Fatalf("tier=%s: %v has become %#x and then %v, want %#x and %v", tier.Name, src, dst, back, wantBytes, want)
			}
		}
		if fmt.Sprint(scales) != "[-0.5 2]" {
			t.Fatalf("tier=%s: scales %v", tier.Name, scales)
		}
	})
}

var int4Mutants = []mutant{
	{"Convert.WidenInt4", "the first number is in the high half", func(p *kernelSet) {
		widen := p.Convert.WidenInt4
		p.Convert.WidenInt4 = func(dst []float32, ldd int, src []byte, lds int, scales []float32, lsc, group, n, d int) {
			widen(dst, ldd, src, lds, scales, lsc, group, n, d)
			for i := range n * d / 2 {
				at := i/(d/2)*ldd + i%(d/2)*2
				dst[at], dst[at+1] = dst[at+1], dst[at]
			}
		}
	}},
	{"Convert.UnpackInt4", "there are no negative numbers", func(p *kernelSet) {
		unpack := p.Convert.UnpackInt4
		p.Convert.UnpackInt4 = func(dst []int8, ldd int, src []byte, lds, n, d int) {
			unpack(dst, ldd, src, lds, n, d)
			for i := range n * d {
				dst[i/d*ldd+i%d] &= 15
			}
		}
	}},
	{"Convert.QuantizeInt4", "the scale is always positive", func(p *kernelSet) {
		quantize := p.Convert.QuantizeInt4
		p.Convert.QuantizeInt4 = func(dst []byte, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
			ok := quantize(dst, ldd, scales, lsc, src, lds, group, n, d)
			for i := range n * d / max(1, group) {
				at := i/(d/group)*lsc + i%(d/group)
				scales[at] = max(scales[at], -scales[at])
			}
			return ok
		}
	}},
	{"Convert.QuantizeInt4", "8 wraps around to -8", func(p *kernelSet) {
		quantize := p.Convert.QuantizeInt4
		p.Convert.QuantizeInt4 = func(dst []byte, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
			ok := quantize(dst, ldd, scales, lsc, src, lds, group, n, d)
			if ok && n > 0 && d > 0 && scales[0] != 0 && src[0]/scales[0] == 8 {
				dst[0] = dst[0]&^15 | 8
			}
			return ok
		}
	}},
}
