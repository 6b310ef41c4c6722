// Package amd64 has the semantics of the instructions of AVX, AVX2, FMA, F16C, AVX-512 and AMX that
// generated assembly uses, and of instructions for addresses and counts, for package machine.
// Operands are in the order of Go's assembler: the destination last. Comments cite the numbers of
// Intel's manual.
package amd64

import (
	"strconv"
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// The registers in State.W: 16 of 64 bits, 8 masks of 16, 32 vectors of 16 words, what is known of
// the flags: which instruction set them, and from what, and tiles.
const (
	firstMask = 16
	firstVec  = firstMask + 8
	vecWords  = 16
	flagKind  = firstVec + 32*vecWords
	flagX     = flagKind + 1
	flagY     = flagKind + 2
	upper     = flagKind + 3 // whether words of vectors beyond the fourth were written since VZEROUPPER
	firstTile = flagKind + 4 // see tiles.go
	registers = firstTile + tileState
)

// ISA executes instructions.
type ISA struct{}

// Registers is how many words the registers have.
func (ISA) Registers() int { return registers }

// Enter begins a function.
func (ISA) Enter(s *machine.State, frame *expr.Node) {
	s.W[gpNumbers["SP"]] = frame
	if s.W[upper] == nil {
		s.W[upper] = s.G.Bool(false)
	}
}

// Leave ends a function. Go's code expects the upper parts of the vector registers to be clear, as
// SSE instructions are slow otherwise.
func (ISA) Leave(s *machine.State) {
	if u := s.W[upper]; !u.IsConst() || u.Val != 0 {
		machine.Failf("%v: returns without VZEROUPPER", s.Now)
	}
	if s.W[tileShapes] != nil {
		machine.Failf("%v: returns without TILERELEASE", s.Now)
	}
}

// Jumps tells of jumps.
func (ISA) Jumps(in *machine.Inst) (jumps, conditional bool) {
	return strings.HasPrefix(in.Op, "J"), in.Op != "JMP"
}

var gpNumbers = map[string]int{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SP": 4, "BP": 5, "SI": 6, "DI": 7,
	"R8": 8, "R9": 9, "R10": 10, "R11": 11, "R12": 12, "R13": 13, "R14": 14, "R15": 15, "AL": 0, "CL": 1, "DL": 2, "BL": 3}

// An exec is an instruction with the state that it changes.
type exec struct {
	*machine.State
	g    *expr.Graph
	in   *machine.Inst
	args []machine.Operand
}

// Step executes an instruction.
func (ISA) Step(s *machine.State, in *machine.Inst) *expr.Node {
	e := &exec{s, s.G, in, in.Args}
	if c, is := e.jump(); is {
		return c
	}
	if e.tile() || e.scalar() || e.vector() {
		return nil
	}
	machine.Failf("%v: no such instruction", in)
	return nil
}

// vecNumber returns the number of a vector register and its size in words.
func vecNumber(name string) (n, words int, ok bool) {
	if len(name) < 2 || name[1] < '0' || name[1] > '9' {
		return 0, 0, false
	}
	switch name[0] {
	case 'X':
		words = 4
	case 'Y':
		words = 8
	case 'Z':
		words = 16
	}
	n, err := strconv.Atoi(name[1:])
	return n, words, words > 0 && err == nil
}

func maskNumber(name string) (int, bool) {
	if len(name) == 2 && name[0] == 'K' {
		return int(name[1] - '0'), true
	}
	return 0, false
}

// address returns the address of a memory operand.
func (e *exec) address(o machine.Operand) *expr.Node {
	switch o.Kind {
	case machine.Param:
		return e.Param(o)
	case machine.Static:
		return e.Static(o)
	case machine.Memory:
		a := e.g.Add(e.gp(o.Reg), e.g.Int(o.Off))
		if o.Index != "" {
			a = e.g.Add(a, e.g.Mul(e.gp(o.Index), e.g.Int(o.Scale)))
		}
		return a
	}
	machine.Failf("%v: no memory operand: %s", e.in, o.Text)
	return nil
}

func isMemory(o machine.Operand) bool {
	return o.Kind == machine.Param || o.Kind == machine.Static || o.Kind == machine.Memory
}

// gp returns a register of 64 bits.
func (e *exec) gp(name string) *expr.Node {
	i, ok := gpNumbers[name]
	if !ok {
		machine.Failf("%v: no register %s", e.in, name)
	}
	return e.General(i, name)
}

// value returns an operand of so many bits: a number, a register's lower bits, or memory.
func (e *exec) value(o machine.Operand, w int) *expr.Node {
	switch {
	case o.Kind == machine.Immediate:
		return e.g.Const(w, uint64(o.Imm))
	case isMemory(o):
		return e.Load(e.address(o), w/8)
	}
	return e.g.Extract(e.gp(o.Reg), 0, w)
}

// set writes a result: 32 bits clear the upper half of a register, fewer keep what is there.
func (e *exec) set(o machine.Operand, n *expr.Node) {
	if isMemory(o) {
		e.Store(e.address(o), n)
		return
	}
	i, ok := gpNumbers[o.Reg]
	switch {
	case !ok:
		machine.Failf("%v: no register %s", e.in, o.Reg)
	case o.Reg == "SP", o.Reg == "BP" && e.Frame == 0: // the assembler keeps the caller's BP in a frame, if there is one
		machine.Failf("%v: writes %s, which is the caller's", e.in, o.Reg)
	case n.Width == 32:
		n = e.g.Zext(n, 64)
	case n.Width < 32 && e.W[i] != nil:
		n = e.g.Concat(n, e.g.Extract(e.W[i], n.Width, 64-n.Width))
	case n.Width < 32:
		n = e.g.Zext(n, 64) // the rest is not defined, but a byte is all that is used of it
	}
	e.W[i] = n
}

// sizeOf returns the operand size that the last letter of a name says.
func sizeOf(op string) int {
	switch op[len(op)-1] {
	case 'B':
		return 8
	case 'W':
		return 16
	case 'L':
		return 32
	}
	return 64
}
