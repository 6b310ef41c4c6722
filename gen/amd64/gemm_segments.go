package amd64

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// single emits the test whether a product has a single segment that is not added to C.
func (t *gemmer) single() {
	k := t.g.Num("k")
	if t.segment > 0 {
		t.g.MOVQ(operand.U32(storeOne), t.mode)
		t.g.CMPQ(k, operand.U32(t.segment))
		t.g.JG(operand.LabelRef("cut"))
	} else {
		t.g.CMPQ(t.mode, operand.Imm(merge)) // it has one
		t.g.JE(operand.LabelRef("tiles"))
		t.g.CMPQ(k, t.g.Argument("seg"))
		t.g.JG(operand.LabelRef("cut"))
		t.g.CMPQ(t.mode, operand.Imm(storeOne))
		t.g.JNE(operand.LabelRef("tiles"))
	}
	t.g.CMPB(t.g.Argument("load"), operand.Imm(0))
	t.g.JNE(operand.LabelRef("cut"))
	t.g.Label("tiles")
}

// cut emits the cut into segments.
func (t *gemmer) cut() {
	t.g.Comment("There are several segments, or C is the first summand.")
	t.g.Label("cut")
	rest, first, load := t.g.Num("k"), t.g.GP64(), t.g.GP64()
	t.g.MOVQ(rest, first)
	t.limit(first)
	t.g.SUBQ(first, rest)
	t.g.MOVQ(first, t.first)
	t.g.MOVQ(rest, t.rest)
	t.g.MOVQ(rest, t.left)
	t.g.XORQ(load, load)
	t.g.CMPQ(t.mode, operand.Imm(storeOne))
	t.g.JNE(operand.LabelRef("begins"))
	t.g.MOVBQZX(t.g.Argument("load"), load)
	t.g.Label("begins")
	t.g.MOVQ(load, t.adds)
	t.g.MOVQ(load, t.begins)
	t.g.INCQ(t.mode)
	t.g.JMP(operand.LabelRef("tiles"))
}

// limit limits a number of steps to a segment's.
func (t *gemmer) limit(k reg.GPVirtual) {
	if t.segment > 0 {
		segment := t.g.GP64()
		t.g.MOVQ(operand.U32(t.segment), segment)
		t.g.CMPQ(k, segment)
		t.g.CMOVQGT(segment, k)
		return
	}
	t.g.CMPQ(k, t.g.Argument("seg"))
	t.g.CMOVQGT(t.g.Argument("seg"), k)
}
