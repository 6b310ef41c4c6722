package quantized

import (
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// A Block is a block of a packed panel.
type Block struct {
	Format ukernel.PackedFormat
	Lanes  int
	Data   []byte // from its start on
}

// halfAt returns number i of 16 bits of each lane's.
func (b *Block) halfAt(i, lane int) float32 {
	h := binary.LittleEndian.Uint16(b.Data[2*(i*b.Lanes+lane):])
	if b.Format.Brain() {
		return scalar.BF16(h)
	}
	return scalar.F16(h)
}

// float32At returns scale i of a format whose scales are float32.
func (b *Block) float32At(i, lane int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b.Data[4*(i*b.Lanes+lane):]))
}

// Scale returns the scale and the minimum of a lane, in a format without scales of float32. In a
// format without minima it is the offset's, -offset·d, which is exact.
func (b *Block) Scale(lane int) (d, m float32) {
	d = b.halfAt(0, lane)
	if offset := b.Format.Offset(); offset != 0 {
		return d, float32(float32(-offset) * d)
	}
	return d, b.halfAt(1, lane)
}

// Integers returns s and t of a lane of a grouped format that has them, t without minima as zeros.
func (b *Block) Integers(lane int) (s, t [2]int32) {
	halves := b.Format.Halves()
	at := b.Data[2*(halves*b.Lanes+lane):]
	s = [2]int32{int32(int8(at[0])), int32(int8(at[1]))}
	if halves > 1 {
		at = at[2*b.Lanes:]
		t = [2]int32{int32(int8(at[0])), int32(int8(at[1]))}
	}
	return s, t
}

// Scales returns what the numbers of both halves of the steps are multiplied with, and what is
// added then. The products are exact.
func (b *Block) Scales(lane int) (ds, ms [2]float32) {
	if b.Format.Float32Scales() {
		for i := range ds {
			ds[i] = b.float32At(i, lane)
			ms[i] = float32(float32(-b.Format.Offset()) * ds[i])
		}
		return ds, ms
	}
	d, m := b.Scale(lane)
	if !b.Format.Grouped() {
		return [2]float32{d, d}, [2]float32{m, m}
	}
	s, t := b.Integers(lane)
	ds = [2]float32{float32(d * float32(s[0])), float32(d * float32(s[1]))}
	if offset := float32(-b.Format.Offset()); offset != 0 {
		return ds, [2]float32{float32(offset * ds[0]), float32(offset * ds[1])}
	}
	return ds, [2]float32{-float32(m * float32(t[0])), -float32(m * float32(t[1]))}
}

// Words returns the numbers of a lane as bytes: byte i of word g is the number of step 8i+g.
func (b *Block) Words(lane int) (words [8]uint32) {
	bits := b.Format.Bits()
	numbers := b.Data[b.Format.HeaderBytes()*b.Lanes:]
	word := func(g int) uint32 { return binary.LittleEndian.Uint32(numbers[4*(g*b.Lanes+lane):]) }
	if bits == 8 && !b.Format.Grouped() {
		for g := range words {
			words[g] = word(g)
		}
		return words
	}
	more := bits - 4
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

// Weights writes the weights of a lane to every n-th number of dst.
func (b *Block) Weights(dst []float32, n, lane int) {
	d, m := b.Scales(lane)
	words := b.Words(lane)
	number := func(step int) float32 { return float32(words[step%8] >> (step / 8 * 8) & 255) }
	switch {
	case b.Format.Brain():
		for step := range contract.WeightBlock {
			dst[step*n] = float32((number(step) - ukernel.BrainZero) * d[step/16])
		}
	case b.Format.Float32Scales():
		for step := range contract.WeightBlock {
			dst[step*n] = scalar.FMA(number(step), d[step/16], m[step/16])
		}
	default: // the product is exact, and if m comes from an offset, the sum is, too
		for step := range contract.WeightBlock {
			dst[step*n] = float32(number(step)*d[step/16]) + m[step/16]
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
			d := float32(g.d * s)
			if d-d != 0 { // infinite, too
				d = scalar.NaN
			}
			binary.LittleEndian.PutUint32(b.Data[4*(i*b.Lanes+lane):], math.Float32bits(d))
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

// putNumbers writes the words of a lane, see ukernel.PackedFormat. Its words are no arrays, which
// the compiler would not keep in registers.
func (b *Block) putNumbers(q *[contract.WeightBlock]uint8, lane int) {
	bits, stride := b.Format.Bits(), 4*b.Lanes
	words := b.Data[b.Format.HeaderBytes()*b.Lanes+4*lane:]
	words = words[:(bits-1)*stride+4]
	s0, s1, s2, s3 := word64(q[:8]), word64(q[8:16]), word64(q[16:24]), word64(q[24:])
	if bits == 8 && !b.Format.Grouped() {
		w0, w1, w2, w3 := turn(uint32(s0), uint32(s1), uint32(s2), uint32(s3))
		putWord(words, w0)
		putWord(words[stride:], w1)
		putWord(words[2*stride:], w2)
		putWord(words[3*stride:], w3)
		w0, w1, w2, w3 = turn(uint32(s0>>32), uint32(s1>>32), uint32(s2>>32), uint32(s3>>32))
		putWord(words[4*stride:], w0)
		putWord(words[5*stride:], w1)
		putWord(words[6*stride:], w2)
		putWord(words[7*stride:], w3)
		return
	}
	w0, w1, w2, w3 := turn(lowBits(s0), lowBits(s1), lowBits(s2), lowBits(s3))
	putWord(words, w0)
	putWord(words[stride:], w1)
	putWord(words[2*stride:], w2)
	putWord(words[3*stride:], w3)
	if bits == 4 {
		return
	}
	w0, w1, w2, w3 = turn(highBits(s0), highBits(s1), highBits(s2), highBits(s3))
	switch bits {
	case 5:
		putWord(words[4*stride:], w0|w1<<1|w2<<2|w3<<3)
	case 6:
		putWord(words[4*stride:], w0|w1<<2)
		putWord(words[5*stride:], w2|w3<<2)
	default:
		putWord(words[4*stride:], w0)
		putWord(words[5*stride:], w1)
		putWord(words[6*stride:], w2)
		putWord(words[7*stride:], w3)
	}
}

func word64(b []byte) uint64        { return binary.LittleEndian.Uint64(b) }
func putWord(b []byte, word uint32) { binary.LittleEndian.PutUint32(b, word) }

// lowBits returns the lower halves of 8 bytes, the last four in the upper halves of the first four,
// and highBits the upper halves, likewise.
func lowBits(steps uint64) uint32 {
	return uint32(steps)&0x0f0f0f0f | uint32(steps>>28)&0xf0f0f0f0
}

func highBits(steps uint64) uint32 {
	return uint32(steps)>>4&0x0f0f0f0f | uint32(steps>>32)&0xf0f0f0f0
}

// turn returns the first bytes of four words as a word, the second ones and so on.
func turn(a, b, c, d uint32) (w0, w1, w2, w3 uint32) {
	const even, odd = 0x00ff00ff, 0xff00ff00
	ab, cd := a&even|b&even<<8, c&even|d&even<<8 // bytes 0 and 2
	w0, w2 = ab&0xffff|cd<<16, ab>>16|cd&0xffff0000
	ab, cd = a>>8&even|b&odd, c>>8&even|d&odd // bytes 1 and 3
	return w0, ab&0xffff | cd<<16, w2, ab>>16 | cd&0xffff0000
}

// Widen converts k rows of n lanes of a packed panel, from lane first on, to rows of dst without
// gaps. k is a multiple of contract.WeightBlock.
func Widen(f ukernel.PackedFormat, dst []float32, n int, panel []byte, first, lanes, k int) {
	size := f.BlockBytes(lanes)
	for x := 0; x < k; x += contract.WeightBlock {
		b, rows := Block{f, lanes, panel[x/contract.WeightBlock*size:][:size]}, dst[x*n:][:contract.WeightBlock*n]
		for lane := range n {
			b.Weights(rows[lane:], n, first+lane)
		}
	}
}
