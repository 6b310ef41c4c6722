package tier

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

type (
	blockGemm  = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool)
	blockWiden = func(dst []float32, b []byte, lanes, k int)
)

// referenceGemm is the product with a packed panel of quantized weights, straight from the
// definition.
func referenceGemm(f ukernel.BlockFormat) blockGemm {
	return func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
		wide := make([]float32, k*ukernel.PanelLanes)
		referenceWiden(f)(wide, b, ukernel.PanelLanes, k)
		testutil.Gemm(ukernel.PanelLanes, c, ldc, a, rs, cs, wide, ukernel.PanelLanes, m, k, ukernel.InputSegment, load)
	}
}

func referenceWiden(f ukernel.BlockFormat) blockWiden {
	return func(dst []float32, b []byte, lanes, k int) {
		q := quantized.Of(f)
		for x := 0; x < k; x += ukernel.BlockSteps {
			block := b[x/ukernel.BlockSteps*q.Bytes(lanes):]
			for lane := range lanes {
				d, m := q.Scales(block, lanes, lane)
				words := q.Words(block, lanes, lane)
				for step := range ukernel.BlockSteps {
					number := words[step%8] >> (step / 8 * 8) & 255
					dst[(x+step)*lanes+lane] = float32(float32(number)*d[step/16]) + m[step/16]
				}
			}
		}
	}
}

// A blockCase is a call of a product with a packed panel of quantized weights.
type blockCase struct {
	format ukernel.BlockFormat
	load   bool
	gemmCase
}

func (c blockCase) String() string { return fmt.Sprintf("load=%v %v", c.load, c.gemmCase) }

func blockCases(f ukernel.BlockFormat) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for a := range operands {
			for _, k := range []int{32, 128, 160, 256, 288} { // one segment to three, whole or not
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
	return func(p *kernelSet) { p.Weights.Blocks[c.format].Gemm(out, ldc, a, rs, cs, b, c.m, c.k, c.load) }
}

// randomBlocks returns a packed panel of random numbers. Its scales and minima are any
// binary16 if the values are not finite, else below 2.
func randomBlocks(mem *testutil.Arena, r *testutil.Rand, f ukernel.BlockFormat, values testutil.Kind, lanes, k int) []byte {
	panel := testutil.Slice[byte](mem, "b", k/ukernel.BlockSteps*quantized.Of(f).Bytes(lanes))
	for i := range panel {
		panel[i] = byte(r.Uint64() >> 40)
	}
	for block := panel; len(block) > 0; block = block[quantized.Of(f).Bytes(lanes):] {
		for i := range quantized.Of(f).Halves() * lanes {
			half := uint16(r.Uint64() >> 40)
			if values != testutil.NonFinite {
				half &^= 0x4000
			}
			binary.LittleEndian.PutUint16(block[2*i:], half)
		}
	}
	return panel
}

// A blockWidenCase is a call of the conversion of a packed panel.
type blockWidenCase struct {
	format   ukernel.BlockFormat
	lanes, k int
	values   testutil.Kind
}

func (c blockWidenCase) String() string {
	return fmt.Sprintf("lanes=%d k=%d of %v", c.lanes, c.k, c.values)
}

func blockWidenCases(f ukernel.BlockFormat) func(w int) []kernelCase {
	return func(int) (list []kernelCase) {
		for v := range testutil.Kinds {
			for lanes := ukernel.PanelStep; lanes <= ukernel.PanelLanes; lanes += ukernel.PanelStep {
				for k := 0; k <= 5*ukernel.BlockSteps; k += ukernel.BlockSteps {
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
	{"Weights.Blocks.Q8_0.Gemm", "what c holds does not count", func(p *kernelSet) { ignoreC(&p.Weights.Blocks[ukernel.Q8_0].Gemm) }},
	{"Weights.Blocks.Q4_0.Gemm", "the second segment is left out", func(p *kernelSet) {
		gemm := p.Weights.Blocks[ukernel.Q4_0].Gemm
		p.Weights.Blocks[ukernel.Q4_0].Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
			gemm(c, ldc, a, rs, cs, b, m, min(k, ukernel.InputSegment), load)
		}
	}},
	{"Weights.Blocks.Q4_1.Gemm", "the twelfth row is not written", func(p *kernelSet) {
		gemm := p.Weights.Blocks[ukernel.Q4_1].Gemm
		p.Weights.Blocks[ukernel.Q4_1].Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []byte, m, k int, load bool) {
			gemm(c, ldc, a, rs, cs, b, min(m, 11), k, load)
		}
	}},
	{"Weights.Blocks.Q8_0.Widen", "weights have no sign", func(p *kernelSet) {
		widen := p.Weights.Blocks[ukernel.Q8_0].Widen
		p.Weights.Blocks[ukernel.Q8_0].Widen = func(dst []float32, b []byte, lanes, k int) {
			widen(dst, b, lanes, k)
			for i := range dst {
				dst[i] = max(dst[i], -dst[i])
			}
		}
	}},
	{"Weights.Blocks.Q4_0.Widen", "the last block is the first one again", func(p *kernelSet) {
		widen := p.Weights.Blocks[ukernel.Q4_0].Widen
		p.Weights.Blocks[ukernel.Q4_0].Widen = func(dst []float32, b []byte, lanes, k int) {
			widen(dst, b, lanes, k)
			if k > ukernel.BlockSteps {
				copy(dst[(k-ukernel.BlockSteps)*lanes:], dst[:ukernel.BlockSteps*lanes])
			}
		}
	}},
	{"Weights.Blocks.Q4_1.Widen", "a minimum is left out", func(p *kernelSet) {
		widen, size := p.Weights.Blocks[ukernel.Q4_1].Widen, quantized.Of(ukernel.Q4_1).Bytes
		p.Weights.Blocks[ukernel.Q4_1].Widen = func(dst []float32, b []byte, lanes, k int) {
			b = bytes.Clone(b)
			for block := b; len(block) > 0; block = block[size(lanes):] {
				clear(block[4*lanes-2 : 4*lanes]) // that of the last lane
			}
			widen(dst, b, lanes, k)
		}
	}},
	{"Weights.Blocks.K4.Gemm", "what c holds does not count", func(p *kernelSet) { ignoreC(&p.Weights.Blocks[ukernel.K4].Gemm) }},
	{"Weights.Blocks.K5.Widen", "fifth bits are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.K5].Widen = withoutNumbers(ukernel.K5, 4)
	}},
	{"Weights.Blocks.K6.Widen", "sixth bits are left out", func(p *kernelSet) {
		p.Weights.Blocks[ukernel.K6].Widen = withoutNumbers(ukernel.K6, 5)
	}},
}

// withoutNumbers widens a panel of one whose words of numbers from a word on are zeros.
func withoutNumbers(f ukernel.BlockFormat, word int) blockWiden {
	return func(dst []float32, b []byte, lanes, k int) {
		q := quantized.Of(f)
		b = bytes.Clone(b)
		for block := b; len(block) > 0; block = block[q.Bytes(lanes):] {
			clear(block[q.Bytes(lanes)-4*lanes*(q.Bits-word) : q.Bytes(lanes)])
		}
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
func benchBlocks() (list []benchmark) {
	const k = 1536
	panel := make([]byte, k/ukernel.BlockSteps*quantized.Of(ukernel.Q8_0).Bytes(ukernel.PanelLanes))
	wide := make([]float32, k*ukernel.PanelLanes)
	for f, name := range []string{"Q8_0", "Q4_0", "Q4_1"} {
		f := ukernel.BlockFormat(f)
		b := panel[:k/ukernel.BlockSteps*quantized.Of(f).Bytes(ukernel.PanelLanes)]
		for _, m := range []int{1, 2, 4} {
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
