// Package quantized has the formats of quantized weights, a row each, and what becomes of them:
// numbers of float32, or the blocks of packed panels, whose formats package ukernel has.
package quantized

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

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
}

// formats has the formats at the numbers that GGUF files have for them. Their blocks are described
// in ggml/src/ggml-common.h of github.com/ggml-org/llama.cpp, and their weights in ggml-quants.c
// there.
var formats = [...]Format{
	2:  {"Q4_0", 32, 18, ukernel.S4, 8, readQ4_0},
	3:  {"Q4_1", 32, 20, ukernel.U4, 0, readQ4_1},
	6:  {"Q5_0", 32, 22, ukernel.U5x16, 16, readQ5_0},
	7:  {"Q5_1", 32, 24, ukernel.U5x16, 0, readQ5_1},
	8:  {"Q8_0", 32, 34, ukernel.S8, 128, readQ8_0},
	10: {"Q2_K", 256, 84, ukernel.U4x16, 0, readQ2_K},
	11: {"Q3_K", 256, 110, ukernel.U4x16, 4, readQ3_K},
	12: {"Q4_K", 256, 144, ukernel.U4x32, 0, readQ4_K},
	13: {"Q5_K", 256, 176, ukernel.U5x32, 0, readQ5_K},
	14: {"Q6_K", 256, 210, ukernel.S6x16, 32, readQ6_K},
	16: {"IQ2_XXS", 256, 66, ukernel.S8x16F32, signedZero, readIQ2_XXS},
	17: {"IQ2_XS", 256, 74, ukernel.S8x16F32, signedZero, readIQ2_XS},
	18: {"IQ3_XXS", 256, 98, ukernel.S8x16F32, signedZero, readIQ3_XXS},
	19: {"IQ1_S", 256, 50, ukernel.S5x16F32, ternaryZero, readIQ1_S},
	20: {"IQ4_NL", 32, 18, ukernel.IQ4, signedZero, readIQ4_NL},
	21: {"IQ3_S", 256, 110, ukernel.S6x16, 32, readIQ3_S},
	22: {"IQ2_S", 256, 82, ukernel.S8x16F32, signedZero, readIQ2_S},
	23: {"IQ4_XS", 256, 136, ukernel.S8x16F32, signedZero, readIQ4_XS},
	29: {"IQ1_M", 256, 56, ukernel.S5x16F32, ternaryZero, readIQ1_M},
	34: {"TQ1_0", 256, 54, ukernel.S4, 8, readTQ1_0},
	35: {"TQ2_0", 256, 66, ukernel.S4, 8, readTQ2_0},
	39: {"MXFP4", 32, 17, ukernel.E2M1, e2m1Zero, readMXFP4},
	40: {"NVFP4", 64, 36, ukernel.S5x16F32, e2m1Zero, readNVFP4},
}

// Of returns the format of a number, or nil if there is none.
func Of(number int) *Format {
	if number < 0 || number >= len(formats) || formats[number].Name == "" {
		return nil
	}
	return &formats[number]
}

// A group is 32 weights of a block: (d·s[i])·(q-zero) or (d·s[i])·q - m·t[i], where i counts groups
// of 16 weights, and zero is the format's. Formats that are packed with integers have these, and d
// and m as binary16; the others have d·s as float32.
type group struct {
	d, m uint16
	s, t [2]int8
	ds   [2]float32
	q    [32]uint8
}

// half returns the binary16 at the start of b, and wide what it stands for.
func half(b []byte) uint16  { return binary.LittleEndian.Uint16(b) }
func wide(b []byte) float32 { return scalar.F16(half(b)) }

// scale sets d, without integers.
func (g *group) scale(d uint16) { g.d, g.s = d, [2]int8{1, 1} }

// plus sets a minimum that is added.
func (g *group) plus(m uint16) { g.m, g.t = m, [2]int8{-1, -1} }

// everyByte repeats a byte in all bytes of a word.
const everyByte = 0x0101010101010101

// set sets q to the bits of 32 bytes that a mask has from bit at on.
func (g *group) set(b []byte, at int, mask uint64) {
	from, shift := (*[32]byte)(b), uint(at)&7
	mask *= everyByte
	for i := 0; i < len(g.q); i += 8 {
		putWord64(g.q[i:], word64(from[i:])>>shift&mask)
	}
}

// add adds such bits to q, from bit to on.
func (g *group) add(b []byte, at int, mask uint64, to int) {
	from, shift, left := (*[32]byte)(b), uint(at)&7, uint(to)&7
	mask *= everyByte
	for i := 0; i < len(g.q); i += 8 {
		putWord64(g.q[i:], word64(g.q[i:])|word64(from[i:])>>shift&mask<<left)
	}
}

// readNibbles sets q to 16 bytes of numbers of 4 bits: byte i has the numbers of weight i, in its
// lower half, and of weight i+16.
func (g *group) readNibbles(b []byte) {
	from := (*[16]byte)(b)
	x, y := word64(from[:]), word64(from[8:])
	putWord64(g.q[:], x&(15*everyByte))
	putWord64(g.q[8:], y&(15*everyByte))
	putWord64(g.q[16:], x>>4&(15*everyByte))
	putWord64(g.q[24:], y>>4&(15*everyByte))
}

// lookUp sets q to what the numbers of 16 bytes stand for.
func (g *group) lookUp(values *[16]uint8, b []byte) {
	for i, x := range (*[16]byte)(b) {
		g.q[i], g.q[i+16] = values[x&15], values[x>>4]
	}
}

// readQ8_0: d and 32 int8.
func readQ8_0(g *group, b []byte, _ int) {
	g.scale(half(b))
	from := (*[32]byte)(b[2:])
	for i := 0; i < len(g.q); i += 8 {
		putWord64(g.q[i:], word64(from[i:])^128*everyByte) // adds 128
	}
}

// readQ4_0: d and the numbers.
func readQ4_0(g *group, b []byte, _ int) {
	g.scale(half(b))
	g.readNibbles(b[2:])
}

// readQ4_1: d, m and the numbers. m is added.
func readQ4_1(g *group, b []byte, _ int) {
	g.scale(half(b))
	g.plus(half(b[2:]))
	g.readNibbles(b[4:])
}

// readFifths adds fifth bits.
func (g *group) readFifths(b []byte) {
	for i, bits := range (*[4]byte)(b) {
		q := g.q[8*i:]
		putWord64(q, word64(q)|eachBit(bits)<<4)
	}
}

// readQ5_0: d, the fifth bits and the others.
func readQ5_0(g *group, b []byte, _ int) {
	g.scale(half(b))
	g.readNibbles(b[6:])
	g.readFifths(b[2:])
}

// readQ5_1: d, m, the fifth bits and the others. m is added.
func readQ5_1(g *group, b []byte, _ int) {
	g.scale(half(b))
	g.plus(half(b[2:]))
	g.readNibbles(b[8:])
	g.readFifths(b[4:])
}

// readIQ4_NL: d and the numbers of values.
func readIQ4_NL(g *group, b []byte, _ int) {
	g.scale(half(b))
	g.lookUp(iq4Values, b[2:])
}

var e2m1Values, iq4Values = ukernel.E2M1.Values(), ukernel.IQ4.Values()

// e2m1Zero is the value of 0.
var e2m1Zero = uint8(ukernel.E2M1.Offset())

// readMXFP4: the exponent of the scale, 127 too large, and the numbers of values. The scale is half
// of that, as the values are doubled; it is 0 if all of them are.
func readMXFP4(g *group, b []byte, _ int) {
	d := float32(math.Ldexp(1, int(b[0])-128))
	switch {
	case isZeroMXFP4(b):
		d = 0
	case b[0] == 255:
		d = scalar.NaN
	}
	g.ds = [2]float32{d, d}
	g.lookUp(e2m1Values, b[1:])
}

func isZeroMXFP4(b []byte) bool {
	for _, x := range b[1:17] {
		if x&0x77 != 0 { // the magnitudes
			return false
		}
	}
	return true
}

// readNVFP4: 4 scales of 16 weights as E4M3, half of which is s, as the values are doubled. Then 8
// bytes with the numbers of values of each 16: byte i has the numbers of weight i, in its lower
// half, and of weight i+8.
func readNVFP4(g *group, b []byte, part int) {
	for i := range g.ds {
		n := 2*part + i
		g.ds[i] = scalar.F8E4M3(b[n]) / 2
		for j, x := range (*[8]byte)(b[4+8*n:]) {
			g.q[16*i+j], g.q[16*i+j+8] = e2m1Values[x&15], e2m1Values[x>>4]
		}
	}
}

// readQ2_K: a byte for each 16 weights, whose halves are s and t; 64 bytes with 2 bits; d and m.
func readQ2_K(g *group, b []byte, part int) {
	g.d, g.m = half(b[80:]), half(b[82:])
	for i := range 2 {
		x := b[2*part+i]
		g.s[i], g.t[i] = int8(x&15), int8(x>>4)
	}
	g.set(b[16+part/4*32:], part%4*2, 3)
}

// readQ3_K: 32 bytes with the third bits, 64 with the two lower ones, 12 bytes with 16 s of 6 bits,
// 32 too large, and d.
func readQ3_K(g *group, b []byte, part int) {
	g.d = half(b[108:])
	for i := range 2 {
		n := 2*part + i
		s := b[96+n%8]>>(n/8*4)&15 | b[104+n%4]>>(n/4*2)&3<<4
		g.s[i] = int8(s) - 32
	}
	g.set(b[32+part/4*32:], part%4*2, 3)
	g.add(b, part, 1, 2)
}

// readScales: s and t of 32 weights of Q4_K and Q5_K, 6 bits each, in 12 bytes.
func (g *group) readScales(b []byte, part int) {
	s, t := b[part%4]&63, b[part%4+4]&63
	if part >= 4 {
		s, t = b[part+4]&15|b[part-4]>>6<<4, b[part+4]>>4|b[part]>>6<<4
	}
	g.s, g.t = [2]int8{int8(s), int8(s)}, [2]int8{int8(t), int8(t)}
}

// readQ4_K: d, m, the scales and 128 bytes with 4 bits.
func readQ4_K(g *group, b []byte, part int) {
	g.d, g.m = half(b), half(b[2:])
	g.readScales(b[4:], part)
	g.set(b[16+part/2*32:], part%2*4, 15)
}

// readQ5_K: as Q4_K, with 32 bytes of fifth bits before the others.
func readQ5_K(g *group, b []byte, part int) {
	g.d, g.m = half(b), half(b[2:])
	g.readScales(b[4:], part)
	g.set(b[48+part/2*32:], part%2*4, 15)
	g.add(b[16:], part, 1, 4)
}

// readQ6_K: 128 bytes with 4 bits, 64 with the 2 upper ones, 16 int8 that are s, and d.
func readQ6_K(g *group, b []byte, part int) {
	g.d = half(b[208:])
	for i := range 2 {
		g.s[i] = int8(b[192+2*part+i])
	}
	g.set(b[part/4*64+part%2*32:], part/2%2*4, 15)
	g.add(b[128+part/4*32:], part%4*2, 3, 4)
}
