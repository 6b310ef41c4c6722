package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keyWidener makes columns of K for SkinnyQK. K is transposed in words of 32 bits, of
// which the narrower types need fewer, and so fewer shuffles; what comes out is
// 16 keys' words in the lanes, and a word is one column, or 2 or 4 of a narrow type:
//
//	bfloat16   the lower half shifted, the upper half without the lower
//	binary16   words to even and odd halves, then the conversion
//	int8       byte by byte to a float32, see widenByte, times the keys' scales
//
// The scales lie side by side, as the keys in the lanes; those of the next group of
// columns lsc further on. What is needed of them is in memory, in the place of
// arguments: where the tile's begin, where those at hand do, lsc in bytes, and how many
// columns are left of the group.
type keyWidener struct {
	*gen
	element spec.Element
	n       int // words of a row in a step

	aux        operand.Op // binary16: how words are sorted; bfloat16: the upper half
	bytesOf    []wordByte // int8: those of a word
	first, at  operand.Mem
	lsc, group operand.Mem
	left       operand.Mem
}

func (g *gen) newKeyWidener(e spec.Element) *keyWidener {
	w := &keyWidener{gen: g, element: e, n: g.skinnyWords()}
	switch e {
	case spec.F16:
		w.aux = g.halvesOrder(g)
	case spec.BF16:
		w.aux = g.atHand(g.constant(0xffff0000))
	case spec.Int8:
		w.n = 4 // are 16 columns
		w.bytesOf = g.wordBytes(g)
		scales := g.Param("scales")
		w.first, w.at, w.left = g.memory(scales.Base()), g.memory(scales.Len()), g.memory(scales.Cap())
		w.lsc, w.group = g.argument("lsc"), g.argument("group")
		g.SHLQ(operand.Imm(2), w.lsc)
	}
	return w
}

// width is the number of columns in a step.
func (w *keyWidener) width() int { return 4 * w.n >> w.element.Shift() }

// back goes back, or forward goes on, by a number of keys.
func (w *keyWidener) back(keys reg.GPVirtual) {
	if w.element == spec.Int8 {
		w.SHLQ(operand.Imm(2), keys)
		w.ADDQ(keys, w.first)
	}
}

func (w *keyWidener) forward() {
	if w.element == spec.Int8 {
		w.ADDQ(operand.Imm(4*spec.SkinnyKeys), w.first)
	}
}

// start goes to the first columns.
func (w *keyWidener) start() {
	if w.element == spec.Int8 {
		w.move(w.first, w.at)
		w.move(w.group, w.left)
	}
}

// next goes on by a step. The name is that of a label.
func (w *keyWidener) next(name string) {
	if w.element != spec.Int8 {
		return
	}
	w.SUBQ(operand.Imm(uint64(w.width())), w.left)
	w.JNZ(operand.LabelRef(name))
	lsc := w.GP64()
	w.MOVQ(w.lsc, lsc)
	w.ADDQ(lsc, w.at)
	w.move(w.group, w.left)
	w.Label(name)
}

// A keyColumn emits what makes a column of what has been loaded, and returns it. It is
// called once, in the order of the columns.
type keyColumn func() reg.VecVirtual

// load loads the words of a part of a step, of vector v of keys.
func (w *keyWidener) load(row func(i int) operand.Mem, v, part int) []reg.VecVirtual {
	if w.n == w.skinnyWords() {
		return w.keyWords(w, row, v, part)
	}
	return w.transpose4(w.keyRows(row, v))
}

// columns are those of words of vector v of keys.
func (w *keyWidener) columns(words []reg.VecVirtual, v int) (columns []keyColumn) {
	var scales operand.Op
	if w.element == spec.Int8 {
		p := w.GP64()
		w.MOVQ(w.at, p)
		scales = w.atHand(at(p, v*w.bytes()))
	}
	for _, t := range words {
		columns = append(columns, w.split(t, scales)...)
	}
	return columns
}

// split makes the columns of a word.
func (w *keyWidener) split(t reg.VecVirtual, scales operand.Op) []keyColumn {
	switch w.element {
	case spec.Float32:
		return []keyColumn{func() reg.VecVirtual { return t }}
	case spec.F16:
		return w.widenWords(w.Context, t, w.aux)
	case spec.BF16:
		return []keyColumn{func() reg.VecVirtual {
			even := w.vec()
			w.VPSLLD(operand.Imm(16), t, even)
			return even
		}, func() reg.VecVirtual {
			w.VANDPS(w.aux, t, t)
			return t
		}}
	}
	var columns []keyColumn
	for _, b := range w.bytesOf {
		columns = append(columns, func() reg.VecVirtual {
			x := w.widenByte(w.gen, t, b)
			w.VMULPS(scales, x, x)
			return x
		})
	}
	return columns
}

// A wordByte is a byte of the words of int8.
type wordByte struct {
	number     int        // 0 is the lowest
	mask, sign operand.Op // AVX-512, the lower two
}

// shiftByte makes a float32 of byte b of words, which is shifted up and then, with its
// sign, down. The highest may overwrite them.
func (g *gen) shiftByte(words reg.VecVirtual, b wordByte) reg.VecVirtual {
	x := words
	if b.number < 3 {
		x = g.vec()
		g.VPSLLD(operand.U8(24-8*b.number), words, x)
	}
	g.VPSRAD(operand.Imm(24), x, x)
	g.VCVTDQ2PS(x, x)
	return x
}
