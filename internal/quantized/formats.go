// Package quantized has the formats of quantized weights, a row each, and what becomes of them: numbers
// of float32, or the blocks of packed panels, whose formats are those of package ukernel.
package quantized

import "github.com/attn-go/attn/internal/ukernel"

// A Format is a format of quantized weights in files.
type Format struct {
	Name    string
	Weights int // of a block
	Bytes   int // of a block
	Packed  ukernel.PackedFormat

	// zero is the number of 0: a weight is (d·s)·(q-zero). If it is 0, a weight is (d·s)·q - m·t.
	zero uint8

	// read sets g to 32 weights of a block, number part.
	read func(g *group, block []byte, part int)

	// Blocks that do not fit make the weights be packed as wider. fits is nil if all fit.
	fits  func(block []byte) bool
	wider ukernel.PackedFormat
}

// formats has the formats at the numbers that GGUF files have for them. Their blocks are described in
// ggml/src/ggml-common.h of github.com/ggml-org/llama.cpp, and their weights in ggml-quants.c there.
var formats = [...]Format{
	2:  {"Q4_0", 32, 18, ukernel.S4, 8, readQ4_0, nil, 0},
	3:  {"Q4_1", 32, 20, ukernel.U4, 0, readQ4_1, nil, 0},
	6:  {"Q5_0", 32, 22, ukernel.U5x16, 16, readQ5_0, nil, 0},
	7:  {"Q5_1", 32, 24, ukernel.U5x16, 0, readQ5_1, nil, 0},
	8:  {"Q8_0", 32, 34, ukernel.S8, 128, readQ8_0, nil, 0},
	10: {"Q2_K", 256, 84, ukernel.U4x16, 0, readQ2_K, nil, 0},
	11: {"Q3_K", 256, 110, ukernel.U4x16, 4, readQ3_K, nil, 0},
	12: {"Q4_K", 256, 144, ukernel.U4x16, 0, readQ4_K, nil, 0},
	13: {"Q5_K", 256, 176, ukernel.U5x16, 0, readQ5_K, nil, 0},
	14: {"Q6_K", 256, 210, ukernel.S6x16, 32, readQ6_K, nil, 0},
	20: {"IQ4_NL", 32, 18, ukernel.S8, 128, readIQ4_NL, nil, 0},
	39: {"MXFP4", 32, 17, ukernel.U5x16, e2m1Zero, readMXFP4, fitsMXFP4, ukernel.U5x16BF16},
	40: {"NVFP4", 64, 36, ukernel.S5x16F32, e2m1Zero, readNVFP4, nil, 0},
}

// Of returns the format of a number, or nil if there is none.
func Of(number int) *Format {
	if number < 0 || number >= len(formats) || formats[number].Name == "" {
		return nil
	}
	return &formats[number]
}

// PackedFor returns what blocks are packed as.
func (f *Format) PackedFor(blocks []byte) ukernel.PackedFormat {
	for ; f.fits != nil && len(blocks) > 0; blocks = blocks[f.Bytes:] {
		if !f.fits(blocks[:f.Bytes]) {
			return f.wider
		}
	}
	return f.Packed
}

// PackedAs tells whether blocks of the format may be packed as p.
func (f *Format) PackedAs(p ukernel.PackedFormat) bool {
	return p == f.Packed || f.fits != nil && p == f.wider
}
