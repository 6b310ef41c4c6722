// Package quantized has the formats of quantized weights, a row of a table each, and their packed
// panels.
//
// Quantized weights are integers with a scale, and perhaps a minimum, for every block of
// contract.WeightBlock inputs of an output. A packed panel of them has some lanes, one per output,
// a multiple of 16. Its blocks follow each other. A block is
//
//	d [lanes]             the scales, binary16, little-endian
//	m [lanes]             the minima, the same, if the format has some
//	q [bits][lanes] words number j of word g, in bits j·bits to (j+1)·bits-1 of a little-endian uint32, is that of step j·bits+g
//
// All numbers are unsigned. So the words of a lane hold neighbouring steps at the same bits, in the
// order of a chain; and the words with their bits beyond the lower 4 of every byte cleared are the
// bytes of the same steps in both sizes, see Words.
package quantized

import (
	"encoding/binary"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Format is what is known of a format of quantized weights.
type Format struct {
	Name string
	Bits int // of a number

	// Offset is what makes the numbers unsigned: a weight is d·(q-Offset). If it is 0, a block has
	// minima, and a weight is d·q + m.
	Offset int
}

// Of returns a row of the table.
func Of(f ukernel.BlockFormat) *Format { return &formats[f] }

var formats = [ukernel.BlockFormats]Format{
	ukernel.Q8_0: {"Q8_0", 8, 128},
	ukernel.Q4_0: {"Q4_0", 4, 8},
	ukernel.Q4_1: {"Q4_1", 4, 0},
}

// halves is the number of binary16 of a lane at the start of a block.
func (f *Format) halves() int {
	if f.Offset == 0 {
		return 2
	}
	return 1
}

// Bytes returns the size of a block of lanes.
func (f *Format) Bytes(lanes int) int { return lanes * (2*f.halves() + contract.WeightBlock*f.Bits/8) }

// Scale returns the scale and the minimum of a lane of a block: for a format without minima that of
// the offset, -Offset·d, which is exact.
func (f *Format) Scale(block []byte, lanes, lane int) (d, m float32) {
	half := func(i int) float32 { return scalar.F16(binary.LittleEndian.Uint16(block[2*(i*lanes+lane):])) }
	d = half(0)
	if f.Offset == 0 {
		return d, half(1)
	}
	return d, float32(float32(-f.Offset) * d)
}

// Number returns the number of a step of a lane of a block.
func (f *Format) Number(block []byte, lanes, step, lane int) uint32 {
	words := block[2*f.halves()*lanes:]
	word := binary.LittleEndian.Uint32(words[4*(step%f.Bits*lanes+lane):])
	return word >> (step / f.Bits * f.Bits) & (1<<f.Bits - 1)
}

// Words returns the numbers of a lane of a block as bytes: byte i of word g is the number of step 8i+g.
func (f *Format) Words(block []byte, lanes, lane int) (words [8]uint32) {
	numbers := block[2*f.halves()*lanes:]
	word := func(g int) uint32 { return binary.LittleEndian.Uint32(numbers[4*(g*lanes+lane):]) }
	for g := range words {
		switch f.Bits {
		case 8:
			words[g] = word(g)
		case 4:
			words[g] = word(g%4) >> (g / 4 * 4) & 0x0f0f0f0f
		}
	}
	return words
}

// Weight returns one weight of a block of lanes.
func (f *Format) Weight(block []byte, lanes, step, lane int) float32 {
	d, m := f.Scale(block, lanes, lane)
	return weight(f.Number(block, lanes, step, lane), d, m)
}

// weight returns d·q + m, rounded once, as the product is exact. If m is that of an offset, the sum is exact,
// too.
func weight(q uint32, d, m float32) float32 { return float32(float32(q)*d) + m }

// Widen converts k rows of n lanes of a packed panel, from lane first on, to rows of dst without
// gaps. k is a multiple of contract.WeightBlock.
func (f *Format) Widen(dst []float32, n int, panel []byte, first, lanes, k int) {
	size := f.Bytes(lanes)
	for x := 0; x < k; x += contract.WeightBlock {
		block, rows := panel[x/contract.WeightBlock*size:][:size], dst[x*n:][:contract.WeightBlock*n]
		for lane := range n {
			d, m := f.Scale(block, lanes, first+lane)
			for step := range contract.WeightBlock {
				rows[step*n+lane] = weight(f.Number(block, lanes, step, first+lane), d, m)
			}
		}
	}
}
