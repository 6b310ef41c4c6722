package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fewWords makes columns of K for fewScores. K is transposed in words of 32 bits, of
// which the narrower types need fewer, and so fewer shuffles; what comes out is
// 16 keys' words in the lanes, and a word is one column, or 2 or 4 of a narrow type:
//
//	bfloat16   the lower half shifted, the upper half without the lower
//	binary16   words to even and odd halves, then the conversion
//	int8       byte by byte shifted up and, with its sign, down; converted; times the keys' scales
//
// The scales lie side by side, as the keys in the lanes; those of the next group of
// columns lsc further on. Beside the pointer to those at hand all that is needed is in
// memory, in the place of arguments: where the tile's scales begin, lsc in bytes, and
// how many columns are left of the group.
type fewWords struct {
	*gen
	element element
	n       int // words of a row in a step

	aux            operand.Op // binary16: how words are sorted; bfloat16: the upper half
	at             reg.GPVirtual
	first, lsc     operand.Mem
	group, ofScale operand.Mem
}

func (g *gen) newFewWords(e element) *fewWords {
	w := &fewWords{gen: g, element: e, n: 4}
	switch e {
	case float32s:
		w.n = g.fewColumns()
	case f16s:
		w.aux = g.halvesOrder(g)
	case bf16s:
		w.aux = g.atHand(g.constant(0xffff0000))
	case int8s:
		w.first, w.lsc, w.group = g.memory(g.Param("scales").Base()), g.argument("lsc"), g.argument("group")
		w.ofScale = g.memory(g.Param("scales").Len())
		w.at = g.GP64()
		g.SHLQ(operand.Imm(2), w.lsc)
	}
	return w
}

// columns is their number in a step.
func (w *fewWords) columns() int { return 4 * w.n >> w.element.shift() }

// back goes back, or forward goes on, by a number of keys.
func (w *fewWords) back(keys reg.GPVirtual) {
	if w.element == int8s {
		w.SHLQ(operand.Imm(2), keys)
		w.ADDQ(keys, w.first)
	}
}

func (w *fewWords) forward() {
	if w.element == int8s {
		w.ADDQ(operand.Imm(4*fewKeys), w.first)
	}
}

// start goes to the first columns.
func (w *fewWords) start() {
	if w.element == int8s {
		w.MOVQ(w.first, w.at)
		w.startGroup()
	}
}

func (w *fewWords) startGroup() {
	group := w.GP64()
	w.MOVQ(w.group, group)
	w.MOVQ(group, w.ofScale)
}

// next goes on by a step. The name is that of a label.
func (w *fewWords) next(name string) {
	if w.element != int8s {
		return
	}
	w.SUBQ(operand.Imm(uint64(w.columns())), w.ofScale)
	w.JNZ(operand.LabelRef(name))
	w.ADDQ(w.lsc, w.at)
	w.startGroup()
	w.Label(name)
}

// each calls do for every column of a step, of vector v of keys.
func (w *fewWords) each(row func(i int) operand.Mem, v int, do func(column reg.VecVirtual)) {
	if w.element == float32s {
		for _, t := range w.keyColumns(w.gen, row, v) {
			do(t)
		}
		return
	}
	var scales reg.VecVirtual
	if w.element == int8s {
		scales = w.vec()
		w.VMOVUPS(at(w.at, v*w.bytes()), scales)
	}
	for _, t := range w.keyWords(row, v) {
		w.split(t, scales, do)
	}
}

// split calls do for every column of a word.
func (w *fewWords) split(t, scales reg.VecVirtual, do func(column reg.VecVirtual)) {
	switch w.element {
	case f16s:
		even, odd := w.widenWords(w.Context, t, w.aux)
		do(even)
		do(odd)
	case bf16s:
		even := w.vec()
		w.VPSLLD(operand.Imm(16), t, even)
		do(even)
		w.VANDPS(w.aux, t, t)
		do(t)
	case int8s:
		for b := range 4 {
			x := w.vec()
			if b < 3 {
				w.VPSLLD(operand.U8(24-8*b), t, x)
				w.VPSRAD(operand.Imm(24), x, x)
			} else {
				w.VPSRAD(operand.Imm(24), t, x)
			}
			w.VCVTDQ2PS(x, x)
			w.VMULPS(scales, x, x)
			do(x)
		}
	}
}
