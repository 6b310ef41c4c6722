package tier

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

type (
	blockGemm  = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool)
	blockWiden = func(dst []float32, b []byte, lanes, k int)
)

// referenceGemm is the product with a packed panel of quantized weights, straight from the
// definition.
func referenceGemm(f ukernel.PackedFormat) blockGemm {
	return func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
		wide := make([]float32, k*ukernel.PanelLanes)
		referenceWiden(f)(wide, b, ukernel.PanelLanes, k)
		testutil.Gemm(ukernel.PanelLanes, c, ldc, a, rs, cs, wide, ukernel.PanelLanes, m, k, ukernel.InputSegment, load)
	}
}

func referenceWiden(f ukernel.PackedFormat) blockWiden {
	return func(dst []float32, b []byte, lanes, k int) {
		for x := 0; x < k; x += ukernel.BlockSteps {
			block := quantized.BlockAt(f, lanes, b, x/ukernel.BlockSteps)
			for lane := range lanes {
				d, m := block.Scales(lane)
				words := block.Values(lane)
				for step := range ukernel.BlockSteps {
					number := float32(words[step%8] >> (step / 8 * 8) & 255)
					dst[(x+step)*lanes+lane] = scalar.FMA(number, d[step/16], m[step/16])
					if f.BFloat16Scales() {
						dst[(x+step)*lanes+lane] = float32((number - float32(f.Offset())) * d[step/16])
					}
				}
			}
		}
	}
}

// referenceUnpack writes the rows of a panel in which products with grouped formats find weights.
func referenceUnpack(f ukernel.PackedFormat) func(dst []uint32, b []byte, lanes, k int) {
	return func(dst []uint32, b []byte, lanes, k int) {
		for i := range k / ukernel.BlockSteps {
			block, dst := quantized.BlockAt(f, lanes, b, i), dst[i*ukernel.UnpackedRows*lanes:]
			for lane := range lanes {
				d, m := block.Scales(lane)
				for i, x := range []float32{d[0], -m[0], float32(d[1] * 0x1p-16), -m[1]} {
					dst[i*lanes+lane] = math.Float32bits(x)
				}
				for g, word := range block.Words(lane) {
					dst[(4+g)*lanes+lane] = word
				}
			}
		}
	}
}

// gemmUnpacked is the product with such rows, by their definition.
func gemmUnpacked(c []float32, ldc int, a []float32, rs, cs int, b []uint32, m, k int, load bool, _ []byte) {
	const lanes = ukernel.PanelLanes
	wide := make([]float32, k*lanes)
	for x := range k {
		block := b[x/ukernel.BlockSteps*ukernel.UnpackedRows*lanes:]
		step := x % ukernel.BlockSteps
		for lane := range lanes {
			d, m := math.Float32frombits(block[lane]), math.Float32frombits(block[lanes+lane])
			if step >= 16 {
				d, m = math.Float32frombits(block[2*lanes+lane])*0x1p16, math.Float32frombits(block[3*lanes+lane])
			}
			number := block[(4+step%8)*lanes+lane] >> (step / 8 * 8) & 255
			wide[x*lanes+lane] = scalar.FMA(float32(number), d, -m)
		}
	}
	testutil.Gemm(lanes, c, ldc, a, rs, cs, wide, lanes, m, k, ukernel.InputSegment, load)
}

// A blockCase is a call of a product with a packed panel of quantized weights.
type blockCase struct {
	format ukernel.PackedFormat
	load   bool
	gemmCase
}

func (c blockCase) String() string { return fmt.Sprintf("load=%v %v", c.load, c.gemmCase) }

func blockCases(f ukernel.PackedFormat) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for a := range operands {
			for _, k := range []int{32, 128, 160, 256, 288} { // one segment to three, whole or not
				k = (k + f.HeadSteps() - 1) / f.HeadSteps() * f.HeadSteps()
				for _, m := range upTo(9, 12) {
					i := len(list)
					list = append(list, blockCase{f, i%3 == 0, gemmCase{gemmFromZero, m, k, ukernel.InputSegment, a, 0, i % 2 * 5, testutil.KindOf(i)}})
				}
			}
		}
		return list
	}
}

func (c blockCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	rs, cs := c.a.strides(c.m, c.k)
	ldc := ukernel.PanelLanes + c.gapC
	a := c.operand(mem, r, rs, cs)
	out := mem.Matrix("c", c.m, ukernel.PanelLanes, ldc, testutil.Canary)
	c.values.Fill(r, out, c.m, ukernel.PanelLanes, ldc)
	b := randomBlocks(mem, r, c.format, c.values, ukernel.PanelLanes, c.k)
	if c.format.Unpacks() {
		words := make([]uint32, ukernel.UnpackedRows*ukernel.PanelLanes*c.k/ukernel.BlockSteps)
		referenceUnpack(c.format)(words, b, ukernel.PanelLanes, c.k)
		unpacked := testutil.Slice[uint32](mem, "words", len(words))
		copy(unpacked, words)
		return func(p *kernelSet) { p.Weights.GemmUnpacked(out, ldc, a, rs, cs, unpacked, c.m, c.k, c.load, b) }
	}
	return func(p *kernelSet) { p.Weights.Blocks[c.format].Gemm(out, ldc, a, rs, cs, b, c.m, c.k, c.load) }
}

// unpackedCases are products with unpacked blocks of all grouped formats.
func unpackedCases(w int) (list []kernelCase) {
	for _, f := range []ukernel.PackedFormat{ukernel.U5x32, ukernel.U4x16, ukernel.U5x16, ukernel.S6x16, ukernel.S5x16F32, ukernel.S8x16F32} {
		list = append(list, blockCases(f)(w)...)
	}
	return list
}

// A blockUnpackCase is a call that unpacks a packed panel.
type blockUnpackCase struct{ blockWidenCase }

func blockUnpackCases(f ukernel.PackedFormat) func(w int) []kernelCase {
	return func(w int) (list []kernelCase) {
		for _, c := range blockWidenCases(f)(w) {
			list = append(list, blockUnpackCase{c.(blockWidenCase)})
		}
		return list
	}
}

func (c blockUnpackCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	dst := testutil.Slice[uint32](mem, "dst", ukernel.UnpackedRows*c.lanes*c.k/ukernel.BlockSteps)
	b := randomBlocks(mem, r, c.format, c.values, c.lanes, c.k)
	return func(p *kernelSet) {
		p.Weights.Blocks[c.format].Unpack(dst, b, c.lanes, c.k)
		for i, x := range dst {
			if i/c.lanes%ukernel.UnpackedRows < 4 && math.Float32frombits(x) != math.Float32frombits(x) {
				dst[i] = contract.Canonical // its sign is open
			}
		}
	}
}

// randomBlocks returns a packed panel of random numbers, of formats with bfloat16 scales without
// -0. Its scales and minima are any binary16 if the values are not finite, else below 2.
func randomBlocks(mem *testutil.Arena, r *testutil.Rand, f ukernel.PackedFormat, values testutil.Kind, lanes, k int) []byte {
	panel := testutil.Slice[byte](mem, "b", f.PanelBytes(lanes, k))
	for i := range panel {
		panel[i] = byte(r.Uint64() >> 40)
	}
	eachBlock(f, lanes, panel, func(block quantized.Block) {
		if f.Float32Scales() {
			for i := range 2 * lanes {
				binary.LittleEndian.PutUint32(block.Data[4*i:], math.Float32bits(float32Scale(r, values)))
			}
			return
		}
		for i, x := range block.Data {
			if f.BFloat16Scales() && x&15 == 8 {
				x ^= 8
			}
			if f.BFloat16Scales() && x>>4 == 8 {
				x ^= 8 << 4
			}
			block.Data[i] = x
		}
		for i := range f.Halves() * lanes {
			half := uint16(r.Uint64() >> 40)
			switch {
			case f.BFloat16Scales():
				half = bfloat16Scale(r, values)
			case values != testutil.NonFinite:
				half &^= 0x4000
			}
			binary.LittleEndian.PutUint16(block.Head[2*i:], half)
		}
	})
	return panel
}

// eachBlock calls do for the blocks of a panel.
func eachBlock(f ukernel.PackedFormat, lanes int, panel []byte, do func(block quantized.Block)) {
	per := f.HeadSteps() / ukernel.BlockSteps
	for i := range len(panel) / f.PanelBytes(lanes, f.HeadSteps()) * per {
		do(quantized.BlockAt(f, lanes, panel, i))
	}
}

// bfloat16Scale returns a power of two from 2^-128 to 2^126 as bfloat16, 0 or NaN.
func bfloat16Scale(r *testutil.Rand, values testutil.Kind) uint16 {
	switch {
	case values == testutil.NonFinite && r.IntN(8) == 0:
		return 0x7fc0
	case r.IntN(8) == 0:
		return 0
	}
	most := 255
	if r.IntN(2) == 0 {
		most = 6 // the least
	}
	return scalar.ToBF16(float32(math.Ldexp(1, r.IntN(most)-128)))
}

// float32Scale returns a scale of a format that has them as float32.
func float32Scale(r *testutil.Rand, values testutil.Kind) float32 {
	switch {
	case values == testutil.NonFinite && r.IntN(8) == 0:
		return testutil.NaN
	case r.IntN(8) == 0:
		return 0
	}
	x := float32(math.Ldexp(float64(1+r.Float32()), r.IntN(200)-100))
	if r.IntN(4) == 0 {
		return -x
	}
	return x
}

// A blockWidenCase is a call of the conversion of a packed panel.
type blockWidenCase struct {
	format   ukernel.PackedFormat
	lanes, k int
	values   testutil.Kind
}

func (c blockWidenCase) String() string {
	return fmt.Sprintf("lanes=%d k=%d of %v", c.lanes, c.k, c.values)
}

func blockWidenCases(f ukernel.PackedFormat) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for v := range testutil.Kinds {
			for lanes := ukernel.PanelStep; lanes <= ukernel.PanelLanes; lanes += ukernel.PanelStep {
				for k := 0; k <= max(5*ukernel.BlockSteps, 3*f.HeadSteps()); k += f.HeadSteps() {
					list = append(list, blockWidenCase{f, lanes, k, v})
				}
			}
		}
		return list
	}
}

func (c blockWidenCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	dst := mem.Vector("dst", c.lanes*c.k, testutil.Canary)
	b := randomBlocks(mem, r, c.format, c.values, c.lanes, c.k)
	return func(p *kernelSet) { p.Weights.Blocks[c.format].Widen(dst, b, c.lanes, c.k) }
}

var blockMutants = []mutant{
	{"Weights.Blocks.E2M1.Widen", "the least scale is 0", func(p *kernelSet) {
		widen, size := p.Weights.Blocks[ukernel.E2M1].Widen, ukernel.E2M1.BlockBytes
		p.Weights.Blocks[ukernel.E2M1].Widen = func(dst []float32, b []byte, lanes, k int) {
			b = bytes.Clone(b)
			for block := b; len(block) > 0; block = block[size(lanes):] {
				for i := range lanes {
					if scale := block[2*i:]; binary.LittleEndian.Uint16(scale) == 0x0020 {
						scale[0] = 0
					}
				}
			}
			widen(dst, b, lanes, k)
		}
	}},
	{"Weights.Blocks.S8.Gemm", "what c holds does not count", func(p *kernelSet) { ignoreC(&p.Weights.Blocks[ukernel.S8].Gemm) }},
	{"Weights.Blocks.S4.Gemm", "the second segment is left out", func(p *kernelSet) {
		gemm := p.Weights.Blocks[ukernel.S4].Gemm
		p.Weights.Blocks[ukernel.S4].Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
			gemm(c, ldc, a, rs, cs, b, m, min(k, ukernel.InputSegment), load)
		}
	}},
	{"Weights.Blocks.U4.Gemm", "the twelfth row is not written", func(p *kernelSet) {
		gemm := p.Weights.Blocks[ukernel.U4].Gemm
		p.Weights.Blocks[ukernel.U4].Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
			gemm(c, ldc, a, rs, cs, b, min(m, 11), k, load)
		}
	}},
	{"Weights.Blocks.S8.Widen", "weights have no sign", func(p *kernelSet) {
		widen := p.Weights.Blocks[ukernel.S8].Widen
		p.Weights.Blocks[ukernel.S8].Widen = func(dst []float32, b []byte, lanes, k int) {
			widen(dst, b, lanes, k)
			for i := range dst {
				dst[i] = max(dst[i], -dst[i])
			}
		}
	}},
	{"Weights.Blocks.S4.Widen", "the last block is the first one again", func(p *kernelSet) {
		widen := p.Weights.Blocks[ukernel.S4].Widen
		p.Weights.Blocks[ukernel.S4].Widen = func(dst []float32, b []byte, lanes, k int) {
			widen(dst, b, lanes, k)
			if k > ukernel.BlockSteps {
				copy(dst[(k-ukernel.BlockSteps)*lanes:], dst[:ukernel.BlockSteps*lanes])
			}
		}
	}},
	{"Weights.Blocks.U4.Widen", "a minimum is left out", func(p *kernelSet) {
		widen, size := p.Weights.Blocks[ukernel.U4].Widen, ukernel.U4.BlockBytes
		p.Weights.Blocks[ukernel.U4].Widen = func(dst []float32, b []byte, lanes, k int) {
			b = bytes.Clone(b)
			for block := b; len(block) > 0; block = block[size(lanes):] {
				clear(block[4*lanes-2 : 4*lanes]) // the last lane's
			}
			widen(dst, b, lanes, k)
		}
	}},
	{"Weights.GemmUnpacked", "what c holds does not count", func(p *kernelSet) {
		gemm := p.Weights.GemmUnpacked
		p.Weights.GemmUnpacked = func(c []float32, ldc int, a []float32, rs, cs int, b []uint32, m, k int, load bool, next []byte) {
			gemm(c, ldc, a, rs, cs, b, m, k, false, next)
		}
	}},
	{"Weights.Blocks.U4x16.Unpack", "the second group has the scale of the first", func(p *kernelSet) {
		unpack := p.Weights.Blocks[ukernel.U4x16].Unpack
		p.Weights.Blocks[ukernel.U4x16].Unpack = func(dst []uint32, b []byte, lanes, k int) {
			unpack(dst, b, lanes, k)
			for i := range dst {
				if i/lanes%ukernel.UnpackedRows == 2 {
					dst[i] = dst[i-2*lanes]
				}
			}
		}
	}},
	{"Weights.Blocks.U5x32.Unpack", "a scale is an integer too large", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U5x32].Unpack = func(dst []uint32, b []byte, lanes, k int) {
			b = bytes.Clone(b)
			eachBlock(ukernel.U5x32, lanes, b, func(block quantized.Block) { block.Data[0]++ })
			referenceUnpack(ukernel.U5x32)(dst, b, lanes, k)
		}
	}},
	{"Weights.Blocks.U4x32.Gemm", "a minimum is an integer too large", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U4x32].Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
			b = bytes.Clone(b)
			eachBlock(ukernel.U4x32, ukernel.PanelLanes, b, func(block quantized.Block) { block.Data[ukernel.PanelLanes]++ })
			referenceGemm(ukernel.U4x32)(c, ldc, a, rs, cs, b, m, k, load)
		}
	}},
	{"Weights.Blocks.U5x32.Unpack", "minima have the integers of the scales", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U5x32].Unpack = func(dst []uint32, b []byte, lanes, k int) {
			b = bytes.Clone(b)
			eachBlock(ukernel.U5x32, lanes, b, func(block quantized.Block) { copy(block.Data[lanes:2*lanes], block.Data) })
			referenceUnpack(ukernel.U5x32)(dst, b, lanes, k)
		}
	}},
	{"Weights.Blocks.U4x32.Widen", "the last two words of numbers are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U4x32].Widen = withoutNumbers(ukernel.U4x32, 2)
	}},
	{"Weights.Blocks.U5x32.Widen", "fifth bits are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U5x32].Widen = withoutNumbers(ukernel.U5x32, 4)
	}},
	{"Weights.Blocks.U5x16.Widen", "fifth bits are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U5x16].Widen = withoutNumbers(ukernel.U5x16, 4)
	}},
	{"Weights.Blocks.S5x16F32.Widen", "the second half has the scale of the first", func(p *kernelSet) {
		widen, size := p.Weights.Blocks[ukernel.S5x16F32].Widen, ukernel.S5x16F32.BlockBytes
		p.Weights.Blocks[ukernel.S5x16F32].Widen = func(dst []float32, b []byte, lanes, k int) {
			b = bytes.Clone(b)
			for block := b; len(block) > 0; block = block[size(lanes):] {
				copy(block[4*lanes:], block[:4*lanes])
			}
			widen(dst, b, lanes, k)
		}
	}},
	{"Weights.Blocks.S8x16F32.Widen", "the upper bits of steps 3 of 8 are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.S8x16F32].Widen = withoutNumbers(ukernel.S8x16F32, 7)
	}},
	{"Weights.Blocks.S6x16.Widen", "sixth bits are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.S6x16].Widen = withoutNumbers(ukernel.S6x16, 5)
	}},
}

// withoutNumbers widens a panel of one whose words of numbers from a word on are zeros.
func withoutNumbers(f ukernel.PackedFormat, word int) blockWiden {
	return func(dst []float32, b []byte, lanes, k int) {
		b = bytes.Clone(b)
		eachBlock(f, lanes, b, func(block quantized.Block) {
			clear(block.Data[(f.IntegerBytes()+4*word)*lanes : (f.IntegerBytes()+4*f.Bits())*lanes])
		})
		referenceWiden(f)(dst, b, lanes, k)
	}
}

func ignoreC(gemm *blockGemm) {
	real := *gemm
	*gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
		real(c, ldc, a, rs, cs, b, m, k, false)
	}
}

// benchBlocks multiplies one row and four by a packed panel that is in cache, and widens it.
// Grouped formats are widened alone.
func benchBlocks() (list []benchmark) {
	const k = 1536
	panel := make([]byte, k/ukernel.BlockSteps*ukernel.S8x16F32.BlockBytes(ukernel.PanelLanes))
	wide := make([]float32, k*ukernel.PanelLanes)
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		name, rows := f.String(), []int{1, 2, 4}
		if f.Grouped() {
			rows = nil
		}
		b := panel[:f.PanelBytes(ukernel.PanelLanes, k)]
		for _, m := range rows {
			a, c := testutil.Floats(m*k), make([]float32, m*ukernel.PanelLanes)
			list = append(list, benchmark{"Weights.Blocks." + name + ".Gemm", fmt.Sprintf("m=%d/k=%d", m, k), 2 * float64(m*k*ukernel.PanelLanes), float64(len(b)), func(p *kernelSet) {
				p.Weights.Blocks[f].Gemm(c, ukernel.PanelLanes, a, k, 1, b, m, k, false)
			}})
		}
		list = append(list, benchmark{"Weights.Blocks." + name + ".Widen", fmt.Sprintf("k=%d", k), 0, float64(len(b)), func(p *kernelSet) {
			p.Weights.Blocks[f].Widen(wide, b, ukernel.PanelLanes, k)
		}})
	}
	return list
}
