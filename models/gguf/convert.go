package gguf

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// The functions convert one block, those of types without blocks any number of elements.
//
// Products that are added have at most 22 significant bits: 11 of a scale in binary16, 6 of a
// scale of a group, 5 of an element. So they are exact, and it would not matter if the
// compiler fused them with the addition. The explicit conversions say that it must not.

func fromF32(dst []float32, b []byte) { littleendian.Copy(dst, b) }

func fromF16(dst []float32, b []byte) { littleendian.Widen(dst, b, kernel.Float16) }

func fromBF16(dst []float32, b []byte) { littleendian.Widen(dst, b, kernel.BFloat16) }

// half returns the binary16 at the start of b.
func half(b []byte) float32 { return kernel.F16(binary.LittleEndian.Uint16(b)).Float32() }

// fromQ8_0: a scale, and 32 int8.
func fromQ8_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:34] {
		dst[i] = d * float32(int8(q))
	}
}

// fromQ4_0: a scale, and 16 bytes with the first 16 elements in the low halves and the others
// in the high ones, 8 too large.
func fromQ4_0(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:18] {
		dst[i] = d * float32(int(q&15)-8)
		dst[i+16] = d * float32(int(q>>4)-8)
	}
}

// fromQ4_1: a scale, the least value, and 16 bytes as in Q4_0 that count from it.
func fromQ4_1(dst []float32, b []byte) {
	d, m := half(b), half(b[2:])
	for i, q := range b[4:20] {
		dst[i] = float32(d*float32(q&15)) + m
		dst[i+16] = float32(d*float32(q>>4)) + m
	}
}

// fromQ5_0: a scale, 4 bytes with the fifth bits of the elements, and 16 bytes as in Q4_0. An
// element is 16 too large.
func fromQ5_0(dst []float32, b []byte) {
	d, high := half(b), binary.LittleEndian.Uint32(b[2:])
	for i, q := range b[6:22] {
		dst[i] = d * float32(int(fifthBit(q&15, high, i))-16)
		dst[i+16] = d * float32(int(fifthBit(q>>4, high, i+16))-16)
	}
}

// fromQ5_1: a scale, the least value, and the elements as in Q5_0, which count from it.
func fromQ5_1(dst []float32, b []byte) {
	d, m, high := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for i, q := range b[8:24] {
		dst[i] = float32(d*float32(fifthBit(q&15, high, i))) + m
		dst[i+16] = float32(d*float32(fifthBit(q>>4, high, i+16))) + m
	}
}

// fifthBit returns element i of low bits q with its bit of high.
func fifthBit(q byte, high uint32, i int) byte { return q | byte(high>>i&1)<<4 }

// mx4Values are what the 4 bits of MXFP4 stand for, doubled: kvalues_mxfp4 in ggml/src/ggml-common.h of
// github.com/ggml-org/llama.cpp. It has no -0.
var mx4Values = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// fromMXFP4: the exponent of the scale, 127 too large, and 16 bytes as in Q4_0, whose elements are looked up. The
// scale is half of that, as they are doubled.
func fromMXFP4(dst []float32, b []byte) {
	d := float32(math.Ldexp(1, int(b[0])-128))
	for i, q := range b[1:17] {
		dst[i] = d * mx4Values[q&15]
		dst[i+16] = d * mx4Values[q>>4]
	}
}

// iq4Values are what the 4 bits of IQ4_NL stand for: kvalues_iq4nl in ggml/src/ggml-common.h of
// github.com/ggml-org/llama.cpp.
var iq4Values = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// fromIQ4_NL: a scale, and 16 bytes as in Q4_0, whose elements are looked up.
func fromIQ4_NL(dst []float32, b []byte) {
	d := half(b)
	for i, q := range b[2:18] {
		dst[i] = d * iq4Values[q&15]
		dst[i+16] = d * iq4Values[q>>4]
	}
}
