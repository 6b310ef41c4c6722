package ukernel

import "github.com/attn-go/attn/contract"

// A PackedFormat is how quantized weights lie in a packed panel, and what kernels for them are made
// for. Package quantized says which formats of files are packed into which.
//
// A panel has some lanes, one per output, a multiple of PanelStep. Its blocks of BlockSteps inputs
// follow each other. A block is, all numbers little-endian,
//
//	scales, and minima    see below
//	q [bits][lanes] words
//
// All q are unsigned. In S8, byte i of word g is the number of step 8i+g. In others, the lower half
// of byte i of word g < 4 has the lowest 4 bits of step 8i+g, and the upper half has step 8i+g+4.
// Each step has b further bits: byte i of word 4+g·b/4 has them for step 8i+g from bit g·b mod 4
// on, and for step 8i+g+4 from bit g·b mod 4 + 4 on.
//
// So the words of a lane hold neighbouring steps at the same bits, in the order of a chain; and the
// words with their bits beyond the lower 4 of every byte cleared are the bytes of the same steps in
// all sizes.
type PackedFormat int

// The formats have the names of what they hold: S for signed numbers, which have an offset, or U
// for unsigned ones with a minimum; their bits; and x16 if a block has a scale for each 16 steps,
// not one for all 32. Scales are binary16 unless the name says another type. With d, and m if there
// are minima,
//
//	S8, S4      d [lanes]                                 a weight is d·(q-offset)
//	U4          d, m [lanes]                              d·q + m
//	S6x16       d [lanes], s [lanes][2] int8              (d·s)·(q-offset), s by halves of the steps
//	U4x16, ...  d, m [lanes], s, t [lanes][2] int8        (d·s)·q - m·t
const (
	S8 PackedFormat = iota
	S4
	U4
	U4x16
	U5x16
	S6x16

	// U5x16BF16 has powers of two as bfloat16, NaN or 0. m·t is the 16-fold of d·s: a weight is
	// (d·s)·(q-16), which may be within float32 where m·t is not.
	U5x16BF16

	// S5x16F32 has scales of float32 and no integers: d [2][lanes], by halves of the steps. A d is
	// 0, from 2^-100 to 2^100 in magnitude, or NaN. A weight is d·(q-offset), rounded once.
	S5x16F32

	// S8x16F32 is S5x16F32 with more bits.
	S8x16F32

	PackedFormats = iota // number of formats
)

var packedFormats = [PackedFormats]struct {
	name         string
	bits, offset int
	grouped      bool
}{
	S8:        {"S8", 8, 128, false},
	S4:        {"S4", 4, 8, false},
	U4:        {"U4", 4, 0, false},
	U4x16:     {"U4x16", 4, 0, true},
	U5x16:     {"U5x16", 5, 0, true},
	S6x16:     {"S6x16", 6, 32, true},
	U5x16BF16: {"U5x16BF16", 5, 0, true},
	S5x16F32:  {"S5x16F32", 5, 16, true},
	S8x16F32:  {"S8x16F32", 8, 128, true},
}

func (f PackedFormat) String() string { return packedFormats[f].name }

// Bits is the size of a number. So many words has a lane in a block.
func (f PackedFormat) Bits() int { return packedFormats[f].bits }

// BrainZero is the number of 0 in brain formats.
const BrainZero = 16

// Positions is how many numbers a word has, if it has steps that are Bits apart.
func (f PackedFormat) Positions() int { return 32 / f.Bits() }

// Offset is what makes the numbers unsigned; with 0 a block has minima.
func (f PackedFormat) Offset() int { return packedFormats[f].offset }

// Grouped formats have scales for each 16 steps.
func (f PackedFormat) Grouped() bool { return packedFormats[f].grouped }

// Brain formats have bfloat16 in the place of binary16.
func (f PackedFormat) Brain() bool { return f == U5x16BF16 }

// Float32Scales tells whether scales are float32, one for each half of the steps.
func (f PackedFormat) Float32Scales() bool { return f == S5x16F32 || f == S8x16F32 }

// Unpacks tells whether BlockKernels.Unpack takes the format.
func (f PackedFormat) Unpacks() bool { return f.Grouped() && !f.Brain() }

// Halves is the number of binary16 or bfloat16 of a lane at the start of a block: the scale, and
// the minimum.
func (f PackedFormat) Halves() int {
	if f.Offset() == 0 {
		return 2
	}
	return 1
}

// HeaderBytes is the size of the scales and minima of a lane in a block.
func (f PackedFormat) HeaderBytes() int {
	if f.Float32Scales() {
		return 8
	}
	if f.Grouped() {
		return 4 * f.Halves()
	}
	return 2 * f.Halves()
}

// BlockBytes is the size of a block of some lanes.
func (f PackedFormat) BlockBytes(lanes int) int {
	return lanes * (f.HeaderBytes() + contract.WeightBlock*f.Bits()/8)
}
