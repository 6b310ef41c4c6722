package codebook

import (
	"encoding/binary"

	"github.com/attn-go/attn/kernel"
)

// readers read types that become float32, by their numbers in files.
var readers = map[uint32]func(x *block, b []byte){
	16: readIQ2XXS, 17: readIQ2XS, 18: readIQ3XXS, 19: readIQ1S, 22: readIQ2S, 23: readIQ4XS, 29: readIQ1M,
}

// Widens tells whether [Widen] converts a type.
func Widens(kind uint32) bool { return readers[kind] != nil }

// Widen converts blocks of a type to float32. dst has as many numbers as there are weights in whole
// blocks of data.
func Widen(kind uint32, dst []float32, data []byte) {
	var x block
	read := readers[kind]
	for blocks := len(dst) / Weights; blocks > 0; blocks-- {
		size := len(data) / blocks
		read(&x, data[:size])
		x.widen(dst)
		dst, data = dst[Weights:], data[size:]
	}
}

// readIQ2XXS: d, and for each 32 weights 4 rows and a word with the signs and the scale.
func readIQ2XXS(x *block, b []byte) {
	for i := range 8 {
		rows, word := b[2+8*i:], binary.LittleEndian.Uint32(b[6+8*i:])
		x.part(i, 8, half(b)*(2*float32(word>>28)+1)/8)
		for j := range 4 {
			x.eight(4*i+j, &grid2XXS, int(rows[j]), 0, even(word>>(7*j)))
		}
	}
}

// readIQ2XS: d, and for each 8 weights a word with the row and the signs; then the scales.
func readIQ2XS(x *block, b []byte) {
	for i := range 32 {
		word := binary.LittleEndian.Uint16(b[2+2*i:])
		x.eight(i, &grid2XS, int(word&511), 0, even(uint32(word>>9)))
	}
	readScales(x, b, b[66:])
}

// readIQ2S: d, the lower bits of the rows, the signs, the upper bits and the scales.
func readIQ2S(x *block, b []byte) {
	for i := range 32 {
		x.eight(i, &grid2S, int(b[2+i])|int(b[66+i/4]>>(i%4*2)&3)<<8, 0, b[34+i])
	}
	readScales(x, b, b[74:])
}

// readScales sets scales of 4 bits for each 16 weights, for types with 2 bits.
func readScales(x *block, b, scales []byte) {
	for i := range x.scale {
		x.scale[i] = half(b) * (2*nibble(scales, i) + 1) / 8
	}
}

// readIQ3XXS: d, a row for each 4 weights, and words as in IQ2_XXS.
func readIQ3XXS(x *block, b []byte) {
	for i := range 8 {
		rows, word := b[2+8*i:], binary.LittleEndian.Uint32(b[66+4*i:])
		x.part(i, 8, half(b)*(2*float32(word>>28)+1)/4)
		for j := range 4 {
			x.eight(4*i+j, &grid3XXS, int(rows[2*j]), int(rows[2*j+1]), even(word>>(7*j)))
		}
	}
}

// readIQ1S: d, the lower bits of the rows, and for each 32 weights a word with the upper ones, the
// scale and the sign of what is added to all.
func readIQ1S(x *block, b []byte) {
	for i := range 8 {
		word := binary.LittleEndian.Uint16(b[34+2*i:])
		x.part(i, 8, half(b)*(2*float32(word>>12&7)+1)/8)
		for j := range 4 {
			x.ternary(4*i+j, int(b[2+4*i+j])|int(word>>(3*j)&7)<<8, word>>15 != 0)
		}
	}
}

// ternary sets 8 numbers to a row of -8, 0 and 8, and adds 1 or subtracts it.
func (x *block) ternary(at, row int, minus bool) {
	x.eight(at, &grid1S, row, 0, 0)
	more := int8(1)
	if minus {
		more = -1
	}
	for i := range 8 {
		x.q[8*at+i] += more
	}
}

// readIQ1M: as IQ1_S, but for each 8 weights half a byte with the upper bits and the sign. Words of
// 16 bits have 4 scales, and above them 4 bits of d.
func readIQ1M(x *block, b []byte) {
	d := uint16(0)
	for i := range 4 {
		d |= binary.LittleEndian.Uint16(b[48+2*i:]) >> 12 << (4 * i)
	}
	for i := range x.scale {
		s := binary.LittleEndian.Uint16(b[48+i/4*2:]) >> (i % 4 * 3) & 7
		x.scale[i] = kernel.F16(d).Float32() * (2*float32(s) + 1) / 8
	}
	for i := range 32 {
		high := b[32+i/2] >> (i % 2 * 4)
		x.ternary(i, int(b[i])|int(high&7)<<8, high&8 != 0)
	}
}

// iq4 are what the numbers of IQ4_XS stand for: kvalues_iq4nl in ggml-common.h.
var iq4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// readIQ4XS: d, the upper 2 bits of the scales, their lower 4, and for each 32 weights 16 bytes:
// byte i has the numbers of weights i, in its lower half, and i+16.
func readIQ4XS(x *block, b []byte) {
	high := binary.LittleEndian.Uint16(b[2:])
	for i := range 8 {
		x.part(i, 8, half(b)*(nibble(b[4:], i)+float32(high>>(2*i)&3<<4)-32))
		for j, q := range b[8+16*i:][:16] {
			x.q[32*i+j], x.q[32*i+j+16] = iq4[q&15], iq4[q>>4]
		}
	}
}
