package tier

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

type blockGemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool)

// referenceGemmInt8 is the product of quantized rows and weights, number by number.
func referenceGemmInt8(f ukernel.PackedFormat) blockGemmInt8 {
	return func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
		for i := range m {
			for lane := range lanes {
				var acc float32
				if load {
					acc = c[i*ldc+lane]
				}
				for block := range k / ukernel.BlockSteps {
					row, b := x[i*ldx+block*ukernel.RowWords:], quantized.BlockAt(f, lanes, b, block)
					words := b.Words(lane)
					var sums, totals [2]int
					for step := range ukernel.BlockSteps {
						code := int8(row[step%8] >> (step / 8 * 8))
						number := int(words[step%8] >> (step / 8 * 8) & 255)
						if values := f.Values(); values != nil {
							number = int(values[number])
						}
						sums[step/16] += int(code) * (number - f.Offset())
						totals[step/16] += int(code)
					}
					if f.Float32Scales() {
						e, _ := b.Scales(lane)
						t := scalar.FMA(float32(sums[0]), e[0], scalar.FMA(float32(sums[1]), e[1], 0))
						acc = scalar.FMA(t, math.Float32frombits(row[8]), acc)
						continue
					}
					dw, min := b.Scale(lane)
					sum := sums[0] + sums[1]
					if f.Grouped() {
						s, t := b.Integers(lane)
						d := math.Float32frombits(row[8])
						acc = scalar.FMA(float32(int(s[0])*sums[0]+int(s[1])*sums[1]), float32(d*dw), acc)
						if f.Offset() == 0 {
							acc = scalar.FMA(float32(-(int(t[0])*totals[0] + int(t[1])*totals[1])), float32(d*min), acc)
						}
						continue
					}
					d := float32(math.Float32frombits(row[8]) * dw)
					if f.BFloat16Scales() {
						offsets := f.Offset() * (totals[0] + totals[1])
						acc = scalar.FMA(float32(-offsets), d, scalar.FMA(float32(sum+offsets), d, acc))
						continue
					}
					acc = scalar.FMA(float32(sum), d, acc)
					if f.Offset() == 0 {
						acc = scalar.FMA(min, math.Float32frombits(row[9]), acc)
					}
				}
				c[i*ldc+lane] = acc
			}
		}
	}
}

// How the numbers of an int8Case are chosen.
type codes int

const (
	anyCodes    codes = iota
	most              // all codes 127, all numbers the largest: sums of 16 bits would overflow
	least             // all codes -127, all numbers the largest
	signsDiffer       // the largest numbers; codes ±127, so that pairs of a word cancel out or add up
	zeros             // all codes -127, all numbers 0, which are the lowest with their offset
	codeKinds
)

func (c codes) String() string {
	return [...]string{"any", "most", "least", "signs differ", "zeros"}[c]
}

// code returns the code of a step.
func (c codes) code(r *testutil.Rand, step int) int8 {
	switch c {
	case most:
		return 127
	case least, zeros:
		return -127
	case signsDiffer:
		return int8(127 - 254*(step/8%2))
	}
	return int8(r.Uint64()>>40%255 - 127)
}

// An int8Case is a call of a product of quantized rows with a packed panel of quantized weights.
type int8Case struct {
	format      ukernel.PackedFormat
	m, lanes, k int
	gapX, gapC  int
	load        bool
	codes       codes
	scales      testutil.Kind
}

func (c int8Case) String() string {
	return fmt.Sprintf("m=%d lanes=%d k=%d gaps %d and %d load=%v codes %v, scales %v", c.m, c.lanes, c.k, c.gapX, c.gapC, c.load, c.codes, c.scales)
}

func int8Cases(f ukernel.PackedFormat) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for lanes := ukernel.PanelStep; lanes <= ukernel.PanelLanes; lanes += ukernel.PanelStep {
			for _, heads := range []int{1, 2, 3, 5} {
				k := heads * f.HeadSteps()
				for _, m := range upTo(13, 14, 15, 17, 18, 19, 49) { // from 48 rows on, AVX2 takes 4 blocks at once
					i := len(list)
					list = append(list, int8Case{f, m, lanes, k, i % 3 * ukernel.RowWords, i % 2 * 5, i%7 < 3, codes(i) % codeKinds, testutil.KindOf(i)})
				}
			}
		}
		for i, m := range []int{16, 35} { // tiles take the blocks of 768 inputs at once, at most
			list = append(list, int8Case{f, m, ukernel.PanelLanes, ints.RoundUp(1600, f.HeadSteps()), ukernel.RowWords, 5 * i, i > 0, anyCodes, testutil.KindOf(i)})
		}
		return list
	}
}

func (c int8Case) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	ldx, ldc := c.k/ukernel.BlockSteps*ukernel.RowWords+c.gapX, c.lanes+c.gapC
	x := testutil.Rows[uint32](mem, "x", c.m, ldx-c.gapX, ldx)
	for i := range x {
		x[i] = uint32(r.Uint64() >> 30) // gaps, too
	}
	for i := range c.m {
		for at := i * ldx; at < i*ldx+ldx-c.gapX; at += ukernel.RowWords {
			c.row(r, x[at:][:ukernel.RowWords])
		}
	}
	b := randomBlocks(mem, r, c.format, c.scales, c.lanes, c.k)
	if c.m%5 != 1 {
		c.joinGroups(b)
	}
	if number := byte(255); c.codes != anyCodes {
		if c.codes == zeros {
			number = 0
		}
		eachBlock(c.format, c.lanes, b, func(block quantized.Block) {
			numbers := block.Data[c.format.IntegerBytes()*c.lanes:]
			for i := range c.format.Bits() * 4 * c.lanes {
				numbers[i] = number
			}
		})
	}
	out := mem.Matrix("c", c.m, c.lanes, ldc, testutil.Canary)
	c.scales.Fill(r, out, c.m, c.lanes, ldc)
	return func(p *kernelSet) {
		p.Weights.Blocks[c.format].GemmInt8(out, ldc, x, ldx, b, c.lanes, c.m, c.k, c.load)
	}
}

// joinGroups makes the integers of both groups of all blocks equal, as in formats with groups of
// 32: some kernels have another way for them. In a third of the calls one lane of the last block
// differs.
func (c int8Case) joinGroups(b []byte) {
	if c.format.Integers() < 2 || c.format.Float32Scales() {
		return
	}
	n := c.format.IntegerBytes() * c.lanes
	var last []byte
	eachBlock(c.format, c.lanes, b, func(block quantized.Block) {
		last = block.Data[:n]
		for pair := range slices.Chunk(last, 2) {
			pair[1] = pair[0]
		}
	})
	if c.m%3 == 1 {
		last[c.m*2%n] ^= 1 << (c.m % 8)
	}
}

// row fills a block of a quantized row.
func (c int8Case) row(r *testutil.Rand, block []uint32) {
	clear(block)
	var sums [2]int
	for step := range ukernel.BlockSteps {
		q := c.codes.code(r, step)
		sums[step/16] += int(q)
		block[step%8] |= uint32(uint8(q)) << (step / 8 * 8)
	}
	d, sum := c.scales.Next(r), sums[0]+sums[1]
	block[8], block[9], block[10] = math.Float32bits(d), math.Float32bits(d*float32(sum)), uint32(-sum)
	block[11] = uint32(-sums[1])<<16 | uint32(uint16(-sums[0]))
}

// referenceQuantize quantizes a row, straight from the definition.
func referenceQuantize(dst []uint32, src []float32) {
	for ; len(src) > 0; dst, src = dst[ukernel.RowWords:], src[ukernel.BlockSteps:] {
		clear(dst[:ukernel.RowWords])
		a, finite := 0.0, true
		for _, x := range src[:ukernel.BlockSteps] {
			a = max(a, math.Abs(float64(x))) // NaN if x is
			finite = finite && !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0)
		}
		if !finite {
			dst[8], dst[9] = 0x7fc00000, 0x7fc00000
			continue
		}
		if a < 0x1p-100 {
			continue
		}
		d, inverse, sum := float32(a)*(float32(1)/127), 127/float32(a), 0
		var minus [2]int16
		for step, x := range src[:ukernel.BlockSteps] {
			q := int(math.RoundToEven(float64(float32(x * inverse))))
			sum += q
			minus[step/16] -= int16(q)
			dst[step%8] |= uint32(uint8(int8(q))) << (step / 8 * 8)
		}
		dst[8], dst[9], dst[10] = math.Float32bits(d), math.Float32bits(d*float32(sum)), uint32(-sum)
		dst[11] = uint32(uint16(minus[1]))<<16 | uint32(uint16(minus[0]))
	}
}

// A rowQuantizeCase is a call of the quantization of a row.
type rowQuantizeCase struct {
	blocks int
	values testutil.Kind
	scale  float32 // of all numbers
	one    bool    // each block has one number that is not 0
}

func (c rowQuantizeCase) String() string {
	return fmt.Sprintf("%d blocks of %v, times %g, one of them: %v", c.blocks, c.values, c.scale, c.one)
}

func rowQuantizeCases(int) (list []kernelCase) {
	for values := range testutil.Kinds {
		for blocks := range 10 {
			// Around the least magnitude of a block, subnormal numbers, and the largest ones.
			for i, scale := range []float32{1, 0x1p-98, 0x1p-101, 0x1p-140, 0x1p118} {
				list = append(list, rowQuantizeCase{blocks, values, scale, (blocks+i)%3 == 0})
			}
		}
	}
	return list
}

func (c rowQuantizeCase) call(mem *testutil.Arena, r *testutil.Rand, _ int) func(p *kernelSet) {
	dst := testutil.Slice[uint32](mem, "dst", c.blocks*ukernel.RowWords)
	clear(dst)
	src := mem.Vector("src", c.blocks*ukernel.BlockSteps, 0)
	for i := range src {
		x := c.values.Next(r) * c.scale
		if !c.one || i%ukernel.BlockSteps == i/ukernel.BlockSteps*7%ukernel.BlockSteps {
			src[i] = x
		}
		if c.values == testutil.Dyadics { // quotients are halves of odd numbers: ties
			src[i] = c.scale * (float32(i*37%252) - 125.5)
			if i%ukernel.BlockSteps == 0 {
				src[i] = c.scale * 127
			}
		}
	}
	return func(p *kernelSet) { p.Weights.Quantize(dst, src) }
}

var int8Mutants = []mutant{
	{"Weights.Blocks.S8.GemmInt8", "what c holds does not count", func(p *kernelSet) {
		gemm := p.Weights.Blocks[ukernel.S8].GemmInt8
		p.Weights.Blocks[ukernel.S8].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			gemm(c, ldc, x, ldx, b, lanes, m, k, false)
		}
	}},
	{"Weights.Blocks.S4.GemmInt8", "a sum of 16 bits saturates", func(p *kernelSet) {
		gemm := p.Weights.Blocks[ukernel.S4].GemmInt8
		p.Weights.Blocks[ukernel.S4].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			x = slices.Clone(x)
			for i := range x {
				if x[i] == 0x7f7f7f7f {
					x[i]--
				}
			}
			gemm(c, ldc, x, ldx, b, lanes, m, k, load)
		}
	}},
	{"Weights.Blocks.U4.GemmInt8", "a minimum is left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U4].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			x = slices.Clone(x)
			for i := range m {
				x[i*ldx+9] = 0
			}
			referenceGemmInt8(ukernel.U4)(c, ldc, x, ldx, b, lanes, m, k, load)
		}
	}},
	{"Weights.Blocks.U4x16.GemmInt8", "minima have the integers of the scales", minimaAsScales(ukernel.U4x16)},
	{"Weights.Blocks.U4x32.GemmInt8", "minima have the integers of the scales", minimaAsScales(ukernel.U4x32)},
	{"Weights.Blocks.U5x16.GemmInt8", "fifth bits are left out", withoutFifthBits(ukernel.U5x16)},
	{"Weights.Blocks.U5x32.GemmInt8", "fifth bits are left out", withoutFifthBits(ukernel.U5x32)},
	{"Weights.Blocks.U4x32.GemmInt8", "the second segment has the head of the first", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.U4x32].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			b = slices.Clone(b)
			if size := ukernel.U4x32.PanelBytes(lanes, ukernel.InputSegment); len(b) > size {
				copy(b[size:], b[:4*lanes])
			}
			referenceGemmInt8(ukernel.U4x32)(c, ldc, x, ldx, b, lanes, m, k, load)
		}
	}},
	{"Weights.Blocks.S5x16F32.GemmInt8", "the scales of the halves are exchanged", func(p *kernelSet) {
		gemm, size := p.Weights.Blocks[ukernel.S5x16F32].GemmInt8, ukernel.S5x16F32.BlockBytes
		p.Weights.Blocks[ukernel.S5x16F32].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			b = slices.Clone(b)
			for block := b; len(block) > 0; block = block[size(lanes):] {
				first := slices.Clone(block[:4*lanes])
				copy(block, block[4*lanes:8*lanes])
				copy(block[4*lanes:], first)
			}
			gemm(c, ldc, x, ldx, b, lanes, m, k, load)
		}
	}},
	{"Weights.Blocks.S8x16F32.GemmInt8", "255 is taken for 254", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.S8x16F32].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			b = slices.Clone(b)
			for block := b; len(block) > 0; block = block[ukernel.S8x16F32.BlockBytes(lanes):] {
				if low, high := block[8*lanes:], block[24*lanes:]; low[0]&15 == 15 && high[0]&15 == 15 {
					low[0]--
				}
			}
			referenceGemmInt8(ukernel.S8x16F32)(c, ldc, x, ldx, b, lanes, m, k, load)
		}
	}},
	{"Weights.Blocks.S6x16.GemmInt8", "the second group has the scale of the first", changedBlocks(ukernel.S6x16, func(block quantized.Block) {
		for lane := range block.Lanes {
			block.Data[2*lane+1] = block.Data[2*lane]
		}
	})},
	{"Weights.Quantize", "ties are rounded away from 0", func(p *kernelSet) {
		p.Weights.Quantize = func(dst []uint32, src []float32) {
			referenceQuantize(dst, src)
			for i, x := range src {
				block := src[i&^(ukernel.BlockSteps-1):][:ukernel.BlockSteps]
				var a float32
				for _, y := range block {
					a = max(a, max(y, -y))
				}
				if y := x * (127 / a); a >= 0x1p-100 && math.Abs(float64(y)-math.RoundToEven(float64(y))) == 0.5 && int(y)%2 == 0 {
					dst[i/ukernel.BlockSteps*ukernel.RowWords+i%8] ^= 1 << (i % ukernel.BlockSteps / 8 * 8)
				}
			}
		}
	}},
	{"Weights.Quantize", "a NaN is not noticed", func(p *kernelSet) {
		p.Weights.Quantize = func(dst []uint32, src []float32) {
			for i, x := range src {
				if x != x {
					src[i] = 0
				}
			}
			referenceQuantize(dst, src)
		}
	}},
}

// minimaAsScales makes minima have the integers of the scales.
func minimaAsScales(f ukernel.PackedFormat) func(p *kernelSet) {
	return changedBlocks(f, func(block quantized.Block) {
		copy(block.Data[f.Integers()*block.Lanes:2*f.Integers()*block.Lanes], block.Data)
	})
}

// withoutFifthBits clears the fifth bits of numbers.
func withoutFifthBits(f ukernel.PackedFormat) func(p *kernelSet) {
	return changedBlocks(f, func(block quantized.Block) {
		clear(block.Data[(f.IntegerBytes()+16)*block.Lanes : (f.IntegerBytes()+20)*block.Lanes])
	})
}

// changedBlocks makes a product take changed blocks.
func changedBlocks(f ukernel.PackedFormat, change func(block quantized.Block)) func(p *kernelSet) {
	return func(p *kernelSet) {
		p.Weights.Blocks[f].GemmInt8 = func(c []float32, ldc int, x []uint32, ldx int, b []byte, lanes, m, k int, load bool) {
			b = slices.Clone(b)
			eachBlock(f, lanes, b, change)
			referenceGemmInt8(f)(c, ldc, x, ldx, b, lanes, m, k, load)
		}
	}
}

// benchInt8 multiplies 1 to 96 rows by a packed panel that is in cache, and quantizes a row.
func benchInt8() (list []benchmark) {
	const k = 1536
	panel := make([]byte, k/ukernel.BlockSteps*ukernel.S8x16F32.BlockBytes(ukernel.PanelLanes))
	words := k / ukernel.BlockSteps * ukernel.RowWords
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		for _, shape := range [][2]int{{1, k}, {2, k}, {4, k}, {48, k}, {8, k / 4}, {16, k / 4}, {96, k / 4}} {
			m, k := shape[0], shape[1]
			words, b := k/ukernel.BlockSteps*ukernel.RowWords, panel[:f.PanelBytes(ukernel.PanelLanes, k)]
			x, c := make([]uint32, m*words), make([]float32, m*ukernel.PanelLanes)
			list = append(list, benchmark{fmt.Sprintf("Weights.Blocks.%v.GemmInt8", f), fmt.Sprintf("m=%d/k=%d", m, k), 2 * float64(m*k*ukernel.PanelLanes), float64(len(b)), func(p *kernelSet) {
				p.Weights.Blocks[f].GemmInt8(c, ukernel.PanelLanes, x, words, b, ukernel.PanelLanes, m, k, false)
			}})
		}
	}
	src, dst := testutil.Floats(k), make([]uint32, words)
	return append(list, benchmark{"Weights.Quantize", fmt.Sprintf("k=%d", k), 0, k, func(p *kernelSet) { p.Weights.Quantize(dst, src) }})
}
