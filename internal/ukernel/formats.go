package ukernel

// A PackedFormat is how quantized weights lie in a packed panel, and what kernels for them are made
// for. Package quantized says which formats of files are packed into which.
//
// A panel has some lanes, one per output, a multiple of PanelStep. Its blocks of BlockSteps inputs
// follow each other. A block is, all numbers little-endian,
//
//	scales, and minima    see below
//	q [bits][lanes] words
//
// Segmented formats are for files whose scale holds for 256 weights: d, and m, stand before the
// first block of every InputSegment steps and not in the blocks. A panel has whole segments.
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
// for unsigned ones with a minimum; their bits; and x16 or x32 if integers multiply the scale of 16
// or 32 steps. Scales are binary16 unless the name says another type. With d, and m if there are
// minima,
//
//	S8, S4      d [lanes]                                 a weight is d·(q-offset)
//	U4          d, m [lanes]                              d·q + m
//	E2M1        d [lanes] bfloat16                        d·(value-offset)
//	IQ4         d [lanes]                                 the same
//	S6x16       d [lanes], s [lanes][2] int8              (d·s)·(q-offset), s by halves
//	U4x16, ...  d, m [lanes], s, t [lanes][2] int8        (d·s)·q - m·t
//	U4x32, ...  d, m [lanes], s, t [lanes] int8           the same, for all steps
//
// S6x16, U4x32 and U5x32 are segmented. The numbers of E2M1 and IQ4 stand for values, see Values;
// the d of E2M1 are powers of two, NaN or 0.
const (
	S8 PackedFormat = iota
	S4
	U4
	E2M1
	IQ4
	U4x32
	U4x16
	U5x32
	U5x16
	S6x16

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
	integers     int // for a scale and a block; scales of float32 count as such
	segmented    bool
}{
	S8:       {"S8", 8, 128, 0, false},
	S4:       {"S4", 4, 8, 0, false},
	U4:       {"U4", 4, 0, 0, false},
	E2M1:     {"E2M1", 4, 16, 0, false},
	IQ4:      {"IQ4", 4, 128, 0, false},
	U4x32:    {"U4x32", 4, 0, 1, true},
	U4x16:    {"U4x16", 4, 0, 2, false},
	U5x32:    {"U5x32", 5, 0, 1, true},
	U5x16:    {"U5x16", 5, 0, 2, false},
	S6x16:    {"S6x16", 6, 32, 2, true},
	S5x16F32: {"S5x16F32", 5, 16, 2, false},
	S8x16F32: {"S8x16F32", 8, 128, 2, false},
}

func (f PackedFormat) String() string { return packedFormats[f].name }

// Bits is the size of a number. So many words has a lane in a block.
func (f PackedFormat) Bits() int { return packedFormats[f].bits }

// Values are what the numbers of a format stand for, or nil if they stand for themselves.
func (f PackedFormat) Values() *[16]uint8 {
	switch f {
	case E2M1:
		return &e2m1Values
	case IQ4:
		return &iq4Values
	}
	return nil
}

// e2m1Values are the values of OCP's E2M1, doubled, plus 16: 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and the
// same negated, with 0 for -0 (Open Compute Project: "OCP Microscaling Formats (MX) Specification",
// version 1.0). Panels have no -0.
var e2m1Values = [16]uint8{16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4}

// iq4Values are the values of IQ4_NL plus 128: kvalues_iq4nl in ggml-common.h of llama.cpp.
var iq4Values = [16]uint8{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}

// Positions is how many numbers a word has, if it has steps that are Bits apart.
func (f PackedFormat) Positions() int { return 32 / f.Bits() }

// Offset is what makes the numbers unsigned; with 0 a block has minima.
func (f PackedFormat) Offset() int { return packedFormats[f].offset }

// Grouped formats have scales for each 16 steps, which may be equal.
func (f PackedFormat) Grouped() bool { return f.Integers() > 0 }

// Unpacks tells whether products for few rows take the words of BlockKernels.Unpack. Grouped
// formats do, but for U4x32.
func (f PackedFormat) Unpacks() bool { return f.Grouped() && f != U4x32 }

// Tiles tells whether a unit for tiles multiplies quantized rows with the format. Halves of the
// steps have tiles of their own, and with minima beside them, to scale their sums takes as long as
// the product by vectors.
func (f PackedFormat) Tiles() bool { return f.Integers() < 2 || f.Offset() != 0 }

// Integers is how many integers of a lane a block has for a scale, or a minimum.
func (f PackedFormat) Integers() int { return packedFormats[f].integers }

// Segmented formats have scales and minima for InputSegment steps.
func (f PackedFormat) Segmented() bool { return packedFormats[f].segmented }

// BFloat16Scales tells whether scales are bfloat16 in the place of binary16. offset·d may be
// infinite where weights are not. So a weight is the difference of a value and the offset, times d.
func (f PackedFormat) BFloat16Scales() bool { return f == E2M1 }

// Float32Scales tells whether scales are float32, one for each half of the steps.
func (f PackedFormat) Float32Scales() bool { return f == S5x16F32 || f == S8x16F32 }

// Halves is the number of binary16 or bfloat16 of a lane: the scale, and the minimum.
func (f PackedFormat) Halves() int {
	if f.Offset() == 0 {
		return 2
	}
	return 1
}

// HeadBytes is the size of the scale and the minimum of a lane, of 16 bits each, and HeadSteps for
// how many steps they are.
func (f PackedFormat) HeadBytes() int {
	if f.Float32Scales() {
		return 0
	}
	return 2 * f.Halves()
}

func (f PackedFormat) HeadSteps() int {
	if f.Segmented() {
		return InputSegment
	}
	return BlockSteps
}

// IntegerBytes is the size of the integers, or scales of float32, of a lane in a block.
func (f PackedFormat) IntegerBytes() int {
	if f.Float32Scales() {
		return 8
	}
	return f.Integers() * f.Halves()
}

// HeaderBytes is what a lane has in a block before its numbers.
func (f PackedFormat) HeaderBytes() int {
	if f.Segmented() {
		return f.IntegerBytes()
	}
	return f.HeadBytes() + f.IntegerBytes()
}

// BlockBytes is the size of a block of some lanes.
func (f PackedFormat) BlockBytes(lanes int) int {
	return lanes * (f.HeaderBytes() + BlockSteps*f.Bits()/8)
}

// PanelBytes is the size of some steps of a panel, a multiple of HeadSteps.
func (f PackedFormat) PanelBytes(lanes, steps int) int {
	size := steps / BlockSteps * f.BlockBytes(lanes)
	if f.Segmented() {
		size += steps / InputSegment * f.HeadBytes() * lanes
	}
	return size
}
