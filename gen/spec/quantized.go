package spec

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/internal/ukernel"
)

// SingleFormats have one scale a block, GroupedFormats one for each half of it.
var SingleFormats, GroupedFormats = packedFormats(false), packedFormats(true)

func packedFormats(grouped bool) (list []ukernel.PackedFormat) {
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		if f.Grouped() == grouped {
			list = append(list, f)
		}
	}
	return list
}

// ScaleKinds has a format for each kind of scales, SingleKinds those with a single one,
// GroupedKinds those with integers or scales for each half of a block. Float32 is a kind with each
// offset.
var (
	ScaleKinds   = []ukernel.PackedFormat{ukernel.U4, ukernel.S4, ukernel.E2M1, ukernel.U5x32, ukernel.U5x16, ukernel.S6x16, ukernel.S5x16F32, ukernel.S8x16F32}
	SingleKinds  = ScaleKinds[:3]
	GroupedKinds = ScaleKinds[3:]
)

// ScaleKind is the place of a format's kind in ScaleKinds.
func ScaleKind(q ukernel.PackedFormat) int {
	return slices.IndexFunc(ScaleKinds, func(k ukernel.PackedFormat) bool {
		if q.Float32Scales() {
			return k == q
		}
		return k.Integers() == q.Integers() && k.BFloat16Scales() == q.BFloat16Scales() && !k.Float32Scales() && (k.Offset() == 0) == (q.Offset() == 0)
	})
}

// The width of a packed panel of weights, and the steps of a block.
const (
	PanelLanes = ukernel.PanelLanes
	BlockSteps = ukernel.BlockSteps
)

// UnpackedRows is how many rows of words an unpacked block of a grouped format has, of which so
// many before its numbers, and how many lines are prefetched while a product takes one.
const (
	UnpackedRows   = ukernel.UnpackedRows
	UnpackedHeader = 4
	UnpackedLines  = 24
)

// The places in a block of a quantized row, in bytes, see ukernel.WeightKernels.Quantize, and its
// size.
const (
	RowScale    = 32
	RowSum      = 36 // of the scaled codes
	RowMinusSum = 40 // of the codes
	RowGroups   = 44 // minus the sums of the codes of both groups of 16, 16 bits each
	RowBytes    = 48
)

// WeightGemmQ is the product with a packed panel of quantized weights.
func WeightGemmQ(q ukernel.PackedFormat) Function { return block(q, "Gemm") }

// WeightGemmInt8 is the product of quantized rows with such a panel.
func WeightGemmInt8(q ukernel.PackedFormat) Function { return block(q, "GemmInt8") }

// WeightGemmInt8Dot is the same with instructions that not all CPUs of an ISA have, beside one
// without.
func WeightGemmInt8Dot(q ukernel.PackedFormat) Function {
	f := WeightGemmInt8(q)
	f.Name = "WeightGemmInt8Dot" + q.String()
	return f
}

// WeightGemmInt8Tiles is the same by a unit for tiles.
func WeightGemmInt8Tiles(q ukernel.PackedFormat) Function {
	f := WeightGemmInt8(q)
	f.Name = "WeightGemmInt8Tiles" + q.String()
	return f
}

// LeastTileRows is the least number of rows that a unit for tiles takes: its last tile begins so
// many rows before the end. With fewer rows it would begin before x and c.
const LeastTileRows = 16

// WeightWidenQ widens a packed panel of quantized weights.
func WeightWidenQ(q ukernel.PackedFormat) Function { return block(q, "Widen") }

// WeightUnpack unpacks a packed panel of a grouped format for WeightGemmUnpacked.
func WeightUnpack(q ukernel.PackedFormat) Function { return block(q, "Unpack") }

func block(q ukernel.PackedFormat, field string) Function {
	f := kernel(WeightTable, field)
	f.Name, f.Note = f.Name+q.String(), fmt.Sprintf("The format is %v.", q)
	f.Array, f.Size, f.Index, f.Elem = "Blocks", "PackedFormats", q.String(), "BlockKernels"
	return f
}

// A BlockEmitter emits the kernels for quantized weights.
type BlockEmitter interface {
	WeightGemmQ(q ukernel.PackedFormat)
	WeightGemmInt8(q ukernel.PackedFormat)
	WeightWidenQ(q ukernel.PackedFormat)
	WeightWidenGrouped(q ukernel.PackedFormat)
	WeightGemmInt8Grouped(q ukernel.PackedFormat)
	WeightQuantize()
}

// A TileEmitter emits kernels for units for tiles, which an ISA may lack.
type TileEmitter interface {
	TileProbes()
	GemmTiles()
	GemmHalves()
	BetweenTiles()
	RoundHalves()
	ScoreHalves()
	WeightGemmInt8Tiles(q ukernel.PackedFormat)
}

// An UnpackEmitter emits products with grouped formats for few rows, which an ISA may lack.
type UnpackEmitter interface {
	WeightUnpack(q ukernel.PackedFormat)
	WeightGemmUnpacked()
}

func emitBlocks(e BlockEmitter) {
	tiles, hasTiles := e.(TileEmitter)
	for _, q := range SingleFormats {
		e.WeightGemmQ(q)
		e.WeightGemmInt8(q)
		if hasTiles && q.Tiles() {
			tiles.WeightGemmInt8Tiles(q)
		}
		e.WeightWidenQ(q)
	}
	u, unpacks := e.(UnpackEmitter)
	for _, q := range GroupedFormats {
		e.WeightWidenGrouped(q)
		switch {
		case unpacks && q.Unpacks():
			u.WeightUnpack(q)
		case unpacks:
			e.WeightGemmQ(q)
		}
		e.WeightGemmInt8Grouped(q)
		if hasTiles && q.Tiles() {
			tiles.WeightGemmInt8Tiles(q)
		}
	}
	if unpacks {
		u.WeightGemmUnpacked()
	}
	e.WeightQuantize()
	if hasTiles {
		tiles.GemmTiles()
		tiles.GemmHalves()
		tiles.BetweenTiles()
		tiles.RoundHalves()
		tiles.ScoreHalves()
	}
}
