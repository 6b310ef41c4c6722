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
	Head   []byte // from its scales of 16 bits on
	Data   []byte // from its integers on, or from its numbers on if there are none
}

// BlockAt returns a block of a panel.
func BlockAt(f ukernel.PackedFormat, lanes int, panel []byte, block int) Block {
	const segment = ukernel.InputSegment / ukernel.BlockSteps
	per, head := 1, f.HeadBytes()*lanes
	if f.Segmented() {
		per = segment
	}
	size := f.PanelBytes(lanes, f.HeadSteps())
	panel = panel[block/per*size:][:size]
	return Block{f, lanes, panel, panel[head+block%per*f.BlockBytes(lanes):]}
}

// halfAt returns number i of 16 bits of each lane's.
func (b *Block) halfAt(i, lane int) float32 {
	h := binary.LittleEndian.Uint16(b.Head[2*(i*b.Lanes+lane):])
	if b.Format.BFloat16Scales() {
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
	n := b.Format.Integers()
	pair := func(at []byte) [2]int32 { return [2]int32{int32(int8(at[0])), int32(int8(at[n-1]))} }
	s = pair(b.Data[n*lane:])
	if b.Format.Halves() > 1 {
		t = pair(b.Data[n*(b.Lanes+lane):])
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
	numbers := b.Data[b.Format.IntegerBytes()*b.Lanes:]
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

// Values returns the numbers of a lane, as Words does, or what they stand for.
func (b *Block) Values(lane int) (words [8]uint32) {
	words = b.Words(lane)
	if values := b.Format.Values(); values != nil {
		for i, w := range words {
			words[i] = uint32(values[w&15]) | uint32(values[w>>8&15])<<8 | uint32(values[w>>16&15])<<16 | uint32(values[w>>24&15])<<24
		}
	}
	return words
}

// Weights writes the weights of a lane to every n-th number of dst.
func (b *Block) Weights(dst []float32, n, lane int) {
	d, m := b.Scales(lane)
	words := b.Values(lane)
	number := func(step int) float32 { return float32(words[step%8] >> (step / 8 * 8) & 255) }
	switch offset := float32(b.Format.Offset()); {
	case b.Format.BFloat16Scales():
		for step := range contract.WeightBlock {
			dst[step*n] = float32((number(step) - offset) * d[step/16])
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

// A writer writes lanes of blocks. What they need of the format is at hand.
type writer struct {
	Block
	bits                     int
	head, size               int // bytes of all lanes: the head's, and a block's without it
	segmented                bool
	integers                 int // of a lane: for a scale
	before                   int // bytes of a lane before its numbers, without the head
	bfloat16, floats, minima bool
	numbers                  *[256]uint8 // of values
}

func newWriter(f ukernel.PackedFormat, lanes int) writer {
	head, size := f.HeadBytes()*lanes, f.BlockBytes(lanes)
	if !f.Segmented() {
		size -= head
	}
	return writer{Block{Format: f, Lanes: lanes}, f.Bits(), head, size, f.Segmented(), f.Integers(), f.IntegerBytes(), f.BFloat16Scales(), f.Float32Scales(), f.Offset() == 0, numbersOf[f]}
}

// next goes to block number block of a row, which is at to, and returns what follows it. Head is
// nil if another block has written it.
func (w *writer) next(to []byte, block int) []byte {
	w.Head = nil
	if !w.segmented || block%(ukernel.InputSegment/ukernel.BlockSteps) == 0 {
		w.Head, to = to[:w.head], to[w.head:]
	}
	w.Data = to[:w.size]
	return to[w.size:]
}

// put writes a lane. A format with minima takes what is made up for a zero as one.
func (w *writer) put(g *group, zero uint8, lane int) {
	if w.bfloat16 {
		g.flush()
	}
	if w.numbers != nil {
		for i, q := range g.q {
			g.q[i] = w.numbers[q]
		}
	}
	w.putNumbers(&g.q, lane)
	if w.floats {
		to := w.Data[4*lane:]
		putWord(to, math.Float32bits(finite(g.ds[0])))
		putWord(to[4*w.Lanes:], math.Float32bits(finite(g.ds[1])))
		return
	}
	if len(w.Head) > 0 {
		w.putHead(g, zero, lane)
	}
	switch w.integers {
	case 1:
		w.Data[lane] = byte(g.s[0])
		if w.minima {
			w.Data[w.Lanes+lane] = byte(g.t[0])
		}
	case 2:
		put16(w.Data[2*lane:], pair(g.s[0], g.s[1]))
		if w.minima {
			t := pair(g.t[0], g.t[1])
			if zero != 0 {
				t = pair(int8(zero)*g.s[0], int8(zero)*g.s[1])
			}
			put16(w.Data[2*(w.Lanes+lane):], t)
		}
	}
}

// putHead writes the scale and the minimum of a lane.
func (w *writer) putHead(g *group, zero uint8, lane int) {
	d, m := canonical(g.d), canonical(g.m)
	if w.bfloat16 {
		d = scalar.ToBF16(g.ds[0])
	}
	if zero != 0 {
		m = d
	}
	put16(w.Head[2*lane:], d)
	if w.minima {
		put16(w.Head[2*(w.Lanes+lane):], m)
	}
}

// finite returns x, or NaN if it is not finite.
func finite(x float32) float32 {
	if x-x != 0 {
		return scalar.NaN
	}
	return x
}

// canonical returns a binary16, and one NaN for all.
func canonical(h uint16) uint16 {
	if h&0x7fff > 0x7c00 {
		return 0x7e00
	}
	return h
}

func put16(b []byte, x uint16) { binary.LittleEndian.PutUint16(b, x) }
func pair(x, y int8) uint16    { return uint16(uint8(x)) | uint16(uint8(y))<<8 }

// putNumbers writes the words of a lane, see ukernel.PackedFormat. Its words are no arrays, which
// the compiler would not keep in registers.
func (w *writer) putNumbers(q *[contract.WeightBlock]uint8, lane int) {
	bits, stride := w.bits, 4*w.Lanes
	words := w.Data[w.before*w.Lanes+4*lane:]
	s0, s1, s2, s3 := word64(q[:8]), word64(q[8:16]), word64(q[16:24]), word64(q[24:])
	if bits == 8 && w.integers == 0 {
		w0, w1, w2, w3 := turn(uint32(s0), uint32(s1), uint32(s2), uint32(s3))
		words = putWords(words, stride, w0, w1, w2, w3)
		w0, w1, w2, w3 = turn(uint32(s0>>32), uint32(s1>>32), uint32(s2>>32), uint32(s3>>32))
		putWords(words, stride, w0, w1, w2, w3)
		return
	}
	w0, w1, w2, w3 := turn(lowBits(s0), lowBits(s1), lowBits(s2), lowBits(s3))
	words = putWords(words, stride, w0, w1, w2, w3)
	if bits == 4 {
		return
	}
	w0, w1, w2, w3 = turn(highBits(s0), highBits(s1), highBits(s2), highBits(s3))
	switch bits {
	case 5:
		putWord(words, w0|w1<<1|w2<<2|w3<<3)
	case 6:
		putWord(words, w0|w1<<2)
		putWord(words[stride:], w2|w3<<2)
	default:
		putWords(words, stride, w0, w1, w2, w3)
	}
}

func word64(b []byte) uint64          { return binary.LittleEndian.Uint64(b) }
func putWord64(b []byte, word uint64) { binary.LittleEndian.PutUint64(b, word) }
func putWord(b []byte, word uint32)   { binary.LittleEndian.PutUint32(b, word) }

// putWords writes words of a lane, a row of words apart, and returns what follows them.
func putWords(b []byte, stride int, w0, w1, w2, w3 uint32) []byte {
	rows := b[:3*stride+4]
	putWord(rows, w0)
	rows = rows[stride:]
	putWord(rows, w1)
	rows = rows[stride:]
	putWord(rows, w2)
	putWord(rows[stride:], w3)
	return b[min(4*stride, len(b)):]
}

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
	for x := 0; x < k; x += contract.WeightBlock {
		b, rows := BlockAt(f, lanes, panel, x/contract.WeightBlock), dst[x*n:][:contract.WeightBlock*n]
		for lane := range n {
			b.Weights(rows[lane:], n, first+lane)
		}
	}
}
