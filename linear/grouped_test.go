package linear_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A fileBlock is what tests know of a format's blocks.
type fileBlock struct {
	weights, bytes int
	halves         []int // where binary16 are: the scale and the minimum, or the scale of what is made up for
}

var fileBlocks = map[linear.Format]fileBlock{
	linear.Q8_0: {32, 34, []int{0}}, linear.Q4_0: {32, 18, []int{0}}, linear.Q4_1: {32, 20, []int{0, 2}},
	linear.Q5_0: {32, 22, []int{0, 0}}, linear.Q5_1: {32, 24, []int{0, 2}},
	linear.Q2_K: {256, 84, []int{80, 82}}, linear.Q3_K: {256, 110, []int{108, 108}},
	linear.Q4_K: {256, 144, []int{0, 2}}, linear.Q5_K: {256, 176, []int{0, 2}}, linear.Q6_K: {256, 210, []int{208}},
	linear.IQ4_NL: {32, 18, []int{0}}, linear.MXFP4: {32, 17, nil}, linear.NVFP4: {64, 36, nil},
	linear.IQ4_XS: {256, 136, []int{0}},
}

// singleFormats have one scale for each 32 weights, and perhaps a minimum.
// The fuzz target takes the first three.
var singleFormats = []linear.Format{linear.Q8_0, linear.Q4_0, linear.Q4_1, linear.IQ4_NL}

// groupedFormats have integers beside the scale.
var groupedFormats = []linear.Format{linear.Q5_0, linear.Q5_1, linear.Q2_K, linear.Q3_K, linear.Q4_K, linear.Q5_K, linear.Q6_K, linear.MXFP4, linear.NVFP4, linear.IQ4_XS}

// iq4Values are what the numbers of IQ4_NL stand for.
var iq4Values = [16]int{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// A groupedWeight is a weight (d·s)·q - c·t.
type groupedWeight struct {
	d, c    float32
	s, t, q int
}

// bit returns a bit of a string of bytes.
func bit(b []byte, i int) int { return int(b[i/8]>>(i%8)) & 1 }

// grouped reads weight i of a block, as ggml's dequantize_row functions lay it out: by bits.
func grouped(f linear.Format, b []byte, i int) (w groupedWeight) {
	at := fileBlocks[f].halves
	half := func(i int) float32 { return kernel.F16(binary.LittleEndian.Uint16(b[at[i]:])).Float32() }
	if len(at) > 0 {
		w.d = half(0)
	}
	if len(at) > 1 {
		w.c = half(1)
	}
	bits := func(from, n int) (x int) {
		for j := range n {
			x |= bit(b, from+j) << j
		}
		return x
	}
	chunk := 8 * (i / 128 * 32)
	switch f {
	case linear.Q5_0, linear.Q5_1:
		high, low := 16, 48
		w.s, w.t = 1, 16
		if f == linear.Q5_1 {
			high, low, w.t = 32, 64, -1
		}
		w.q = bits(low+i%16*8+i/16*4, 4) + 16*bits(high+i, 1)
	case linear.NVFP4:
		at := 4*8 + i/16*8*8 + i%8*8 + i%16/8*4
		v := []int{0, 1, 2, 3, 4, 6, 8, 12}[bits(at, 3)] * (1 - 2*bits(at+3, 1))
		w.d, w.s, w.t, w.q = kernel.F8E4M3(b[i/16]).Float32()/2, 1, 16, 16+v
		w.c = w.d
	case linear.IQ4_XS:
		g := i / 32
		w.s = bits(32+4*g, 4) + 16*bits(16+2*g, 2) - 32
		w.q = iq4Values[bits(64+128*g+i%16*8+i%32/16*4, 4)]
	case linear.MXFP4:
		v := []int{0, 1, 2, 3, 4, 6, 8, 12}[bits(8+i%16*8+i/16*4, 3)] * (1 - 2*bits(8+i%16*8+i/16*4+3, 1))
		zeros := !slices.ContainsFunc(b[1:17], func(x byte) bool { return x&0x77 != 0 })
		switch d := math.Ldexp(1, int(b[0])-128); {
		case zeros:
		case b[0] == 255:
			w.d = testutil.NaN
		default:
			w.d = float32(d)
			if math.Abs(float64(v))*d < 0x1p-126 {
				v = 0
			}
		}
		w.c, w.s, w.t, w.q = w.d, 1, 16, 16+v
	case linear.Q2_K:
		w.s, w.t = bits(i/16*8, 4), bits(i/16*8+4, 4)
		w.q = bits(128+chunk+i%32*8+i%128/32*2, 2)
	case linear.Q3_K:
		g := i / 16
		w.s = bits(96*8+g%8*8+g/8*4, 4) + 16*bits(104*8+g%4*8+g/4*2, 2) - 32
		w.t = 4 * w.s
		w.q = bits(32*8+chunk+i%32*8+i%128/32*2, 2) + 4*bits(i%32*8+i/32, 1)
	case linear.Q4_K, linear.Q5_K:
		g := i / 32
		if g < 4 {
			w.s, w.t = bits(32+8*g, 6), bits(64+8*g, 6)
		} else {
			w.s = bits(96+8*(g-4), 4) + 16*bits(32+8*(g-4)+6, 2)
			w.t = bits(96+8*(g-4)+4, 4) + 16*bits(64+8*(g-4)+6, 2)
		}
		low := i/64*32*8 + i%32*8 + i%64/32*4
		if f == linear.Q4_K {
			w.q = bits(128+low, 4)
		} else {
			w.q = bits(48*8+low, 4) + 16*bits(128+i%32*8+g, 1)
		}
	case linear.Q6_K:
		w.s = int(int8(b[192+i/16]))
		w.q = bits(i/128*512+i%64*8+i%128/64*4, 4) + 16*bits(1024+chunk+i%32*8+i%128/32*2, 2) - 32
	}
	return w
}

// groupedSum adds 32 inputs to an output, with quantized rows, as the contract has it. The scale is
// one beside the block.
func groupedSum(f linear.Format, block []byte, first int, scale, d float32, codes *[32]int, acc float32) float32 {
	if f == linear.NVFP4 || f == linear.IQ4_XS {
		t := float32(0)
		for half := 1; half >= 0; half-- {
			sum, e := 0, float32(0)
			for i, q := range codes[16*half:][:16] {
				w := grouped(f, block, first+16*half+i)
				sum += q * (w.q - w.t)
				e = float32(float32(w.d*float32(w.s)) * scale)
			}
			t = numeric.FMA(float32(sum), e, t)
		}
		return numeric.FMA(t, d, acc)
	}
	sum, minima, w := 0, 0, groupedWeight{}
	for i, q := range codes {
		w = grouped(f, block, first+i)
		sum += w.s * q * w.q
		minima += w.t * q
	}
	acc = numeric.FMA(float32(sum), float32(d*w.d), acc)
	if f != linear.Q6_K {
		acc = numeric.FMA(float32(-minima), float32(d*w.c), acc)
	}
	return acc
}

// Formats with more than one scale: all remainders of rows and lanes, both kinds of rows, also with
// the numbers of the largest magnitude and scales that no file of real weights has.
func TestGrouped(t *testing.T) {
	i := 0
	for _, f := range groupedFormats {
		for _, n := range []int{1, 16, 31, 48, 65, 100} {
			for _, m := range []int{1, 2, 3, 5, 6, 7, 13} {
				if i++; testutil.Thin() && !testutil.Sampled(i) {
					continue
				}
				k := fileBlocks[f].weights * (1 + i%3)
				for _, int8 := range []bool{false, true} {
					c := testCase{m: m, n: n, k: k, format: f, int8: int8, bias: i%2 == 0, layout: layout(i) % layouts, kind: testutil.KindOf(i), seed: i}
					eachKernel(t, c.compare(t, 1, 2))
				}
			}
		}
	}
}

// eachKernel runs a test on every tier. Where few rows take the kernels of a tier below, it also
// runs with the tier's own.
func eachKernel(t *testing.T, test func(t *testing.T, tier kernel.Tier)) {
	t.Helper()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		test(t, tier)
		own, err := tier.Tuned("LowerRows=0")
		if err != nil {
			t.Fatal(err)
		}
		if own.Tuning() != tier.Tuning() {
			test(t, own)
		}
	})
}

// All bits set, all clear: the largest numbers and scales.
func TestGroupedExtremes(t *testing.T) {
	for _, f := range groupedFormats {
		b := fileBlocks[f]
		for _, fill := range []byte{0, 255, 0x80, 0x7f} {
			const n = 20
			w := newMatrix(make([]float32, n*b.weights), n, b.weights, b.weights, 1)
			w.format, w.blocks = f, make([]byte, n*b.bytes)
			for row := range n {
				block := w.blocks[row*b.bytes:][:b.bytes]
				for i := range block {
					block[i] = fill
				}
				if f == linear.MXFP4 {
					block[0] = 128
				}
				for i, at := range b.halves {
					binary.LittleEndian.PutUint16(block[at:], uint16(numeric.ToF16(float32(1+i))))
				}
				dequantize(f, w.numbers[row*b.weights:][:b.weights], block, 1)
			}
			for _, int8 := range []bool{false, true} {
				c := testCase{m: 3, n: n, k: b.weights, format: f, int8: int8}
				x := newMatrix(testutil.Filled(3*b.weights, float32(1)), 3, b.weights, b.weights, 1)
				for i := range b.weights {
					x.numbers[i] = -1
					x.numbers[2*b.weights+i] = float32(1 - i/8%2*2)
				}
				want, l := c.contract(&x, &w, nil), w.layer(t, nil)
				eachKernel(t, func(t *testing.T, tier kernel.Tier) {
					out := c.output()
					if err := l.Apply(out.Matrix, x.Matrix, c.options(tier, 1)); err != nil {
						t.Fatal(err)
					}
					contracttest.SameRow(t, fmt.Sprintf("%v of %#x", c, fill), out.numbers, want.numbers)
				})
			}
		}
	}
}
