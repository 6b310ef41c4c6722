package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// MaskBool hides scores by select, one vector of lanes after the other, 16 keys per
// iteration. The keys of a row are bytes, so 16 of them fill a quarter of a vector. They
// are transposed as 4×4 matrices of bytes, within the quarters as in emit/transpose.go. Then
// every quarter has the bytes of one key side by side, and a shuffle spreads them to the
// lanes' sign bits, which select.
//
// Adding 0x7f or 0xff makes a byte, 0 or 1, negative if it hides.
//
// Less than 16 keys are done one by one. If 16 does not divide a larger number, the last
// 16 keys are done at the end, some of them a second time, which changes nothing.
func (g *gen) MaskBool() {
	g.Kernel(spec.MaskBool)
	h := boolMasker{g: g, s: g.Slice("s"), ld: g.Stride("ld"), n: g.Num("n"), keep: g.Slice("keep"), off: g.Slice("off"), max: g.Slice("max")}
	left := g.SliceLen("max")
	h.constants()
	g.JumpIfZero(h.n, "done")
	loop.Lanes(g, left, "One vector of lanes, its maxima in a register.", []reg.GPVirtual{h.s, h.max}, []reg.GPVirtual{h.off}, func() {
		h.top = g.Vec()
		g.LoadVec(h.max, 0, h.top)
		h.row, h.key = g.GP64(), g.GP64()
		g.MOVQ(h.s, h.row)
		g.MOVQ(h.keep, h.key)
		g.CMPQ(h.n, operand.Imm(16))
		g.JL(operand.LabelRef("few"))
		g.Columns("maskbool", 16, 0, h.n, h.sixteen, h.advance)
		g.Label("next")
		g.StoreVec(h.top, h.max, 0)
	})
	g.Label("done")
	g.Return()
	g.Comment("Less than 16 keys: one by one.")
	g.Label("few")
	rows := g.GP64()
	g.MOVQ(h.n, rows)
	loop.Times(g, rows, "one", h.one)
	g.Goto("next")
}

type boolMasker struct {
	g                        *gen
	s, ld, n, keep, off, max reg.GPVirtual

	row, key       reg.GPVirtual // of scores, and in the lanes' rows of keep
	top, flip, inf reg.VecVirtual
	spread         [4]operand.Op
}

// constants sets up flip, which makes bytes that hide negative, and spread, the shuffles that
// spread the bytes of each of the four keys in a quarter to the lanes' highest bytes.
func (h *boolMasker) constants() {
	hidden := h.g.GP64()
	h.g.Load(h.g.Param("hidden"), hidden.As8())
	h.g.MOVBLZX(hidden.As8(), hidden.As32())
	h.g.IMUL3L(operand.U32(0x80808080), hidden.As32(), hidden.As32())
	h.g.NOTL(hidden.As32())
	x := h.g.XMM()
	h.g.VMOVD(hidden.As32(), x)
	h.flip, h.inf = h.g.Vec(), h.g.Vec()
	h.g.VPBROADCASTD(x, h.flip)
	h.g.VMOVUPS(h.g.Constant(spec.MinusInf), h.inf)
	for t := range h.spread {
		var words [4]uint32
		for i := range words {
			words[i] = uint32(4*t+i)<<24 | 0x808080
		}
		h.spread[t] = h.g.AtHand(h.g.Repeated(fmt.Sprintf("spread%d", t), words[:]...))
	}
}

// sixteen masks 16 rows.
func (h *boolMasker) sixteen() {
	v := h.g.Vecs(4)
	for i := range v {
		h.g.LoadQuarters(h.g.Context, v[i], func(q int) operand.Mem { return h.address(4*q + i) })
		h.g.VPADDB(h.flip, v[i], v[i])
	}
	row := h.g.GP64()
	h.g.MOVQ(h.row, row)
	for _, keys := range h.transposeBytes(v) {
		for t := range h.spread {
			m := h.g.Vec()
			h.g.VPSHUFB(h.spread[t], keys, m)
			h.maskRow(row, m)
			h.g.ADDQ(h.ld, row)
		}
	}
}

// transposeBytes transposes the 4×4 matrices of bytes in each quarter: 32-bit word t of
// vector k of the result has column 4·k+t.
func (h *boolMasker) transposeBytes(v []reg.VecVirtual) []reg.VecVirtual {
	a, b := h.interleave(v[0], v[2]), h.interleave(v[1], v[3])
	return append(h.interleave(a[0], b[0]), h.interleave(a[1], b[1])...)
}

func (h *boolMasker) interleave(x, y reg.VecVirtual) []reg.VecVirtual {
	z := h.g.Vecs(2)
	h.g.VPUNPCKLBW(y, x, z[0])
	h.g.VPUNPCKHBW(y, x, z[1])
	return z
}

// one masks a single row.
func (h *boolMasker) one() {
	x, m := h.g.XMM(), h.g.Vec()
	h.g.VXORPS(x, x, x)
	for lane := range h.g.Lanes() {
		h.g.VPINSRB(operand.Imm(uint64(lane)), h.address(lane), x, x)
	}
	h.g.VPADDB(h.flip.AsX(), x, x)
	h.g.VPMOVSXBD(x, m)
	h.maskRow(h.row, m)
	h.g.ADDQ(h.ld, h.row)
	h.g.INCQ(h.key)
}

// address is the address of the current key in the row of a lane.
func (h *boolMasker) address(lane int) operand.Mem {
	o := h.g.GP64()
	h.g.MOVQ(emit.At(h.off, 8*lane), o)
	return emit.Indexed(h.key, o, 1)
}

// maskRow hides the scores of a row in the lanes in which m is negative.
func (h *boolMasker) maskRow(row reg.GPVirtual, m reg.VecVirtual) {
	x := h.g.Vec()
	h.g.LoadVec(row, 0, x)
	h.g.SelectNegative(h.g.Context, x, m, h.inf)
	h.g.storeScores(x, row, 0, h.top)
}

// advance goes on by a number of keys.
func (h *boolMasker) advance(keys operand.Op) {
	rows := h.g.GP64()
	h.g.MOVQ(h.ld, rows)
	if r, ok := keys.(reg.Register); ok {
		h.g.IMULQ(r, rows)
	} else {
		h.g.SHLQ(operand.Imm(4), rows)
	}
	h.g.ADDQ(keys, h.key)
	h.g.ADDQ(rows, h.row)
}
