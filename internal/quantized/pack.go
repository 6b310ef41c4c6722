package quantized

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// Float32 converts blocks to float32, Weights numbers each. Products are rounded, and then differences, as
// ggml's dequantize_row functions do it. Their products of minima and integers are exact.
func (f *Format) Float32(dst []float32, blocks []byte) {
	var g group
	for ; len(dst) > 0; dst, blocks = dst[f.Weights:], blocks[f.Bytes:] {
		for part := range f.Weights / contract.WeightBlock {
			f.read(&g, blocks[:f.Bytes], part)
			g.float32(dst[part*contract.WeightBlock:][:contract.WeightBlock], f.zero)
		}
	}
}

func (g *group) float32(dst []float32, zero uint8) {
	for i := range g.s {
		d, m := float32(g.d*g.s[i]), float32(g.m*float32(g.t[i]))
		dst, q := (*[16]float32)(dst[16*i:]), (*[16]uint8)(g.q[16*i:])
		if zero != 0 {
			for j, q := range q {
				dst[j] = float32(d * float32(int32(q)-int32(zero)))
			}
		} else {
			for j, q := range q {
				dst[j] = float32(d*float32(int32(q))) - m
			}
		}
	}
}

// Pack writes the blocks of some rows into those of a packed panel in format p, see PackedFor. rows has one row
// of k/Weights blocks for each of the first lanes. The other lanes stay as they are. Those of a
// format with scales of float32 are multiplied by scales, one for all rows or one for each; none stand for 1.
func (f *Format) Pack(p ukernel.PackedFormat, panel, rows []byte, lanes, k int, scales []float32) {
	var g group
	size, blocks, parts := p.BlockBytes(lanes), k/f.Weights, f.Weights/contract.WeightBlock
	for block := range blocks {
		for lane := range len(rows) / (blocks * f.Bytes) {
			from := rows[(lane*blocks+block)*f.Bytes:][:f.Bytes]
			for part := range parts {
				f.read(&g, from, part)
				if len(scales) > 0 {
					g.d = scales[lane%len(scales)]
				}
				b := Block{p, lanes, panel[(block*parts+part)*size:][:size]}
				b.put(&g, f.zero, lane)
			}
		}
	}
}

// put writes a lane. A format with minima takes what is made up for a zero as one.
func (b *Block) put(g *group, zero uint8, lane int) {
	if b.Format.Brain() {
		g.flush()
	}
	b.putNumbers(&g.q, lane)
	if b.Format.Float32Scales() {
		for i, s := range g.s {
			binary.LittleEndian.PutUint32(b.Data[4*(i*b.Lanes+lane):], math.Float32bits(float32(g.d*s)))
		}
		return
	}
	s := [2]int8{int8(g.s[0]), int8(g.s[1])}
	m, t := g.m, g.t
	if zero != 0 {
		m, t = g.d, [2]int8{int8(zero) * s[0], int8(zero) * s[1]}
	}
	b.putHalf(0, lane, g.d)
	minima := b.Format.Offset() == 0
	if minima {
		b.putHalf(1, lane, m)
	}
	if b.Format.Grouped() {
		halves := b.Format.Halves()
		b.putPair(halves, lane, s)
		if minima {
			b.putPair(halves+1, lane, t)
		}
	}
}

// flush makes weights below 2^-126 zeros, of a brain format.
func (g *group) flush() {
	for i, q := range g.q {
		if math.Abs(float64(g.d)*float64(int(q)-ukernel.BrainZero)) < 0x1p-126 {
			g.q[i] = ukernel.BrainZero
		}
	}
}

func (b *Block) put16(i, lane int, x uint16) {
	binary.LittleEndian.PutUint16(b.Data[2*(i*b.Lanes+lane):], x)
}

func (b *Block) putHalf(i, lane int, x float32) {
	if b.Format.Brain() {
		b.put16(i, lane, scalar.ToBF16(x))
	} else {
		b.put16(i, lane, scalar.ToF16(x))
	}
}

func (b *Block) putPair(i, lane int, x [2]int8) {
	b.put16(i, lane, uint16(uint8(x[0]))|uint16(uint8(x[1]))<<8)
}

// putNumbers writes the words of a lane, see ukernel.PackedFormat.
func (b *Block) putNumbers(q *[contract.WeightBlock]uint8, lane int) {
	numbers := b.Data[b.Format.HeaderBytes()*b.Lanes:]
	put := func(g int, word uint32) { binary.LittleEndian.PutUint32(numbers[4*(g*b.Lanes+lane):], word) }
	// bytes are the numbers of steps g, g+8, g+16 and g+24.
	bytes := func(g int) uint32 {
		return uint32(q[g]) | uint32(q[g+8])<<8 | uint32(q[g+16])<<16 | uint32(q[g+24])<<24
	}
	if b.Format.Bits() == 8 {
		for g := range 8 {
			put(g, bytes(g))
		}
		return
	}
	more := b.Format.Bits() - 4
	var far [4]uint32
	for g := range 4 {
		low, high := bytes(g), bytes(g+4)
		put(g, low&0x0f0f0f0f|high&0x0f0f0f0f<<4)
		far[g*more/4] |= (low>>4&0x0f0f0f0f | high&0xf0f0f0f0) << (g * more % 4)
	}
	for i := range more {
		put(4+i, far[i])
	}
}
