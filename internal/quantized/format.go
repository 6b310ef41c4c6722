// Package quantized has the formats of quantized weights, a row of a table each, and their packed
// panels.
//
// Quantized weights are integers with a scale, and perhaps a minimum, for every block of
// contract.WeightBlock inputs of an output. A packed panel of them has some lanes, one per output,
// a multiple of 16. Its blocks follow each other. A block is
//
//	d [lanes]           the scales, binary16, little-endian
//	m [lanes]           the minima, the same; Q4_1 alone
//	q [32][lanes]       Q8_0: int8, one row per step
//	q [4][lanes] words  the others: number j of word g, in bits 4j to 4j+3 of a little-endian uint32, is that of step 4j+g
//
// So the words of a lane hold four neighbouring steps at the same bits.
package quantized

import (
	"encoding/binary"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Format is what is known of a format of quantized weights.
type Format struct {
	Name   string
	Halves int // binary16 of a lane at the start of a block: a scale, and perhaps a minimum
	Bits   int // of a number

	// weight returns the weight of the number q, given the scale d and the minimum m of its lane.
	// It is exact unless there is a minimum: then the sum is rounded.
	weight func(q uint32, d, m float32) float32
}

// Of returns a row of the table.
func Of(f ukernel.BlockFormat) *Format { return &formats[f] }

var formats = [ukernel.BlockFormats]Format{
	ukernel.Q8_0: {"Q8_0", 1, 8, func(q uint32, d, _ float32) float32 { // d·q, q an int8
		return float32(float32(int8(q)) * d)
	}},
	ukernel.Q4_0: {"Q4_0", 1, 4, func(q uint32, d, _ float32) float32 { // d·q - 8d
		return float32(float32(q)*d) + float32(-8*d) // the products are exact, and so is the sum
	}},
	ukernel.Q4_1: {"Q4_1", 2, 4, func(q uint32, d, m float32) float32 { // d·q + m, rounded once
		return float32(float32(q)*d) + m // the product is exact
	}},
}

// Bytes returns the size of a block of lanes.
func (f *Format) Bytes(lanes int) int { return lanes * (2*f.Halves + contract.WeightBlock*f.Bits/8) }

// Weight returns one weight of a block of lanes.
func (f *Format) Weight(block []byte, lanes, step, lane int) float32 {
	numbers := block[2*f.Halves*lanes:]
	var q uint32
	if f.Bits == 8 {
		q = uint32(numbers[step*lanes+lane])
	} else {
		q = binary.LittleEndian.Uint32(numbers[4*(step%4*lanes+lane):]) >> (step / 4 * 4) & 15
	}
	half := func(i int) float32 { return scalar.F16(binary.LittleEndian.Uint16(block[2*(i*lanes+lane):])) }
	var m float32
	if f.Halves == 2 {
		m = half(1)
	}
	return f.weight(q, half(0), m)
}

// Widen converts k rows of n lanes of a packed panel, from lane first on, to rows of dst without
// gaps. k is a multiple of contract.WeightBlock.
func (f *Format) Widen(dst []float32, n int, panel []byte, first, lanes, k int) {
	size := f.Bytes(lanes)
	for x := range k {
		block, row := panel[x/contract.WeightBlock*size:][:size], dst[x*n:][:n]
		for lane := range row {
			row[lane] = f.Weight(block, lanes, x%contract.WeightBlock, first+lane)
		}
	}
}
