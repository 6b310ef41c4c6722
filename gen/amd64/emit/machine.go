package emit

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The methods of loop.Machine. avo allocates registers by itself.

// AlignLoop aligns a loop so that its instructions come from as few lines of the
// instruction cache as possible.
func (g *Gen) AlignLoop() {
	g.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(64)}})
}

func (g *Gen) Goto(label string) { g.JMP(operand.LabelRef(label)) }

func (g *Gen) JumpIfZero(r reg.GPVirtual, label string) {
	g.TESTQ(r, r)
	g.JZ(operand.LabelRef(label))
}

func (g *Gen) JumpIfVectors(r reg.GPVirtual, n int, label string) {
	if n == 1 {
		g.TESTQ(r, r)
		g.JNZ(operand.LabelRef(label))
		return
	}
	g.CMPQ(r, operand.U32(n*g.Lanes()))
	g.JGE(operand.LabelRef(label))
}

func (g *Gen) CountDown(r reg.GPVirtual, n int, label string) {
	if n == 1 {
		g.DECQ(r)
	} else {
		g.SUBQ(operand.U32(n), r)
	}
	g.JNZ(operand.LabelRef(label))
}

func (g *Gen) Subtract(n int, r reg.GPVirtual) { g.SUBQ(operand.U32(n), r) }

func (g *Gen) Advance(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		g.ADDQ(operand.U32(bytes), p)
	}
}

// Return clears the upper halves of the vector registers before it returns: otherwise SSE
// code after it would be slow.
func (g *Gen) Return() {
	g.VZEROUPPER()
	g.RET()
}

// Vecs returns n fresh vectors.
func (g *Gen) Vecs(n int) []reg.VecVirtual {
	vs := make([]reg.VecVirtual, n)
	for i := range vs {
		vs[i] = g.Vec()
	}
	return vs
}

func (g *Gen) LoadVec(p reg.GPVirtual, i int, x reg.VecVirtual)  { g.VMOVUPS(At(p, i*g.VecBytes()), x) }
func (g *Gen) StoreVec(x reg.VecVirtual, p reg.GPVirtual, i int) { g.VMOVUPS(x, At(p, i*g.VecBytes())) }

func (g *Gen) Scope(body func()) { body() }
