package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// WeightWidenGrouped is WeightWidenQ for grouped formats, which package quantized describes. With AVX-512 it
// is the kernel of AVX2, and so are those below.
func (g *gen) WeightWidenGrouped(q ukernel.PackedFormat) {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.WeightWidenQ(q))
	g.widenBlocks(q, spec.BlockSteps, func(r rowCursor) widener {
		return &groupWidener{rowCursor: r, g: g, format: q}
	})
}

// WeightUnpack has the scales and the bytes of WeightWidenGrouped.
func (g *gen) WeightUnpack(q ukernel.PackedFormat) {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.WeightUnpack(q))
	g.widenBlocks(q, spec.UnpackedRows, func(r rowCursor) widener {
		return &groupUnpacker{groupWidener{rowCursor: r, g: g, format: q}}
	})
}

// WeightGemmUnpacked is WeightGemmQ with float32 scales for each half of the steps, for one row and two.
func (g *gen) WeightGemmUnpacked() {
	if g.EVEX() {
		return
	}
	g.Kernel(spec.GemmUnpacked)
	g.blockGemm([]spec.TileShape{{Vectors: 3, Rows: 2}, {Vectors: 6, Rows: 1}}, blockShape{unpacked: true,
		bits: 8, scale: 4, header: 4 * spec.UnpackedHeader, bytes: 4 * spec.UnpackedRows * spec.PanelLanes, positions: 4})
}

// bytesOfWords takes bytes where they are in their words, see groupWidener.steps. The scales of the second half of
// the steps come after those of the first. Meanwhile lines of the next part of the panel are prefetched, some more than
// the 18 to 21 that a block has. If the unpacking prefetches as well, a row takes 5% longer on Zen 3.
func (t *blockGemmer) bytesOfWords(name string) {
	g, mask := t.g, t.g.Vec()
	t.d, t.min = g.Vecs(min(3, t.vectors)), nil
	for _, m := range g.Vecs(len(t.d)) {
		t.min = append(t.min, m)
	}
	t.loadHalf(0)
	g.VMOVDQU(g.Constant(255), mask)
	t.times(4, t.count, name, func() {
		if t.first == 0 {
			lines := spec.UnpackedLines / 4 * t.vectors * g.Lanes() / spec.PanelLanes
			for line := range lines {
				g.PREFETCHT0(emit.At(t.far, line*spec.LineBytes))
			}
			g.ADDQ(operand.U32(lines*spec.LineBytes), t.far)
		}
		t.eachWord(name+"words", func(i int) {
			t.step(func(v int) reg.VecVirtual {
				w := g.Vec()
				g.VPAND(t.word(i, v), mask, w)
				g.VCVTDQ2PS(w, w)
				g.VFMSUB213PS(t.min[v], t.d[v], w)
				return w
			})
		})
		g.VPSLLD(operand.Imm(8), mask, mask)
		for _, d := range t.d {
			g.VMULPS(g.Constant(math.Float32bits(0x1p-8)), d, d)
		}
		g.CMPQ(t.count, operand.Imm(3))
		g.JNE(operand.LabelRef(name + "half"))
		t.loadHalf(1)
		g.Label(name + "half")
	})
}

// A groupWidener is the widener of a grouped format. A weight is d·q - m, with the d and m of its half of
// the steps.
type groupWidener struct {
	rowCursor
	g      *gen
	format ukernel.PackedFormat
	d, m   [2]reg.VecVirtual // by halves of the steps
}

// steps makes words of bytes, and converts byte after byte of them. The bytes are taken
// where they are in their words: q is 256 times as large from byte to byte, and d is
// smaller by as much, which is exact. In brain formats the words are shifted, as the least d, a subnormal
// number, times a power of two below 1 would be 0.
func (w *groupWidener) steps() {
	g, count, mask := w.g, w.g.GP64(), w.g.Vec()
	words := w.bytes()
	g.VMOVDQU(g.Constant(255), mask)
	if !w.format.Brain() {
		g.VMULPS(g.Constant(math.Float32bits(0x1p-16)), w.d[1], w.d[1])
	}
	g.MOVQ(operand.U32(4), count)
	loop.Times(g, count, "byte", func() {
		for _, word := range words {
			x := g.Vec()
			g.VPAND(mask, word, x)
			g.VCVTDQ2PS(x, x)
			w.weight(x)
			w.store(x)
			if w.format.Brain() {
				g.VPSRLD(operand.Imm(8), word, word)
			}
		}
		if !w.format.Brain() {
			g.VPSLLD(operand.Imm(8), mask, mask)
			g.VMULPS(g.Constant(math.Float32bits(0x1p-8)), w.d[0], w.d[0])
		}
		g.CMPQ(count, operand.Imm(3))
		g.JNE(operand.LabelRef("half"))
		g.VMOVUPS(w.d[1], w.d[0])
		if !w.format.Brain() {
			g.VMOVUPS(w.m[1], w.m[0])
		}
		g.Label("half")
	})
}

// bytes returns words whose bytes are the numbers of the same steps in all formats.
func (w *groupWidener) bytes() (words [8]reg.VecVirtual) {
	g, more := w.g, w.format.Bits()-4
	for i := range 4 {
		low := g.Vec()
		g.VMOVDQU(emit.At(w.numbers, 0), low)
		g.ADDQ(w.row, w.numbers)
		words[i], words[i+4] = g.Vec(), g.Vec()
		g.VPAND(g.Constant(0x0f0f0f0f), low, words[i])
		g.VPSRLD(operand.Imm(4), low, low)
		g.VPAND(g.Constant(0x0f0f0f0f), low, words[i+4])
	}
	var high reg.VecVirtual
	for i := 0; more > 0 && i < 4; i++ {
		at := i * more % 4
		if at == 0 {
			high = g.Vec()
			g.VMOVDQU(emit.At(w.numbers, 0), high)
			g.ADDQ(w.row, w.numbers)
		}
		g.insertHigh(high, words[i], 0, at, more)
		g.insertHigh(high, words[i+4], 4, at, more)
	}
	return words
}

// store stores a vector of a row.
func (w *groupWidener) store(x reg.VecVirtual) {
	w.g.VMOVUPS(x, emit.At(w.to, 0))
	w.g.ADDQ(w.row, w.to)
}

// loadHalf loads the scales and minima of a half of the steps.
func (t *blockGemmer) loadHalf(half int) {
	for v, d := range t.d {
		at := 2*half*t.scale*spec.PanelLanes + (t.first+v)*t.g.VecBytes()
		t.g.VMOVUPS(emit.At(t.scales, at), d)
		t.g.VMOVUPS(emit.At(t.scales, at+t.scale*spec.PanelLanes), t.min[v])
	}
}

// A groupUnpacker is the widener that stores scales, minima and words of bytes.
type groupUnpacker struct{ groupWidener }

func (u *groupUnpacker) steps() {
	u.g.VMULPS(u.g.Constant(math.Float32bits(0x1p-16)), u.d[1], u.d[1])
	for i := range u.d {
		u.store(u.d[i])
		u.store(u.m[i])
	}
	for _, word := range u.bytes() {
		u.store(word)
	}
}
