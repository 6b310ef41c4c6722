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
)

// BlockFormats lists all of them.
var BlockFormats = []BlockFormat{Q8_0, Q4_0, Q4_1}

// PanelLanes is the width of a packed panel of weights.
const PanelLanes = 48

const (
	BlockSteps = contract.WeightBlock // steps of a block
	WordSteps  = 4                    // words of a lane in a block of 4-bit numbers, and the distance of the steps in a word
)

func (q BlockFormat) String() string { return [...]string{"Q8_0", "Q4_0", "Q4_1"}[q] }

// Bits is the size of a number.
func (q BlockFormat) Bits() int { return [...]int{8, 4, 4}[q] }

// HeaderBytes is the size of the scales and minima of a lane in a block.
func (q BlockFormat) HeaderBytes() int { return [...]int{2, 2, 4}[q] }

// LaneBytes is the size of a lane in a row of numbers: an int8, or a word.
func (q BlockFormat) LaneBytes() int { return [...]int{1, 4, 4}[q] }

// BlockBytes is the size of a block of a number of lanes.
func (q BlockFormat) BlockBytes(lanes int) int {
	return lanes * (q.HeaderBytes() + BlockSteps*q.Bits()/8)
}

// WeightGemmQ is the product with a packed panel of quantized weights.
func WeightGemmQ(q BlockFormat) Function { return block(q, "Gemm") }

// WeightWidenQ widens a packed panel of quantized weights.
func WeightWidenQ(q BlockFormat) Function { return block(q, "Widen") }

func block(q BlockFormat, field string) Function {
	f := kernel(WeightTable, field)
	f.Name, f.Note = f.Name+q.String(), fmt.Sprintf("The format is %v.", q)
	f.Array, f.Size, f.Index, f.Elem = "Blocks", "BlockFormats", q.String(), "BlockKernels"
	return f
}

// A BlockEmitter emits the kernels for quantized weights.
type BlockEmitter interface {
	WeightGemmQ(q BlockFormat)
	WeightWidenQ(q BlockFormat)
}

func emitBlocks(e BlockEmitter) {
	for _, q := range BlockFormats {
		e.WeightGemmQ(q)
		e.WeightWidenQ(q)
	}
}
