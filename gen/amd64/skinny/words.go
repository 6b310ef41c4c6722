package skinny

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A keyWidener makes columns of K for SkinnyQK. K is transposed in words of 32 bits. The
// narrower types need fewer of them, and so fewer shuffles. The result has the words of 16
// keys in the lanes. A word is one column, or 2, 4 or 8 of a narrow type:
//
//	bfloat16   the lower half is shifted up, the upper half is masked
//	binary16   words become even and odd halves, which are converted; on AVX2 see slots.go
//	fp8        bytes are looked up, see Float8
//	int8, int4 are converted one by one, see WidenByte and WidenNibble, and multiplied by the
//	           keys' scales
//
// The scales lie side by side, as the keys in the lanes. The next group of columns has its scales
// lsc further on. These are in memory, in the place of arguments: the starts of the tile's and of
// the current scales, lsc in bytes, and the columns left in the group.
type keyWidener struct {
	g       *gen
	element spec.Element
	n       int         // words of a row in a step
	kept    int         // words of the first vector of keys that stay in registers
	waiting operand.Mem // the others, until they are used

	aux        operand.Op      // binary16: the order of the halves; bfloat16: a mask of the upper half
	bytesOf    []emit.WordByte // int8: the bytes of a word
	nibbles    []emit.WordNibble
	float8     *emit.Float8
	evens      reg.VecVirtual // the bytes 0 and 2
	first, at  operand.Mem
	lsc, group operand.Mem
	left       operand.Mem
}

func (g *gen) newKeyWidener(e spec.Element) *keyWidener {
	w := &keyWidener{g: g, element: e, n: g.SkinnyWords()}
	switch e {
	case spec.F16:
		if g.EVEX() {
			w.aux = g.HalvesOrder()
		}
	case spec.BF16:
		w.aux = g.AtHand(g.Constant(0xffff0000))
	case spec.E4M3, spec.E5M2:
		w.n = 4
		w.float8 = g.newFloat8(g.Memory(g.Param("max").Cap()))
		w.evens = g.Vec()
		g.VMOVUPS(g.Constant(0x00ff00ff), w.evens)
	case spec.Int8, spec.Int4:
		w.n = 4 // are 16 or 32 columns
		if e == spec.Int8 {
			w.bytesOf = g.WordBytes()
		} else {
			w.nibbles = g.WordNibbles()
		}
		scales := g.Param("scales")
		w.first, w.at, w.left = g.Memory(scales.Base()), g.Memory(scales.Len()), g.Memory(scales.Cap())
		w.lsc, w.group = g.Argument("lsc"), g.Argument("group")
		g.SHLQ(operand.Imm(2), w.lsc)
	}
	w.kept = g.SkinnyKept(e)
	return w
}

// width is the number of columns in a step.
func (w *keyWidener) width() int { return w.n * w.element.PerWord() }

// back goes back by a number of keys, forward goes on by 16.
func (w *keyWidener) back(keys reg.GPVirtual) {
	if w.element.IsScaled() {
		w.g.SHLQ(operand.Imm(2), keys)
		w.g.ADDQ(keys, w.first)
	}
}

func (w *keyWidener) forward() {
	if w.element.IsScaled() {
		w.g.ADDQ(operand.Imm(4*spec.SkinnyKeys), w.first)
	}
}

// start goes to the scales of the first columns.
func (w *keyWidener) start() {
	if w.element.IsScaled() {
		w.g.Move(w.first, w.at)
		w.g.Move(w.group, w.left)
	}
}

// next goes on by a step. name is the name of a label.
func (w *keyWidener) next(name string) {
	if !w.element.IsScaled() {
		return
	}
	w.g.SUBQ(operand.Imm(uint64(w.width())), w.left)
	w.g.JNZ(operand.LabelRef(name))
	lsc := w.g.GP64()
	w.g.MOVQ(w.lsc, lsc)
	w.g.ADDQ(lsc, w.at)
	w.g.Move(w.group, w.left)
	w.g.Label(name)
}

// scales returns the current scales of the tile's keys.
func (w *keyWidener) scales() operand.Mem {
	p := w.g.GP64()
	w.g.MOVQ(w.at, p)
	return emit.At(p, 0)
}

// load loads the words of a step, of vector v of keys.
func (w *keyWidener) load(row func(i int) operand.Mem, v int) []reg.VecVirtual {
	if w.n == w.g.SkinnyWords() {
		return w.g.KeyWords(w.g.Gen, w.element, row, v)
	}
	return w.g.Transpose4(w.g.KeyRows(row, v))
}

// columns returns the columns of words of vector v of keys.
func (w *keyWidener) columns(words []reg.VecVirtual, v int) (columns []emit.KeyColumn) {
	scales := w.scalesOf(v)
	for i, t := range words {
		if v == 0 && i >= w.kept {
			columns = append(columns, w.wait(i-w.kept, t, scales)...)
		} else {
			columns = append(columns, w.split(t, scales)...)
		}
	}
	return columns
}

// scalesOf returns the current scales of vector v of keys, if there are any.
func (w *keyWidener) scalesOf(v int) operand.Op {
	if !w.element.IsScaled() {
		return nil
	}
	return w.g.AtHand(w.scales().Offset(v * w.g.VecBytes()))
}

// wait stores a word on the stack, and returns its columns, the first of which loads it again.
func (w *keyWidener) wait(place int, t reg.VecVirtual, scales operand.Op) []emit.KeyColumn {
	m, again := w.waiting.Offset(place*w.g.VecBytes()), w.g.Vec()
	w.g.VMOVUPS(t, m)
	columns := w.split(again, scales)
	first := columns[0]
	columns[0] = func() reg.VecVirtual {
		w.g.VMOVUPS(m, again)
		return first()
	}
	return columns
}

// split returns the columns of a word.
func (w *keyWidener) split(t reg.VecVirtual, scales operand.Op) []emit.KeyColumn {
	switch w.element {
	case spec.Float32:
		return []emit.KeyColumn{func() reg.VecVirtual { return t }}
	case spec.F16:
		return w.g.WidenWords(t, w.aux)
	case spec.BF16:
		return []emit.KeyColumn{func() reg.VecVirtual {
			even := w.g.Vec()
			w.g.VPSLLD(operand.Imm(16), t, even)
			return even
		}, func() reg.VecVirtual {
			w.g.VANDPS(w.aux, t, t)
			return t
		}}
	case spec.E4M3, spec.E5M2:
		return w.float8.Columns(t, w.evens)
	}
	var columns []emit.KeyColumn
	scaled := func(x reg.VecVirtual) reg.VecVirtual {
		w.g.VMULPS(scales, x, x)
		return x
	}
	for _, b := range w.bytesOf {
		columns = append(columns, func() reg.VecVirtual { return scaled(w.g.WidenByte(t, b)) })
	}
	for _, b := range w.nibbles {
		columns = append(columns, func() reg.VecVirtual { return scaled(w.g.WidenNibble(t, b)) })
	}
	return columns
}
