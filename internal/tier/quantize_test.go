package tier

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/testutil"
)

// A quantizeCase is a call of QuantizeInt8.
type quantizeCase struct {
	n, d, gapS, gapD, group int
	values                  quantizing
}

// quantizing are kinds of numbers to be quantizing.
type quantizing int

const (
	anyFinite quantizing = iota // one in 4 groups is of zeros of both signs
	ties                        // and a magnitude of 127 in each group
	tinies                      // groups that become 0, and the least that do not
	largest                     // groups with the largest numbers
	notFinite                   // one NaN or infinity
)

func (q quantizing) String() string {
	return [...]string{"any", "ties", "tiny", "largest", "not finite"}[q]
}

func (c quantizeCase) String() string {
	return fmt.Sprintf("n=%d d=%d lds=d+%d ldd=d+%d group=%d numbers: %v", c.n, c.d, c.gapS, c.gapD, c.group, c.values)
}

func quantizeCases(int) (list []kernelCase) {
	converterShapes(func(n, d, gapS, gapD int) {
		for group := 1; group <= d; group++ {
			if d%group != 0 {
				continue
			}
			for values := anyFinite; values <= notFinite; values++ {
				list = append(list, quantizeCase{n, d, gapS, gapD, group, values})
			}
		}
	})
	return list
}

func (c quantizeCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	return quantizeCall(c, a, r, 1, func(group []float32) { c.values.fill(r, group) },
		func(p *kernelSet) quantizeKernel[int8] { return p.Convert.QuantizeInt8 })
}

// A quantizeKernel quantizes rows.
type quantizeKernel[E byte | int8] func(dst []E, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool

// quantizeCall makes the arguments of a call, with groups as fill fills them and so many numbers in
// an element.
func quantizeCall[E byte | int8](c quantizeCase, a *testutil.Arena, r *testutil.Rand, perElement int, fill func(group []float32), kernel func(p *kernelSet) quantizeKernel[E]) func(p *kernelSet) {
	lds, ldd, groups := c.d+c.gapS, c.d/perElement+c.gapD, c.d/max(1, c.group)
	src := a.Matrix("src", c.n, c.d, lds, testutil.NaN)
	for i := range c.n {
		for g := range groups {
			fill(src[i*lds+g*c.group:][:c.group])
		}
	}
	if c.values == notFinite && c.n > 0 && c.d > 0 {
		src[r.IntN(c.n)*lds+r.IntN(c.d)] = [...]float32{testutil.NaN, testutil.Inf, -testutil.Inf}[r.IntN(3)]
	}
	dst := testutil.Rows[E](a, "dst", c.n, c.d/perElement, ldd)
	for i := range dst {
		dst[i] = 99
	}
	lsc := groups + c.gapD
	scales, finite := a.Matrix("scales", c.n, groups, lsc, testutil.Canary), testutil.Rows[int8](a, "finite", 1, 1, 1)
	return func(p *kernelSet) {
		finite[0] = 0
		if kernel(p)(dst, ldd, scales, lsc, src, lds, c.group, c.n, c.d) {
			finite[0] = 1
		}
	}
}

// fill fills a group.
func (q quantizing) fill(r *testutil.Rand, group []float32) {
	switch zeros := r.IntN(4) == 0; {
	case q == ties:
		scale := float32(math.Ldexp(float64(8+r.IntN(8)), r.IntN(200)-100))
		for i := range group {
			group[i] = (float32(r.IntN(254)-127) + 0.5) * scale
		}
		group[r.IntN(len(group))] = 127 * scale
	case q == tinies:
		most := 1 << (1 + r.IntN(27))
		for i := range group {
			group[i] = math.Float32frombits(uint32(r.IntN(most)) | uint32(r.IntN(2))<<31)
		}
		if r.IntN(2) == 0 {
			least := []uint32{contract.LeastInt8, contract.LeastInt4}[r.IntN(2)]
			group[r.IntN(len(group))] = math.Float32frombits(least - uint32(r.IntN(2)) | uint32(r.IntN(2))<<31)
		}
	case q == largest:
		for i := range group {
			group[i] = math.Float32frombits(0x7f7fffff - uint32(r.IntN(3)<<(4*r.IntN(6))) | uint32(r.IntN(2))<<31)
		}
	default:
		for i := range group {
			group[i] = 0
			for !zeros && group[i] == 0 {
				if x := math.Float32frombits(uint32(r.Uint64())); x-x == 0 {
					group[i] = x
				}
			}
			if r.IntN(2) == 0 {
				group[i] = -group[i]
			}
		}
	}
}

// A finiteCase is a call of Finite for n numbers, of which one may not be finite.
type finiteCase struct {
	n   int
	bad float32
}

func (c finiteCase) String() string { return fmt.Sprintf("%d numbers and %v", c.n, c.bad) }

func finiteCases(int) (list []kernelCase) {
	for _, n := range upTo(40, 64, 127) {
		for _, bad := range []float32{0, math.MaxFloat32, -math.MaxFloat32, testutil.Inf, -testutil.Inf, testutil.NaN, -testutil.NaN} {
			list = append(list, finiteCase{n, bad})
		}
	}
	return list
}

func (c finiteCase) call(a *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	src, finite := a.Vector("src", c.n, 1), testutil.Rows[int8](a, "finite", 1, 1, 1)
	if c.n > 0 {
		src[r.IntN(c.n)] = c.bad
	}
	return func(p *kernelSet) {
		finite[0] = 0
		if p.Convert.Finite(src) {
			finite[0] = 1
		}
	}
}

// largestOf returns the largest magnitude of the first group, if there are rows.
func largestOf(src []float32, group, n int) (a float32) {
	for _, x := range src[:min(n, 1)*group] {
		a = max(a, x, -x)
	}
	return a
}

type quantizer = quantizeKernel[int8]

// quantizeMutant is a mutant that quantizes and then changes what spoil is given.
func quantizeMutant(mistake string, spoil func(quantize quantizer) quantizer) mutant {
	return mutant{"Convert.QuantizeInt8", mistake, func(p *kernelSet) { p.Convert.QuantizeInt8 = spoil(p.Convert.QuantizeInt8) }}
}

var quantizeMutants = []mutant{
	quantizeMutant("a product with the inverse of the scale", func(quantize quantizer) quantizer {
		return func(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
			ok := quantize(dst, ldd, scales, lsc, src, lds, group, n, d)
			for i := range n * d {
				r, x := i/d, i%d
				if s := scales[r*lsc+x/group]; ok && s > 0 && s < 0x1p100 {
					y := float32(src[r*lds+x] * (1 / s))
					dst[r*ldd+x] = int8(math.RoundToEven(float64(max(min(y, 127), -127))))
				}
			}
			return ok
		}
	}),
	quantizeMutant("a scale is subnormal", func(quantize quantizer) quantizer {
		return func(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
			ok := quantize(dst, ldd, scales, lsc, src, lds, group, n, d)
			if a := largestOf(src, group, n); a < math.Float32frombits(contract.LeastInt8) && ok && n > 0 {
				scales[0] = a / 127
			}
			return ok
		}
	}),
	quantizeMutant("the largest number is read back as infinity", func(quantize quantizer) quantizer {
		return func(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
			ok := quantize(dst, ldd, scales, lsc, src, lds, group, n, d)
			if a := largestOf(src, group, n); a == math.MaxFloat32 && ok {
				scales[0] = a / 127
			}
			return ok
		}
	}),
	quantizeMutant("the elements before a NaN are written", func(quantize quantizer) quantizer {
		return func(dst []int8, ldd int, scales []float32, lsc int, src []float32, lds, group, n, d int) bool {
			ok := quantize(dst, ldd, scales, lsc, src, lds, group, n, d)
			if !ok && src[0]-src[0] == 0 {
				dst[0] = 1
			}
			return ok
		}
	}),
	{"Convert.Finite", "the last number is left out", func(p *kernelSet) {
		finite := p.Convert.Finite
		p.Convert.Finite = func(src []float32) bool { return finite(src[:max(0, len(src)-1)]) }
	}},
}
