// Package riscv64 has the semantics of the instructions of RV64GC and the vector extension that
// generated assembly uses, for package machine, with vector registers of a given length. Operands
// are in the order of Go's assembler: the destination last, and of two sources the second of
// RISC-V's manual first.
//
// Where the extension leaves a choice, it is: VSETVLI takes as many elements as fit, as all known
// CPUs do; what lies beyond the vector length becomes undefined if the policy is agnostic.
package riscv64

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// ISA executes instructions, with vector registers of VLEN bits.
type ISA struct{ VLEN int }

// The registers in State.W: 32 of 64 bits, 32 floats, what VSETVLI sets, and the vectors' words.
const (
	firstFloat  = 32
	length      = 64 // how many elements instructions take
	group       = 65 // how many registers they may take
	undisturbed = 66 // whether the elements beyond stay
	width       = 67 // bits of an element
	fractional  = 68 // whether that is less than a register
	firstVec    = 69
)

// words is how many words of 32 bits a register has.
func (i ISA) words() int { return i.VLEN / 32 }

// Registers is how many words the registers have.
func (i ISA) Registers() int { return firstVec + 32*i.words() }

// Enter begins a function.
func (i ISA) Enter(s *machine.State, frame *expr.Node) { s.W[2] = frame }

// Leave ends a function.
func (ISA) Leave(*machine.State) {}

// Jumps tells of jumps.
func (ISA) Jumps(in *machine.Inst) (jumps, conditional bool) {
	switch in.Op {
	case "JMP":
		return true, false
	case "BEQ", "BNE", "BLT", "BGE", "BLTU", "BGEU", "BEQZ", "BNEZ":
		return true, true
	}
	return false, false
}

// An exec is an instruction with the state that it changes.
type exec struct {
	*machine.State
	isa  ISA
	g    *expr.Graph
	in   *machine.Inst
	args []machine.Operand
}

// Step executes an instruction.
func (i ISA) Step(s *machine.State, in *machine.Inst) *expr.Node {
	e := &exec{s, i, s.G, in, in.Args}
	if jumps, _ := i.Jumps(in); jumps {
		return e.jump()
	}
	if in.Op == "NOP" {
		return nil
	}
	if e.scalar() || e.float() || e.configure() || e.doubles() || e.memory() || e.vector() {
		return nil
	}
	machine.Failf("%v: no such instruction", in)
	return nil
}

func (e *exec) jump() *expr.Node {
	g := e.g
	x := func(i int) *expr.Node { return e.gp(e.args[i]) }
	switch e.in.Op {
	case "BEQ":
		return g.Eq(x(0), x(1))
	case "BNE":
		return g.Not(g.Eq(x(0), x(1)))
	case "BLT":
		return g.Lt(x(0), x(1))
	case "BGE":
		return g.Not(g.Lt(x(0), x(1)))
	case "BLTU":
		return g.Ult(x(0), x(1))
	case "BGEU":
		return g.Not(g.Ult(x(0), x(1)))
	case "BEQZ":
		return g.Eq(x(0), g.Int(0))
	case "BNEZ":
		return g.Not(g.Eq(x(0), g.Int(0)))
	}
	return g.Bool(true)
}

// number returns the number of a register of a kind: X, F or V.
func (e *exec) number(o machine.Operand, kind byte) int {
	if len(o.Text) > 1 && o.Text[0] == kind {
		if n, err := strconv.Atoi(o.Text[1:]); err == nil && n < 32 {
			return n
		}
	}
	machine.Failf("%v: no register %c: %s", e.in, kind, o.Text)
	return 0
}

// gp returns a register of 64 bits, or a number.
func (e *exec) gp(o machine.Operand) *expr.Node {
	if o.Kind == machine.Immediate {
		return e.g.Int(o.Imm)
	}
	n := e.number(o, 'X')
	if n == 0 {
		return e.g.Int(0)
	}
	return e.General(n, o.Text)
}

// set writes a register. Go keeps its own in X1 to X4 and X27, and its assembler takes X31.
func (e *exec) set(o machine.Operand, x *expr.Node) {
	n := e.number(o, 'X')
	if n >= 1 && n <= 4 || n == 27 || n == 31 {
		machine.Failf("%v: writes %s", e.in, o.Text)
	}
	if n != 0 {
		e.W[n] = x
	}
}

func (e *exec) fp(o machine.Operand) *expr.Node { return e.Get(firstFloat+e.number(o, 'F'), o.Text) }

func (e *exec) scalar() bool {
	g := e.g
	n := len(e.args)
	if n == 0 {
		return false
	}
	x := func(i int) *expr.Node { return e.gp(e.args[i]) }
	to := e.args[n-1]
	first := func() *expr.Node { return x(max(n-2, 0)) }
	if n == 2 {
		first = func() *expr.Node { return x(1) }
	}
	switch e.in.Op {
	case "ADD":
		e.set(to, g.Add(first(), x(0)))
	case "SUB":
		e.set(to, g.Sub(first(), x(0)))
	case "AND":
		e.set(to, g.And(first(), x(0)))
	case "OR":
		e.set(to, g.Or(first(), x(0)))
	case "XOR":
		e.set(to, g.Xor(first(), x(0)))
	case "MUL":
		e.set(to, g.Mul(first(), x(0)))
	case "SLLI":
		e.set(to, g.ShlBy(first(), int(e.args[0].Imm)))
	case "SLL":
		if !x(0).IsConst() {
			machine.Failf("%v: the distance is not known", e.in)
		}
		e.set(to, g.ShlBy(first(), int(x(0).Val&63)))
	case "SRLI":
		e.set(to, g.ShrBy(first(), int(e.args[0].Imm)))
	case "SRAI":
		e.set(to, g.SarBy(first(), int(e.args[0].Imm)))
	default:
		return e.move()
	}
	return true
}

func isMemory(o machine.Operand) bool {
	return o.Kind == machine.Memory || o.Kind == machine.Param || o.Kind == machine.Static && !strings.HasPrefix(o.Text, "$")
}

func (e *exec) address(o machine.Operand) *expr.Node {
	switch o.Kind {
	case machine.Param:
		return e.Param(o)
	case machine.Static:
		return e.Static(o)
	}
	return e.g.Plus(e.Get(e.number(machine.Operand{Text: o.Reg}, 'X'), o.Reg), o.Off)
}

// move executes loads, stores and moves of registers.
func (e *exec) move() bool {
	size := map[string]int{"MOV": 8, "MOVW": 4, "MOVWU": 4, "MOVH": 2, "MOVHU": 2, "MOVB": 1, "MOVBU": 1}[e.in.Op]
	if size == 0 {
		return false
	}
	from, to := e.args[0], e.args[1]
	unsigned := strings.HasSuffix(e.in.Op, "U") || size == 8
	switch {
	case isMemory(to):
		e.Store(e.address(to), e.g.Extract(e.gp(from), 0, 8*size))
	case from.Kind == machine.Static && !isMemory(from):
		e.set(to, e.Static(from))
	default:
		var x *expr.Node
		if isMemory(from) {
			x = e.Load(e.address(from), size)
		} else {
			x = e.g.Extract(e.gp(from), 0, 8*size)
		}
		if unsigned {
			e.set(to, e.g.Zext(x, 64))
		} else {
			e.set(to, e.g.Sext(x, 64))
		}
	}
	return true
}

// float executes instructions on single floats.
func (e *exec) float() bool {
	g := e.g
	set := func(n *expr.Node) { e.W[firstFloat+e.number(e.args[len(e.args)-1], 'F')] = n }
	x := func(i int) *expr.Node { return e.fp(e.args[i]) }
	switch e.in.Op {
	case "FMVWX":
		set(g.Extract(e.gp(e.args[0]), 0, 32))
	case "FCVTSW":
		set(g.Unary(expr.SToF, 32, g.Extract(e.gp(e.args[0]), 0, 32)))
	case "FADDS":
		set(g.FAdd(x(1), x(0)))
	case "FSUBS":
		set(g.FSub(x(1), x(0)))
	case "FMULS":
		set(g.FMul(x(1), x(0)))
	case "FDIVS":
		set(g.FDiv(x(1), x(0)))
	case "FSQRTS":
		set(g.FSqrt(x(0)))
	case "MOVD":
		set(e.Load(e.address(e.args[0]), 8))
	case "MOVF":
		if isMemory(e.args[1]) {
			e.Store(e.address(e.args[1]), x(0))
		} else {
			set(e.Load(e.address(e.args[0]), 4))
		}
	default:
		return false
	}
	return true
}

// configure is VSETVLI.
func (e *exec) configure() bool {
	if e.in.Op != "VSETVLI" {
		return false
	}
	text, isFraction := strings.CutPrefix(e.args[2].Text, "MF")
	lmul, err := strconv.Atoi(strings.TrimPrefix(text, "M"))
	part := 1
	if isFraction {
		lmul, part = 1, lmul
	}
	bits := map[string]int{"E64": 64, "E32": 32, "E16": 16, "E8": 8}[e.args[1].Text]
	if bits == 0 || err != nil {
		machine.Failf("%v: no such type of vectors", e.in)
	}
	most := e.g.Int(int64(lmul * e.isa.VLEN / bits / part))
	n := most
	if e.args[0].Text != "X0" {
		avl := e.gp(e.args[0])
		n = e.g.Select(e.g.Ult(avl, most), avl, most)
	} else if e.args[5].Text == "X0" {
		n = e.Get(length, "the vector length")
	}
	if !n.IsConst() || n.Val > most.Val {
		machine.Failf("%v: the length depends on data, or is more than there is", e.in)
	}
	e.W[length], e.W[group] = n, e.g.Int(int64(lmul))
	e.W[fractional] = e.g.Bool(isFraction)
	e.W[undisturbed], e.W[width] = e.g.Bool(e.args[3].Text == "TU"), e.g.Int(int64(bits))
	e.set(e.args[5], n)
	return true
}

// vl returns the vector length.
func (e *exec) vl() int { return int(e.Get(length, "the vector length").Val) }

// vec returns the words of a group of registers, as elements of 32 bits.
func (e *exec) vec(o machine.Operand) []*expr.Node {
	size := int(e.Get(group, "the vector type").Val)
	if e.W[width].Val != 32 {
		machine.Failf("%v: elements of %d bits", e.in, e.W[width].Val)
	}
	return e.registers(o, size)
}

// registers returns the words of a group of registers, which must begin at a multiple of its size.
func (e *exec) registers(o machine.Operand, size int) []*expr.Node {
	n := e.number(o, 'V')
	if n%size != 0 {
		machine.Failf("%v: %s begins no group of %d registers", e.in, o.Text, size)
	}
	return e.W[firstVec+n*e.isa.words():][:size*e.isa.words()]
}

// read returns the elements of a group. Elements of less than 32 bits have a node each.
func (e *exec) read(o machine.Operand) []*expr.Node {
	if w := int(e.W[width].Val); w < 32 {
		v := make([]*expr.Node, e.vl())
		for i := range v {
			v[i] = e.narrow(o, w, i)
		}
		return v
	}
	v := e.vec(o)
	for i, x := range v[:e.vl()] {
		if x == nil {
			v[i] = e.Undefined(o.Text, i)
		}
	}
	return append([]*expr.Node{}, v...)
}

// write sets the elements of a group.
func (e *exec) write(o machine.Operand, f func(i int) *expr.Node) {
	n := e.vl()
	out := make([]*expr.Node, n)
	for i := range out {
		out[i] = f(i)
	}
	if w := int(e.W[width].Val); w < 32 {
		e.pack(o, w, out)
		return
	}
	v := e.vec(o)
	copy(v, out)
	if e.W[undisturbed].Val == 0 {
		for i := n; i < len(v); i++ {
			v[i] = nil
		}
	}
}

// pack sets the elements of a group, of less than 32 bits.
func (e *exec) pack(o machine.Operand, w int, parts []*expr.Node) {
	v := e.registers(o, int(e.W[group].Val))
	clear(v)
	for per, i := 32/w, 0; i < len(parts); i += per {
		word := append([]*expr.Node{}, parts[i:min(i+per, len(parts))]...)
		if rest := 32 - w*len(word); rest > 0 {
			word = append(word, e.g.Extract(e.Undefined(o.Text, i/per), 32-rest, rest))
		}
		v[i/per] = e.g.Concat(word...)
	}
}

// bits sets a mask register to a bit for each element.
func (e *exec) bits(o machine.Operand, f func(i int) *expr.Node) {
	n := e.number(o, 'V')
	v := e.W[firstVec+n*e.isa.words():][:e.isa.words()]
	bits := make([]*expr.Node, e.vl())
	for i := range bits {
		bits[i] = f(i)
	}
	for i := range v {
		v[i] = nil
		if 32*i < len(bits) {
			part := bits[32*i : min(32*i+32, len(bits))]
			if rest := 32 - len(part); rest > 0 {
				part = append(append([]*expr.Node{}, part...), e.g.Extract(e.Undefined(fmt.Sprintf("mask %s", o.Text), i), 0, rest))
			}
			v[i] = e.g.Concat(part...)
		}
	}
}

// mask returns the bit of V0 for an element.
func (e *exec) mask(i int) *expr.Node {
	x := e.W[firstVec+i/32]
	if x == nil {
		x = e.Undefined("V0", i/32)
	}
	return e.g.Extract(x, i%32, 1)
}

// narrow returns an element of 8 or 16 bits of a register.
func (e *exec) narrow(o machine.Operand, w, i int) *expr.Node {
	n := e.number(o, 'V')
	at := firstVec + n*e.isa.words() + i*w/32
	if e.W[at] == nil {
		e.W[at] = e.Undefined(o.Text, i*w/32)
	}
	return e.g.Extract(e.W[at], i*w%32, w)
}
