package quantized

import "github.com/attn-go/attn/internal/ukernel"

// Affine returns what weights d·(q-zero) are packed as, with q of some bits, zeros from least to most, and
// d and zeros for each 16 inputs: half tells whether all d are binary16, and the same for each 32. It reports
// false if no format has all of them.
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
	}
	return ukernel.S5x16F32, fits(ukernel.S5x16F32.Offset())
}

// AffineAs tells whether Affine may return p.
func AffineAs(p ukernel.PackedFormat) bool {
	return p == ukernel.S4 || p == ukernel.U4x16 || p == ukernel.S8 || p == ukernel.S5x16F32
}

// PutAffine writes a lane of a format that Affine returns: codes, and scales and zeros by halves of the steps.
func (b *Block) PutAffine(codes *[32]uint8, scales [2]float32, zeros [2]uint8, lane int) {
	g := group{d: scales[0], m: scales[0], s: [2]float32{1, 1}, q: *codes}
	if b.Format.Float32Scales() {
		g.d, g.s = 1, scales
	}
	if offset := b.Format.Offset(); offset != 0 {
		for i := range g.q {
			g.q[i] += uint8(offset) - zeros[i/16]
		}
	} else {
		g.t = [2]int8{int8(zeros[0]), int8(zeros[1])}
	}
	b.put(&g, 0, lane)
}
