package quantized

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/attn-go/attn/internal/scalar"
)

// Types whose numbers are rows of a codebook, and types with three values. A part of their blocks
// is 4 rows of 8 numbers, each in a word.

// A grid is a codebook: rows of numbers that stand for the integers of a block.
type grid struct {
	first, rows int // in grids
	values      []uint8
}

// The codebooks. Rows of 8 numbers have 2 bits for each, and rows of 4 numbers 4 bits.
var (
	grid2XXS = grid{0, 256, []uint8{8, 25, 43, 0}}
	grid2XS  = grid{256, 512, grid2XXS.values}
	grid2S   = grid{768, 1024, grid2XXS.values}
	grid3XXS = grid{1792, 256, []uint8{4, 12, 20, 28, 36, 44, 52, 62, 0, 0, 0, 0, 0, 0, 0, 0}}
	grid3S   = grid{2048, 512, []uint8{1, 3, 5, 7, 9, 11, 13, 15, 0, 0, 0, 0, 0, 0, 0, 0}}
	grid1S   = grid{2560, 2048, []uint8{8, 16, 24, 0}} // 8 times what ggml has, plus 16
)

//go:embed grids.bin
var grids []byte

// gridRows has the rows of all grids, a byte for each number.
var gridRows = sync.OnceValue(func() []uint64 {
	all := make([]uint64, len(grids)/2)
	for _, g := range []grid{grid2XXS, grid2XS, grid2S, grid3XXS, grid3S, grid1S} {
		width := bits.Len(uint(len(g.values) - 1))
		for row := g.first; row < g.first+g.rows; row++ {
			x := binary.LittleEndian.Uint16(grids[2*row:])
			for i := range 16 / width {
				all[row] |= uint64(g.values[x>>(i*width)&(1<<width-1)]) << (8 * i)
			}
		}
	}
	return all
})

// all returns the rows of a grid.
func (x *grid) all() []uint64 { return gridRows()[x.first:][:x.rows] }

// signed sets word i of q to numbers that are not 0, plus zero, an even number up to 128. Set bits
// of signs mark negative ones.
func (g *group) signed(i int, numbers uint64, signs, zero uint8) {
	minus := eachBit(signs)
	numbers = (numbers ^ minus*255) + minus // no byte carries
	binary.LittleEndian.PutUint64(g.q[8*i:], (numbers^128*everyByte)-uint64(128-zero)*everyByte)
}

// eachBit returns the bits of a byte, one in each byte.
func eachBit(x uint8) uint64 {
	y := uint64(x) * everyByte & 0x8040201008040201 // bit i is in byte i
	return (y + 0x7f*everyByte) >> 7 & everyByte
}

// even returns signs of which the last one makes the number of negative ones even.
func even(signs uint32) uint8 {
	s := uint8(signs & 127)
	return s | uint8(bits.OnesCount8(s)&1)<<7
}

// nibble returns number i of 4 bits.
func nibble(b []byte, i int) uint8 { return b[i/2] >> (i % 2 * 4) & 15 }

// scales sets the scales of both halves of the steps to d, times 2·n+1 over a power of two.
func (g *group) scales(d float32, first, second uint8, over float32) {
	g.ds = [2]float32{d * (float32(2*int(first)+1) / over), d * (float32(2*int(second)+1) / over)}
}

// The number of 0 in the types with signs, and in IQ1_S and IQ1_M.
const (
	signedZero  = 128
	ternaryZero = 16
)

// readIQ2_XXS: d, and for each 32 weights 4 rows and a word with the signs and the scale.
func readIQ2_XXS(g *group, b []byte, part int) {
	all, rows, word := grid2XXS.all(), b[2+8*part:], binary.LittleEndian.Uint32(b[6+8*part:])
	g.scales(wide(b), uint8(word>>28), uint8(word>>28), 8)
	for i := range 4 {
		g.signed(i, all[rows[i]], even(word>>(7*i)), signedZero)
	}
}

// readIQ2_XS: d, and for each 8 weights a word with the row and the signs; then scales of 4 bits
// for each 16.
func readIQ2_XS(g *group, b []byte, part int) {
	all := grid2XS.all()
	g.scales(wide(b), b[66+part]&15, b[66+part]>>4, 8)
	for i := range 4 {
		word := binary.LittleEndian.Uint16(b[2+8*part+2*i:])
		g.signed(i, all[word&511], even(uint32(word>>9)), signedZero)
	}
}

// readIQ2_S: d, the lower bits of the rows, the signs, the upper bits and the scales.
func readIQ2_S(g *group, b []byte, part int) {
	all := grid2S.all()
	g.scales(wide(b), b[74+part]&15, b[74+part]>>4, 8)
	for i := range 4 {
		row := int(b[2+4*part+i]) | int(b[66+part]>>(2*i)&3)<<8
		g.signed(i, all[row], b[34+4*part+i], signedZero)
	}
}

// readIQ3_XXS: d, a row for each 4 weights, and words as in IQ2_XXS.
func readIQ3_XXS(g *group, b []byte, part int) {
	all, rows, word := grid3XXS.all(), b[2+8*part:], binary.LittleEndian.Uint32(b[66+4*part:])
	g.scales(wide(b), uint8(word>>28), uint8(word>>28), 4)
	for i := range 4 {
		g.signed(i, all[rows[2*i]]|all[rows[2*i+1]]<<32, even(word>>(7*i)), signedZero)
	}
}

// readIQ3_S: d, the lower bits of a row for each 4 weights, the ninth bits, the signs, and a scale
// for each 32.
func readIQ3_S(g *group, b []byte, part int) {
	g.d = half(b)
	s := int8(2*nibble(b[106:], part) + 1)
	g.s = [2]int8{s, s}
	all, rows, high := grid3S.all(), b[2+8*part:], int(b[66+part])
	for i := range 4 {
		first, second := int(rows[2*i])|high>>(2*i)&1<<8, int(rows[2*i+1])|high>>(2*i+1)&1<<8
		g.signed(i, all[first]|all[second]<<32, b[74+4*part+i], 32)
	}
}

// readIQ1_S: d, the lower bits of the rows, and for each 32 weights a word with the upper ones, the
// scale and the sign of what is added to all.
func readIQ1_S(g *group, b []byte, part int) {
	word := binary.LittleEndian.Uint16(b[34+2*part:])
	n := uint8(word >> 12 & 7)
	g.scales(wide(b), n, n, 8)
	all := grid1S.all()
	for i := range 4 {
		g.ternary(i, all[int(b[2+4*part+i])|int(word>>(3*i)&7)<<8], word>>15 != 0)
	}
}

// ternary sets word i of q to a row of grid1S, plus 1 or minus 1.
func (g *group) ternary(i int, numbers uint64, minus bool) {
	if minus {
		numbers -= everyByte
	} else {
		numbers += everyByte
	}
	binary.LittleEndian.PutUint64(g.q[8*i:], numbers)
}

// readIQ1_M: as IQ1_S, but for each 8 weights half a byte with the upper bits and the sign. Words
// of 16 bits have 4 scales, and above them 4 bits of d.
func readIQ1_M(g *group, b []byte, part int) {
	d, scales := uint16(0), b[48:56]
	for i := range 4 {
		d |= binary.LittleEndian.Uint16(scales[2*i:]) >> 12 << (4 * i)
	}
	s := binary.LittleEndian.Uint16(scales[part/2*2:]) >> (part % 2 * 6)
	g.scales(scalar.F16(d), uint8(s&7), uint8(s>>3&7), 8)
	all := grid1S.all()
	for i := range 4 {
		high := nibble(b[32:], 4*part+i)
		g.ternary(i, all[int(b[4*part+i])|int(high&7)<<8], high&8 != 0)
	}
}

// readIQ4_XS: d, the upper 2 bits of the scales, their lower 4, and for each 32 weights 16 bytes as
// in IQ4_NL. Scales are 32 too large.
func readIQ4_XS(g *group, b []byte, part int) {
	high := binary.LittleEndian.Uint16(b[2:]) >> (2 * part) & 3
	d := wide(b) * float32(int(nibble(b[4:], part))+int(high)<<4-32)
	g.ds = [2]float32{d, d}
	g.lookUp(iq4Values, b[8+16*part:])
}

// readTQ2_0: 64 bytes with 2 bits, and d. A weight is d·(q-1).
func readTQ2_0(g *group, b []byte, part int) {
	g.scale(half(b[64:]))
	g.set(b[part/4*32:], part%4*2, 3)
	g.raise()
}

// readTQ1_0: as TQ2_0, with numbers of 0 to 2, of which a byte has 5 or, at the end, 4: the first
// digits of a fraction to the base 3.
func readTQ1_0(g *group, b []byte, part int) {
	g.scale(half(b[52:]))
	for i := range g.q {
		at, digit := i, part
		switch i := 32*part + i; {
		case i >= 240:
			at, digit = 48+i%4, (i-240)/4
		case i >= 160:
			at, digit = 32+i%16, (i-160)/16
		}
		g.q[i] = uint8(uint16(b[at]*[5]uint8{1, 3, 9, 27, 81}[digit]) * 3 >> 8)
	}
	g.raise()
}

// raise makes the zero of numbers 8, where it is 1.
func (g *group) raise() {
	for i := 0; i < len(g.q); i += 8 {
		binary.LittleEndian.PutUint64(g.q[i:], binary.LittleEndian.Uint64(g.q[i:])+7*everyByte)
	}
}
