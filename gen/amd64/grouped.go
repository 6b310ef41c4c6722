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

// groupedBlocks is the function that widens and unpacks blocks of all grouped formats. It
// asks what tells them apart once for a vector of lanes of a block.
const groupedBlocks = "weightBlocksGrouped"

// WeightWidenGrouped is WeightWidenQ for grouped formats, which package quantized
// describes.
func (g *gen) WeightWidenGrouped(q ukernel.PackedFormat) {
	if q == spec.GroupedFormats[0] {
		g.Shared(groupedBlocks, spec.WeightWidenQ(q), "widens or unpacks blocks of grouped formats, whose kernels jump to it.")
		about := g.groupedAbout()
		w := &groupWidener{g: g, about: about, d: [2]reg.VecVirtual{g.Vec(), g.Vec()}, m: [2]reg.VecVirtual{g.Vec(), g.Vec()}}
		g.widenBlocks(func(rows, size reg.GPVirtual) {
			g.MOVQ(about.rows, rows)
			g.MOVQ(about.size, size)
		}, w.passHead, func(r rowCursor) widener {
			w.rowCursor = r
			return w
		})
		w.outOfLine()
	}
	g.groupedKernel(spec.WeightWidenQ(q), q, spec.BlockSteps)
}

// WeightUnpack has the scales and the bytes of WeightWidenGrouped.
func (g *gen) WeightUnpack(q ukernel.PackedFormat) {
	g.groupedKernel(spec.WeightUnpack(q), q, spec.UnpackedRows)
}

// groupedKernel emits a kernel that makes some rows of a block.
func (g *gen) groupedKernel(f spec.Function, q ukernel.PackedFormat, rows int) {
	g.Kernel(f)
	about := g.groupedAbout()
	g.MOVQ(operand.U32(spec.ScaleKind(q)), about.kind)
	g.MOVQ(operand.U32(q.Bits()-4), about.more)
	g.MOVQ(operand.U32(rows), about.rows)
	g.MOVQ(operand.U32(q.BlockBytes(1)), about.size)
	g.TailJump(groupedBlocks)
}

// A groupedAbout is the memory with what tells the kernels of grouped formats apart: the
// kind of scales, the bits of a number beyond 4, the rows that a block becomes, and the
// bytes of a lane in it; and where the head of segmented ones is.
type groupedAbout struct{ kind, more, rows, size, heads operand.Mem }

// groupedAbout takes the place of arguments that are not needed.
func (g *gen) groupedAbout() groupedAbout {
	dst, b := g.Param("dst"), g.Param("b")
	return groupedAbout{g.Memory(dst.Len()), g.Memory(dst.Cap()), g.Memory(b.Len()), g.Memory(b.Cap()), g.Memory(b.Base())}
}

// WeightGemmUnpacked is WeightGemmQ with float32 scales for each half of the steps. Tiles with the
// most rows have no registers for these. With AVX2, more than two rows take no less time than if
// the weights are widened.
func (g *gen) WeightGemmUnpacked() {
	g.Kernel(spec.GemmUnpacked)
	g.blockGemm(g.BlockTiles()[1:], blockShape{unpacked: true,
		bits: 8, scale: 4, header: 4 * spec.UnpackedHeader, bytes: 4 * spec.UnpackedRows * spec.PanelLanes, positions: 4})
}

// bytesOfWords takes bytes where they are in their words, see groupWidener.steps. AVX2 shifts the
// last ones, as the highest bit of a word is a sign. The scales of the second half of the steps
// come after the others. Meanwhile lines of the next part of the panel are prefetched, some more
// than the 18 to 21 that most blocks have. If the unpacking prefetches as well, a row takes 5%
// longer on Zen 3.
func (t *blockGemmer) bytesOfWords(name string) {
	g, mask := t.g, t.g.Vec()
	t.d, t.min = g.Vecs(min(3, t.vectors)), nil
	for _, m := range g.Vecs(len(t.d)) {
		t.min = append(t.min, m)
	}
	t.loadHalf(0)
	g.VMOVUPS(g.Constant(255), mask)
	scale := func(by float32) {
		for _, d := range t.d {
			g.VMULPS(g.Constant(math.Float32bits(by)), d, d)
		}
	}
	masked := g.maskedBytes()
	t.setEnd()
	t.times(masked, t.count, name, func() {
		t.unpackedByte(name, func(m operand.Mem, w reg.VecVirtual) {
			g.and(m, mask, w)
			g.convertUnsigned(w)
		})
		g.VPSLLD(operand.Imm(8), mask, mask)
		scale(0x1p-8)
		g.CMPQ(t.count, operand.U32(masked-1))
		g.JNE(operand.LabelRef(name + "half"))
		t.loadHalf(1)
		g.Label(name + "half")
	})
	if masked == wordBytes {
		return
	}
	scale(0x1p24)
	t.unpackedByte(name+"last", func(m operand.Mem, w reg.VecVirtual) {
		g.VMOVDQU(m, w)
		g.VPSRLD(operand.Imm(24), w, w)
		g.VCVTDQ2PS(w, w)
	})
}

// unpackedByte emits the products of a byte of all words, which number takes out of one, and
// prefetches a fourth of a block.
func (t *blockGemmer) unpackedByte(name string, number func(m operand.Mem, w reg.VecVirtual)) {
	g := t.g
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
			number(t.word(i, v), w)
			g.VFMSUB213PS(t.min[v], t.d[v], w)
			return w
		})
	})
}

// A groupWidener is the widener of grouped formats. A weight is d·q - m, with the d and m
// of its half of the steps.
type groupWidener struct {
	rowCursor
	g      *gen
	about  groupedAbout
	format ukernel.PackedFormat // one with the kind of scales
	d, m   [2]reg.VecVirtual    // by halves of the steps
	words  [8]reg.VecVirtual
}

// steps makes words of bytes, and converts them. Other ends than the most frequent one
// are out of line.
func (w *groupWidener) steps() {
	g := w.g
	w.bytes()
	g.VMULPS(g.Constant(math.Float32bits(0x1p-16)), w.d[1], w.d[1])
	g.CMPQ(w.about.rows, operand.Imm(spec.UnpackedRows))
	g.JE(operand.LabelRef("unpack"))
	if !g.EVEX() {
		g.CMPQ(w.about.kind, operand.Imm(uint64(spec.ScaleKind(ukernel.S8x16F32))))
		g.JE(operand.LabelRef("eight"))
	}
	w.convert("byte", false)
	g.Label("next")
}

func (w *groupWidener) outOfLine() {
	g := w.g
	if !g.EVEX() {
		g.Label("eight")
		g.VMULPS(g.Constant(math.Float32bits(0x1p16)), w.d[1], w.d[1])
		w.convert("number", true)
		g.JMP(operand.LabelRef("next"))
	}
	g.Label("unpack")
	for i := range w.d {
		w.store(w.d[i])
		w.store(w.m[i])
	}
	for _, word := range w.words {
		w.store(word)
	}
	g.JMP(operand.LabelRef("next"))
}

// convert converts byte after byte of words. They are taken where they are in their
// words: q is 256 times as large from byte to byte, and d is smaller by as much, which is
// exact. Words whose last byte AVX2 would take for a signed one are shifted.
func (w *groupWidener) convert(name string, shift bool) {
	g, count, mask := w.g, w.g.GP64(), w.g.Vec()
	g.VMOVUPS(g.Constant(255), mask)
	g.MOVQ(operand.U32(wordBytes), count)
	g.AlignLoop()
	loop.Times(g, count, name, func() {
		for _, word := range w.words {
			x := g.Vec()
			g.and(mask, word, x)
			g.convertUnsigned(x)
			g.VFMSUB213PS(w.m[0], w.d[0], x)
			if shift {
				g.VPSRLD(operand.Imm(8), word, word)
			}
			w.store(x)
		}
		if !shift {
			g.VPSLLD(operand.Imm(8), mask, mask)
			g.VMULPS(g.Constant(math.Float32bits(0x1p-8)), w.d[0], w.d[0])
		}
		g.CMPQ(count, operand.Imm(3))
		g.JNE(operand.LabelRef(name + "half"))
		g.VMOVUPS(w.d[1], w.d[0])
		g.VMOVUPS(w.m[1], w.m[0])
		g.Label(name + "half")
	})
}

const wordBytes = 4

// maskedBytes is how many bytes of a word are converted where they are: AVX2 would take the last
// one for a signed number.
func (g *gen) maskedBytes() int {
	if g.EVEX() {
		return wordBytes
	}
	return wordBytes - 1
}

// convertUnsigned converts integers that AVX2 takes for signed ones.
func (g *gen) convertUnsigned(x reg.VecVirtual) {
	if g.EVEX() {
		g.VCVTUDQ2PS(x, x)
	} else {
		g.VCVTDQ2PS(x, x)
	}
}

// bytes makes words whose bytes are the numbers of the same steps in all formats.
func (w *groupWidener) bytes() {
	g := w.g
	for i := range 4 {
		low := g.Vec()
		g.VMOVUPS(emit.At(w.numbers, 0), low)
		g.ADDQ(w.row, w.numbers)
		w.words[i], w.words[i+4] = g.Vec(), g.Vec()
		g.and(g.Constant(0x0f0f0f0f), low, w.words[i])
		g.VPSRLD(operand.Imm(4), low, low)
		g.and(g.Constant(0x0f0f0f0f), low, w.words[i+4])
	}
	g.CMPQ(w.about.more, operand.Imm(1))
	g.JL(operand.LabelRef("bytes"))
	g.JG(operand.LabelRef("more"))
	w.insert(1)
	g.JMP(operand.LabelRef("bytes"))
	g.Label("more")
	g.CMPQ(w.about.more, operand.Imm(2))
	g.JG(operand.LabelRef("most"))
	w.insert(2)
	g.JMP(operand.LabelRef("bytes"))
	g.Label("most")
	w.insert(4)
	g.Label("bytes")
}

// insert inserts bits of numbers beyond 4.
func (w *groupWidener) insert(more int) {
	g := w.g
	var high reg.VecVirtual
	for i := range 4 {
		at := i * more % 4
		if at == 0 {
			high = g.Vec()
			g.VMOVUPS(emit.At(w.numbers, 0), high)
			g.ADDQ(w.row, w.numbers)
		}
		g.insertHigh(high, w.words[i], 0, at, more)
		g.insertHigh(high, w.words[i+4], 4, at, more)
	}
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
