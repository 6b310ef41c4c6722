package linear

import (
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// AffineWeights are integers q of an output and an input, with a scale d and a zero point z for
// some inputs of an output: a weight is
//
//	d·(q - z)
//
// in float32, where the difference is rounded, and then the product. Checkpoints of GPTQ and AWQ
// have them, and MatMulNBits of ONNX.
type AffineWeights struct {
	N, K int // outputs and inputs
	Bits int // of an integer: 2, 4 or 8

	// GroupSize is how many neighbouring inputs share a scale and a zero point, at least 1. There
	// are K/GroupSize groups, rounded up; with a GroupSize of K or more an output has one.
	GroupSize int

	// Codes are the integers as Packing says.
	Codes   []byte
	Packing Packing

	// Scales are d, [N, groups], of any type. GPTQ and AWQ have them as [groups, N]: pass
	// their Matrix.T.
	Scales Matrix

	// ZeroCodes are z as Packing says. ZeroOffset is added to each, modulo 2^Bits: 1 in
	// checkpoints of GPTQ (checkpoint_format "gptq"), 0 in all others.
	ZeroCodes  []byte
	ZeroOffset int

	// Zeros are z as numbers, [N, groups], in the place of ZeroCodes. With neither, z is
	// 2^(Bits-1).
	Zeros Matrix

	// GroupOf, if not nil, has the group of each input (g_idx of GPTQ with desc_act). The weights
	// become float32 unless each 16 inputs from a multiple of 16 on are of one group.
	GroupOf []int32
}

// A Packing is how integers of AffineWeights lie in bytes.
type Packing uint8

// The packings. Words are 32 bits, little-endian, as tensors of int32 have them in files.
const (
	// Unpacked: codes [N, K] and zero points [N, groups], a byte each.
	Unpacked Packing = iota

	// ByteRows: codes [N, groups·GroupSize] and zero points [N, groups], the first of a byte in its
	// lowest bits. Each row begins with a byte, and each group, too (MatMulNBits: B and
	// zero_points).
	ByteRows

	// GPTQ: codes [K, N] and zero points [groups, N]. A word has the codes of neighbouring inputs,
	// the first in its lowest bits, or the zero points of neighbouring outputs (qweight, qzeros).
	GPTQ

	// AWQ: codes [K, N] and zero points [groups, N]. A word has the codes of 8 neighbouring
	// outputs, in the order 0, 2, 4, 6, 1, 3, 5, 7 from its lowest bits on (qweight, qzeros). Bits
	// is 4.
	AWQ
)

// Affine is the Format of layers that [FromAffine] has packed with fewer bits than float32. No file
// has it.
const Affine Format = 1 << 16

// FromAffine packs integers with scales and zero points, and the bias, N numbers or nil for none.
// All is copied. exec is as for [New].
//
// The layer has the bits of New on the weights as float32. It takes so many bits a weight, for
// scales d that are binary16 and the same for each 32 inputs, and for other scales, which are
// float32 (0, or from 2^-100 to 2^100 in magnitude) or the same for each 16 inputs:
//
//	q-z from -8 to 7                     4.5   7
//	q of 4 bits, z an integer, 0 to 15   6     7
//	q of 8 bits, z = 128                 8.5   10
//
// In all other cases the weights are float32, and [Linear.Format] is 0: then calls cannot have
// Options.DynamicInt8.
//
// Bad input is a [*kernel.Error], and so are scales and zero points that are NaN or infinite. If
// the weights do not fit memory, the error has the kind [kernel.ErrMemory].
func FromAffine(w *AffineWeights, bias []float32, exec kernel.Exec) (*Linear, error) {
	f := w.check()
	if f == nil {
		f = checkBias(bias, w.N)
	}
	t, err := elementwise.Begin("linear.FromAffine", &exec, f)
	if err != nil {
		return nil, err
	}
	if view.Races {
		w.announce()
	}
	l := &Linear{n: w.N, k: w.K}
	if p, ok := w.packed(); ok {
		l.format, l.packed = Affine, p
	}
	if !hugepages.Fits(ints.AddSat(w.size(l), ints.MulSat(l.lanes(), 4)), 1) {
		return nil, (*kernel.Error)(check.TooLarge("AffineWeights", w.describe()).In("linear.FromAffine"))
	}
	if l.format == 0 {
		l.f32 = hugepages.Make[float32](l.lanes() * l.k)
	} else {
		l.blocks = hugepages.Make[byte](l.blockBytes(l.lanes()))
	}
	l.eachPanel(t, &exec, func(p int) {
		row := w.newRow()
		first := p * ukernel.PanelLanes
		for lane := range min(ukernel.PanelLanes, l.n-first) {
			w.read(&row, first+lane)
			if l.format == 0 {
				w.widen(l.f32[l.panelStart(p)+lane:], l.panelWidth(p), &row)
			} else {
				w.pack(l.packed, l.panelBlocks(p), l.panelWidth(p), &row, lane)
			}
		}
		if l.format == 0 {
			rows.FlushAll(t, l.f32[l.panelStart(p):][:l.panelWidth(p)*l.k])
		}
	})
	l.bias = l.paddedBias(bias)
	return l, nil
}

// size is the size of the packed weights in bytes, at most math.MaxInt.
func (w *AffineWeights) size(l *Linear) int {
	if l.format == 0 {
		return ints.MulSat(ints.MulSat(l.lanes(), w.K), 4)
	}
	return ints.MulSat(l.lanes(), ints.MulSat(ints.CeilDiv(w.K, ukernel.BlockSteps), l.packed.BlockBytes(1)))
}

// packed returns what the weights are packed as, and false if they become float32.
func (w *AffineWeights) packed() (p ukernel.PackedFormat, ok bool) {
	const half = ukernel.BlockSteps / 2
	if w.N == 0 {
		return 0, false
	}
	for k := range w.K {
		if w.group(k) != w.group(k&^(half-1)) {
			return 0, false
		}
	}
	whole := true // blocks have one group
	for k := half; k < w.K; k += 2 * half {
		whole = whole && w.group(k) == w.group(k-half)
	}
	least, most := 1<<w.Bits, 0
	for n := range w.N {
		for g := range w.groups() {
			z := w.zero(n, g)
			if !(z >= 0 && z < float32(int(1)<<w.Bits)) || z != float32(int(z)) {
				return 0, false
			}
			least, most = min(least, int(z)), max(most, int(z))
			d := w.scale(n, g)
			whole = whole && scalar.F16(scalar.ToF16(d)) == d
			if a := max(d, -d); d != 0 && !(a >= 0x1p-100 && a <= 0x1p100) {
				return 0, false
			}
		}
	}
	return quantized.Affine(w.Bits, least, most, whole)
}

// An affineRow has the codes of an output, and its scales and zero points by groups.
type affineRow struct {
	codes         []uint8
	scales, zeros []float32
}

func (w *AffineWeights) newRow() affineRow {
	n := w.groups()
	return affineRow{make([]uint8, w.K), make([]float32, n), make([]float32, n)}
}

// read sets r to what output n has.
func (w *AffineWeights) read(r *affineRow, n int) {
	w.readCodes(r.codes, n)
	for g := range r.scales {
		r.scales[g], r.zeros[g] = w.scale(n, g), w.zero(n, g)
	}
}

// widen writes a row of weights to every ld-th number of dst.
func (w *AffineWeights) widen(dst []float32, ld int, r *affineRow) {
	for k, q := range r.codes {
		g := w.group(k)
		dst[k*ld] = r.scales[g] * float32(float32(q)-r.zeros[g])
	}
}

// pack writes a row to a lane of a panel. A weight behind the last one has the zero point as its
// code.
func (w *AffineWeights) pack(p ukernel.PackedFormat, panel []byte, lanes int, r *affineRow, lane int) {
	const half = ukernel.BlockSteps / 2
	for k := 0; k < w.K; k += ukernel.BlockSteps {
		var codes [ukernel.BlockSteps]uint8
		var scales [2]float32
		var zeros [2]uint8
		for i := range scales {
			g := w.group(min(k+i*half, w.K-1))
			scales[i], zeros[i] = r.scales[g], uint8(r.zeros[g])
		}
		n := copy(codes[:], r.codes[k:])
		for i := n; i < len(codes); i++ {
			codes[i] = zeros[i/half]
		}
		b := quantized.BlockAt(p, lanes, panel, k/ukernel.BlockSteps)
		b.PutAffine(&codes, scales, zeros, lane)
	}
}

// announce tells the race detector that all weights are read.
func (w *AffineWeights) announce() {
	view.Announce(view.Read, w.Codes)
	view.Announce(view.Read, w.ZeroCodes)
	view.Announce(view.Read, w.GroupOf)
	w.Scales.announce(view.Read)
	w.Zeros.announce(view.Read)
}
