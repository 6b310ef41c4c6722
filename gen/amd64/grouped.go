package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// WeightWidenGrouped is WeightWidenQ for grouped formats, which package quantized describes. With AVX-512 it
// is the kernel of AVX2.
func (g *gen) WeightWidenGrouped(q spec.BlockFormat) {
	if g.EVEX() {
		return
	}
	g.widenBlocks(q, func(r rowCursor) widener { return &groupWidener{rowCursor: r, g: g, format: q} })
}

// A groupWidener is the widener of a grouped format. A weight is d·q - m, with the d and m of its half of
// the steps.
type groupWidener struct {
	rowCursor
	g      *gen
	format spec.BlockFormat
	d, m   [2]reg.VecVirtual // by halves of the steps
}

// header makes the scales and minima of some lanes, and sets numbers to theirs.
func (w *groupWidener) header(block, lane reg.GPVirtual) {
	g, p := w.g, w.g.GP64()
	g.LEAQ(emit.Indexed(block, lane, 2), p)
	scale, least := g.Vec(), g.Vec()
	g.VCVTPH2PS(emit.At(p, 0), scale)
	g.LEAQ(emit.Indexed(p, w.lanes, 2), p)
	if w.format.Offset() == 0 {
		g.VCVTPH2PS(emit.At(p, 0), least)
		g.LEAQ(emit.Indexed(p, w.lanes, 2), p)
	}
	w.d = w.products(p, scale)
	g.LEAQ(emit.Indexed(p, w.lanes, 2), p)
	if w.format.Offset() == 0 {
		w.m = w.products(p, least)
		g.LEAQ(emit.Indexed(p, w.lanes, 2), p)
	} else {
		offset := g.Constant(math.Float32bits(float32(w.format.Offset())))
		for i, d := range w.d {
			w.m[i] = g.Vec()
			g.VMULPS(offset, d, w.m[i])
		}
	}
	g.LEAQ(emit.Indexed(p, lane, 2), w.numbers)
}

// products are those of x and the pairs of int8 at p.
func (w *groupWidener) products(p reg.GPVirtual, x reg.VecVirtual) (y [2]reg.VecVirtual) {
	g := w.g
	y[0], y[1] = g.Vec(), g.Vec()
	g.VPMOVSXBW(emit.At(p, 0), y[1])
	g.VPSLLD(operand.Imm(16), y[1], y[0])
	for _, v := range y {
		g.VPSRAD(operand.Imm(16), v, v)
		g.VCVTDQ2PS(v, v)
		g.VMULPS(x, v, v)
	}
	return y
}

// steps takes the words into registers. An iteration converts the numbers in their lowest bytes.
func (w *groupWidener) steps() {
	g, count := w.g, w.g.GP64()
	words := g.Vecs(w.format.Bits())
	for _, x := range words {
		g.VMOVDQU(emit.At(w.numbers, 0), x)
		g.ADDQ(w.row, w.numbers)
	}
	g.MOVQ(operand.U32(4), count)
	loop.Times(g, count, "step", func() {
		for step := range 8 {
			w.step(words, step%4, step/4*4)
		}
		for _, x := range words {
			g.VPSRLD(operand.Imm(8), x, x)
		}
		g.CMPQ(count, operand.Imm(3))
		g.JNE(operand.LabelRef("half"))
		g.VMOVUPS(w.d[1], w.d[0])
		g.VMOVUPS(w.m[1], w.m[0])
		g.Label("half")
	})
}

// step converts the numbers of word i that begin at a bit of the lowest byte.
func (w *groupWidener) step(words []reg.VecVirtual, i, bit int) {
	g, x := w.g, w.g.Vec()
	g.VPSRLD(operand.Imm(uint64(bit)), words[i], x)
	g.VPAND(g.Constant(15), x, x)
	if more := w.format.Bits() - 4; more > 0 {
		high, at, word := g.Vec(), i*more%4+bit, words[4+i*more/4]
		if at < 4 {
			g.VPSLLD(operand.Imm(uint64(4-at)), word, high)
		} else {
			g.VPSRLD(operand.Imm(uint64(at-4)), word, high)
		}
		g.VPAND(g.Constant(uint32(1<<more-1)<<4), high, high)
		g.VPOR(high, x, x)
	}
	g.VCVTDQ2PS(x, x)
	g.VFMSUB213PS(w.m[0], w.d[0], x)
	g.VMOVUPS(x, emit.At(w.to, 0))
	g.ADDQ(w.row, w.to)
}
