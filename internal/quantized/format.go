// Package quantized has the formats of quantized weights, a row of a table each, and their packed
// panels.
//
// Quantized weights are integers with a scale, and perhaps a minimum, for every block of
// contract.WeightBlock inputs of an output. A packed panel of them has some lanes, one per output,
// a multiple of 16. Its blocks follow each other. A block is
//
//	d [lanes]             the scales, binary16, or bfloat16 in Brain formats, little-endian
//	m [lanes]             the minima, the same, if the format has some
//	s [lanes][2]          in grouped formats: an int8 for each 16 steps, which multiplies d
//	t [lanes][2]          the same of m
//	q [bits][lanes] words see below
//
// All numbers are unsigned. With 8 bits, byte i of word g is the number of step 8i+g. With fewer,
// the lower half of byte i of word g < 4 has the lowest 4 bits of step 8i+g, and the upper half those
// of step 8i+g+4. Further bits, b of them, follow: those of steps 8i+g and 8i+g+4 are in byte i of word
// 4+g·b/4, from its bits g·b mod 4 and g·b mod 4 + 4 on.
//
// So the words of a lane hold neighbouring steps at the same bits, in the order of a chain; and the words
// with their bits beyond the lower 4 of every byte cleared are the bytes of the same steps in all sizes,
// see Words.
package quantized

import (
	"encoding/binary"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Format is what is known of a format of packed weights.
type Format struct {
	Name string
	Bits int // of a number

	// Offset is what makes the numbers unsigned: a weight is d·(q-Offset). If it is 0, a block has
	// minima, and a weight is d·q + m.
	Offset int

	// Grouped formats have for each 16 steps an integer s, and t if there are minima. A weight is
	// (d·s)·(q-Offset), or (d·s)·q - m·t.
	Grouped bool

	// Brain formats have powers of two as bfloat16 in the place of binary16, NaN or 0.
	Brain bool
}

// Of returns a row of the table.
func Of(f ukernel.BlockFormat) *Format { return &formats[f] }

var formats = [ukernel.BlockFormats]Format{
	ukernel.Q8_0: {"Q8_0", 8, 128, false, false},
	ukernel.Q4_0: {"Q4_0", 4, 8, false, false},
	ukernel.Q4_1: {"Q4_1", 4, 0, false, false},
	ukernel.K4:   {"K4", 4, 0, true, false},
	ukernel.K5:   {"K5", 5, 0, true, false},
	ukernel.K6:   {"K6", 6, 32, true, false},
	ukernel.K5B:  {"K5B", 5, 0, true, true},
}

// Halves is the number of binary16 of a lane at the start of a block.
func (f *Format) Halves() int {
	if f.Offset == 0 {
		return 2
	}
	return 1
}

// header is the number of bytes of a lane before the numbers.
func (f *Format) header() int {
	if f.Grouped {
		return 4 * f.Halves()
	}
	return 2 * f.Halves()
}

// Bytes returns the size of a block of lanes.
func (f *Format) Bytes(lanes int) int { return lanes * (f.header() + contract.WeightBlock*f.Bits/8) }

// Scale returns the scale and the minimum of a lane of a block: for a format without minima that of
// the offset, -Offset·d, which is exact.
func (f *Format) Scale(block []byte, lanes, lane int) (d, m float32) {
	half := func(i int) float32 {
		h := binary.LittleEndian.Uint16(block[2*(i*lanes+lane):])
		if f.Brain {
			return scalar.BF16(h)
		}
		return scalar.F16(h)
	}
	d = half(0)
	if f.Offset == 0 {
		return d, half(1)
	}
	return d, float32(float32(-f.Offset) * d)
}

// Groups returns the integers of a lane of a block of a grouped format, t without minima as zeros.
func (f *Format) Groups(block []byte, lanes, lane int) (s, t [2]int32) {
	at := block[2*f.Halves()*lanes:]
	for i := range s {
		s[i] = int32(int8(at[2*lane+i]))
		if f.Offset == 0 {
			t[i] = int32(int8(at[2*(lanes+lane)+i]))
		}
	}
	return s, t
}

// Scales returns what the numbers of both halves of the steps are multiplied with, and what is added then.
// The products are exact.
func (f *Format) Scales(block []byte, lanes, lane int) (ds, ms [2]float32) {
	d, m := f.Scale(block, lanes, lane)
	if !f.Grouped {
		return [2]float32{d, d}, [2]float32{m, m}
	}
	s, t := f.Groups(block, lanes, lane)
	for i := range s {
		ds[i] = float32(d * float32(s[i]))
		if f.Offset == 0 {
			ms[i] = -float32(m * float32(t[i]))
		} else {
			ms[i] = float32(float32(-f.Offset) * ds[i])
		}
	}
	return ds, ms
}

// Words returns the numbers of a lane of a block as bytes: byte i of word g is the number of step 8i+g.
func (f *Format) Words(block []byte, lanes, lane int) (words [8]uint32) {
	numbers := block[f.header()*lanes:]
	word := func(g int) uint32 { return binary.LittleEndian.Uint32(numbers[4*(g*lanes+lane):]) }
	if f.Bits == 8 {
		for g := range words {
			words[g] = word(g)
		}
		return words
	}
	more := f.Bits - 4
	mask := uint32(1<<more-1) * 0x01010101
	for g := range 4 {
		low, high := word(g), uint32(0)
		if more > 0 {
			high = word(4+g*more/4) >> (g * more % 4)
		}
		words[g] = low&0x0f0f0f0f | high&mask<<4
		words[g+4] = low>>4&0x0f0f0f0f | high>>4&mask<<4
	}
	return words
}

// Weight returns one weight of a block of lanes.
func (f *Format) Weight(block []byte, lanes, step, lane int) float32 {
	d, m := f.Scales(block, lanes, lane)
	return weight(f.Number(block, lanes, step, lane), d[step/16], m[step/16])
}

// Number returns the number of a step of a lane of a block.
func (f *Format) Number(block []byte, lanes, step, lane int) uint32 {
	return f.Words(block, lanes, lane)[step%8] >> (step / 8 * 8) & 255
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
			d, m := f.Scales(block, lanes, first+lane)
			words := f.Words(block, lanes, first+lane)
			for step := range contract.WeightBlock {
				rows[step*n+lane] = weight(words[step%8]>>(step/8*8)&255, d[step/16], m[step/16])
			}
		}
	}
}
