package spec

import (
	"fmt"

	"github.com/attn-go/attn/contract"
)

// A BlockFormat is a format of quantized weights, see package fallback.
type BlockFormat int

const (
	Q8_0 BlockFormat = iota
	Q4_0
	Q4_1
	K4
	K5
	K6
	K5B
)

// BlockFormats lists those with one scale a block, GroupedFormats the others.
var (
	BlockFormats   = []BlockFormat{Q8_0, Q4_0, Q4_1}
	GroupedFormats = []BlockFormat{K4, K5, K6, K5B}
)

// PanelLanes is the width of a packed panel of weights.
const PanelLanes = 48

// BlockSteps is the number of steps of a block.
const BlockSteps = contract.WeightBlock

func (q BlockFormat) String() string {
	return [...]string{"Q8_0", "Q4_0", "Q4_1", "K4", "K5", "K6", "K5B"}[q]
}

// Bits is the size of a number. So many words has a lane in a block, and so far are the steps of the
// numbers of a word apart.
func (q BlockFormat) Bits() int { return [...]int{8, 4, 4, 4, 5, 6, 5}[q] }

// Positions is how many numbers a word has.
func (q BlockFormat) Positions() int { return 32 / q.Bits() }

// Offset is taken off the numbers; with 0 a block has minima.
func (q BlockFormat) Offset() int { return [...]int{128, 8, 0, 0, 0, 32, 0}[q] }

// Grouped formats have an integer for each 16 steps of a block, and another one if there are minima.
func (q BlockFormat) Grouped() bool { return q >= K4 }

// Brain formats have bfloat16 in the place of binary16, which are powers of two. The least,
// a subnormal number, times a power of two below 1 would be 0: so their numbers are moved
// to the lowest bits of words, where those of others are taken at their places, with a
// scale that is smaller by as much.
func (q BlockFormat) Brain() bool { return q == K5B }

// Halves is the number of binary16 of a lane at the start of a block: a scale, and perhaps a minimum.
func (q BlockFormat) Halves() int {
	if q.Offset() == 0 {
		return 2
	}
	return 1
}

// HeaderBytes is the size of the scales and minima of a lane in a block.
func (q BlockFormat) HeaderBytes() int {
	if q.Grouped() {
		return 4 * q.Halves()
	}
	return 2 * q.Halves()
}

// UnpackedRows is how many rows of words an unpacked block of a grouped format has, of which so many before its numbers, and how
// many lines are prefetched while a product takes one.
const (
	UnpackedRows   = 12
	UnpackedHeader = 4
	UnpackedLines  = 24
)

// The places in a block of a quantized row, in bytes, see ukernel.WeightKernels.Quantize, and its size.
const (
	RowScale    = 32
	RowSum      = 36 // of the scaled codes
	RowMinusSum = 40 // of the codes
	RowBytes    = 48
)

// BlockBytes is the size of a block of a number of lanes.
func (q BlockFormat) BlockBytes(lanes int) int {
	return lanes * (q.HeaderBytes() + BlockSteps*q.Bits()/8)
}

// WeightGemmQ is the product with a packed panel of quantized weights.
func WeightGemmQ(q BlockFormat) Function { return block(q, "Gemm") }

// WeightGemmInt8 is the product of quantized rows with such a panel.
func WeightGemmInt8(q BlockFormat) Function { return block(q, "GemmInt8") }

// WeightGemmInt8Dot is the same with instructions that not all CPUs of an ISA have, beside one without.
func WeightGemmInt8Dot(q BlockFormat) Function {
	f := WeightGemmInt8(q)
	f.Name = "WeightGemmInt8Dot" + q.String()
	return f
}

// WeightWidenQ widens a packed panel of quantized weights.
func WeightWidenQ(q BlockFormat) Function { return block(q, "Widen") }

// WeightUnpack unpacks a packed panel of a grouped format for WeightGemmUnpacked.
func WeightUnpack(q BlockFormat) Function { return block(q, "Unpack") }

func block(q BlockFormat, field string) Function {
	f := kernel(WeightTable, field)
	f.Name, f.Note = f.Name+q.String(), fmt.Sprintf("The format is %v.", q)
	f.Array, f.Size, f.Index, f.Elem = "Blocks", "BlockFormats", q.String(), "BlockKernels"
	return f
}

// A BlockEmitter emits the kernels for quantized weights.
type BlockEmitter interface {
	WeightGemmQ(q BlockFormat)
	WeightGemmInt8(q BlockFormat)
	WeightWidenQ(q BlockFormat)
	WeightWidenGrouped(q BlockFormat)
	WeightGemmInt8Grouped(q BlockFormat)
	WeightQuantize()
}

// An UnpackEmitter emits products with grouped formats for few rows, which an ISA may lack.
type UnpackEmitter interface {
	WeightUnpack(q BlockFormat)
	WeightGemmUnpacked()
}

func emitBlocks(e BlockEmitter) {
	for _, q := range BlockFormats {
		e.WeightGemmQ(q)
		e.WeightGemmInt8(q)
		e.WeightWidenQ(q)
	}
	for _, q := range GroupedFormats {
		e.WeightWidenGrouped(q)
		e.WeightGemmInt8Grouped(q)
	}
	if u, ok := e.(UnpackEmitter); ok {
		for _, q := range GroupedFormats {
			if !q.Brain() {
				u.WeightUnpack(q)
			}
		}
		u.WeightGemmUnpacked()
	}
	e.WeightQuantize()
}
