package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chunks emits the rest of a function that works on left columns of a panel in
// chunks of vectors: as many as widest, a power of 2, while that many are left,
// then fewer. chunk does one, from a label that is its name, and moves the
// pointers on.
func (g *gen) chunks(widest int, left reg.GPVirtual, chunk func(vectors int, name string)) {
	name := func(vectors int) string { return fmt.Sprintf("chunk%d", vectors) }
	g.Comment("The widest chunk of columns that is left.")
	g.Label("columns")
	for v := widest; v > 1; v /= 2 {
		g.CMPQ(left, operand.U32(v*g.lanes()))
		g.JGE(operand.LabelRef(name(v)))
	}
	g.TESTQ(left, left)
	g.JNZ(operand.LabelRef(name(1)))
	g.ret()
	for v := widest; v > 0; v /= 2 {
		chunk(v, name(v))
		g.SUBQ(operand.U32(v*g.lanes()), left)
		g.JMP(operand.LabelRef("columns"))
	}
}
