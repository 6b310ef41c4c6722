package quantized

import (
	"math"
	"slices"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// Float32 converts blocks to float32, Weights numbers each. Products are rounded, and then
// differences, as ggml's dequantize_row functions do it. Their products of minima and integers are
// exact.
func (f *Format) Float32(dst []float32, blocks []byte) {
	var g group
	for ; len(dst) > 0; dst, blocks = dst[f.Weights:], blocks[f.Bytes:] {
		for part := range f.Weights / contract.WeightBlock {
			f.read(&g, blocks[:f.Bytes], part)
			if !f.Packed.Float32Scales() && !f.Packed.BFloat16Scales() {
				d := scalar.F16(g.d)
				g.ds = [2]float32{d * float32(g.s[0]), d * float32(g.s[1])}
			}
			g.float32(dst[part*contract.WeightBlock:][:contract.WeightBlock], f.zero)
		}
	}
}

func (g *group) float32(dst []float32, zero uint8) {
	least := scalar.F16(g.m)
	for i, d := range g.ds {
		m := float32(least * float32(g.t[i]))
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

// Pack writes the blocks of some rows into the blocks of a packed panel. rows has one row of
// k/Weights blocks for each of the first lanes. The other lanes stay as they are. A format with
// scales of float32 has its scales multiplied by scales, one for all rows or one for each; none
// stand for 1.
func (f *Format) Pack(panel, rows []byte, lanes, k int, scales []float32) {
	p, parts, blocks := f.Packed, f.Weights/contract.WeightBlock, k/f.Weights
	row := blocks * f.Bytes
	var g group
	w := newWriter(p, lanes)
	for first := 0; first < blocks; first += packedAtOnce {
		some := min(packedAtOnce, blocks-first)
		for lane := range len(rows) / row {
			from, to := rows[lane*row+first*f.Bytes:][:some*f.Bytes], panel[p.PanelBytes(lanes, first*f.Weights):]
			for ; len(from) > 0; from = from[f.Bytes:] {
				for part := range parts {
					f.read(&g, from, part)
					if len(scales) > 0 {
						d := scales[lane%len(scales)]
						g.ds = [2]float32{d * g.ds[0], d * g.ds[1]}
					}
					to = w.next(to, part)
					w.put(&g, f.zero, lane)
				}
			}
		}
	}
}

// packedAtOnce is how many blocks of a row follow each other before the next row: what they become
// stays in L1.
const packedAtOnce = 8

// flush makes weights of E2M1 below 2^-126 zeros.
func (g *group) flush() {
	for i, q := range g.q {
		if math.Abs(float64(g.ds[0])*float64(int(q)-int(e2m1Zero))) < 0x1p-126 {
			g.q[i] = e2m1Zero
		}
	}
}

// numbersOf has the numbers of a format's values, if it has such: of 0 in E2M1 its first one.
var numbersOf = func() (all [ukernel.PackedFormats]*[256]uint8) {
	for f := range all {
		if values := ukernel.PackedFormat(f).Values(); values != nil {
			all[f] = new([256]uint8)
			for i, v := range slices.Backward(values[:]) {
				all[f][int(v)] = uint8(i)
			}
		}
	}
	return all
}()

// Affine returns what weights d·(q-zero) are packed as, with q of some bits, zeros from least to
// most, and d and zeros for each 16 inputs: half tells whether all d are binary16, and the same for
// each 32. It reports false if no format has all of them.
func Affine(bits, least, most int, half bool) (p ukernel.PackedFormat, ok bool) {
	lowest, highest := -most, 1<<bits-1-least // of q-zero
	fits := func(offset int) bool { return lowest >= -offset && highest < offset }
	switch {
	case half && fits(ukernel.S4.Offset()):
		return ukernel.S4, true
	case half && bits <= ukernel.U4x16.Bits():
		return ukernel.U4x16, true
	case half && fits(ukernel.S8.Offset()):
		return ukernel.S8, true
	case fits(ukernel.S5x16F32.Offset()):
		return ukernel.S5x16F32, true
	}
	return ukernel.S8x16F32, fits(ukernel.S8x16F32.Offset())
}

// AffineAs tells whether Affine may return p.
func AffineAs(p ukernel.PackedFormat) bool {
	return p == ukernel.S4 || p == ukernel.U4x16 || p == ukernel.S8 || p.Float32Scales()
}

// PutAffine writes a lane of a format that Affine returns: codes, and scales and zeros by halves of
// the steps.
func (b *Block) PutAffine(codes *[32]uint8, scales [2]float32, zeros [2]uint8, lane int) {
	d := scalar.ToF16(scales[0])
	g := group{d: d, m: d, s: [2]int8{1, 1}, ds: scales, q: *codes}
	if offset := b.Format.Offset(); offset != 0 {
		for i := range g.q {
			g.q[i] += uint8(offset) - zeros[i/16]
		}
	} else {
		g.t = [2]int8{int8(zeros[0]), int8(zeros[1])}
	}
	w := newWriter(b.Format, b.Lanes)
	w.next(b.Head, 0)
	w.put(&g, 0, lane)
}
