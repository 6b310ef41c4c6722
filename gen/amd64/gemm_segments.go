package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// single emits the test whether there is more to do than to store a single segment.
func (t *gemmer) single() {
	c, a, b := t.g.Param("c"), t.g.Param("a"), t.g.Param("b")
	t.first, t.more, t.rest = t.g.Argument("k"), t.g.Memory(c.Len()), t.g.Memory(c.Cap())
	t.left, t.adds, t.height, t.start = t.g.Memory(a.Len()), t.g.Memory(a.Cap()), t.g.Memory(b.Len()), t.g.Memory(b.Cap())
	k := t.g.Num("k")
	if t.weights {
		t.g.CMPQ(k, operand.U32(spec.InputSegment))
	} else {
		t.g.CMPQ(k, t.g.Argument("seg"))
	}
	t.g.JG(operand.LabelRef("cut"))
	if t.epilogue == spec.Store {
		t.g.CMPB(t.g.Argument("load"), operand.Imm(0))
		t.g.JNE(operand.LabelRef("cut"))
	}
	t.g.MOVQ(operand.U32(0), t.more)
	t.g.Label("tiles")
}

// cut emits the cut into segments.
func (t *gemmer) cut() {
	t.g.Comment("There are several segments, or C is the first summand.")
	t.g.Label("cut")
	rest, first := t.g.Num("k"), t.g.GP64()
	t.g.MOVQ(rest, first)
	t.limit(first)
	t.g.SUBQ(first, rest)
	t.g.MOVQ(first, t.first)
	t.g.MOVQ(rest, t.rest)
	t.g.MOVQ(rest, t.left)
	t.addsFirst()
	t.g.MOVQ(operand.U32(1), t.more)
	t.g.JMP(operand.LabelRef("tiles"))
}

// addsFirst sets adds for the first segment of a tile.
func (t *gemmer) addsFirst() {
	load := t.g.GP64()
	if t.epilogue == spec.Store {
		t.g.MOVBQZX(t.g.Argument("load"), load)
	} else {
		t.g.XORQ(load, load)
	}
	t.g.MOVQ(load, t.adds)
}

// limit limits a number of steps to those of a segment.
func (t *gemmer) limit(k reg.GPVirtual) {
	if t.weights {
		segment := t.g.GP64()
		t.g.MOVQ(operand.U32(spec.InputSegment), segment)
		t.g.CMPQ(k, segment)
		t.g.CMOVQGT(segment, k)
		return
	}
	t.g.CMPQ(k, t.g.Argument("seg"))
	t.g.CMOVQGT(t.g.Argument("seg"), k)
}
