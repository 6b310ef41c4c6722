// Package arm64 has the semantics of the instructions of ARMv8, with Advanced SIMD and SDOT, that
// generated assembly uses, for package machine. Instructions that Go's assembler lacks are written
// as words, and have here the names and operands of Arm's manual, in small letters and with the
// destination first. In Go's assembler the destination is last.
package arm64

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// The registers in State.W: 32 of 64 bits, 32 vectors of 4 words, and what the flags come from.
const (
	firstVec  = 32
	vecWords  = 4
	flagKind  = firstVec + 32*vecWords
	flagX     = flagKind + 1
	flagY     = flagKind + 2
	registers = flagKind + 3

	stackPointer = 31
)

// ISA executes instructions.
type ISA struct{}

// Registers is how many words the registers have.
func (ISA) Registers() int { return registers }

// Enter begins a function.
func (ISA) Enter(s *machine.State, frame *expr.Node) { s.W[stackPointer] = frame }

// Leave ends a function.
func (ISA) Leave(*machine.State) {}

var conditions = map[string]bool{"EQ": true, "NE": true, "LT": true, "GE": true, "GT": true, "LE": true, "LO": true, "HS": true, "HI": true, "LS": true, "MI": true, "PL": true, "CC": true, "CS": true}

// Jumps tells of jumps.
func (ISA) Jumps(in *machine.Inst) (jumps, conditional bool) {
	switch {
	case in.Op == "B" || in.Op == "JMP":
		return true, false
	case in.Op == "CBZ" || in.Op == "CBNZ" || in.Op == "CBZW" || in.Op == "CBNZW" || in.Op == "TBZ" || in.Op == "TBNZ":
		return true, true
	}
	return in.Op[0] == 'B' && conditions[in.Op[1:]], true
}

// An exec is an instruction with the state that it changes.
type exec struct {
	*machine.State
	g    *expr.Graph
	in   *machine.Inst
	args []machine.Operand
}

// Step executes an instruction.
func (i ISA) Step(s *machine.State, in *machine.Inst) *expr.Node {
	e := &exec{s, s.G, in, in.Args}
	if jumps, _ := i.Jumps(in); jumps {
		return e.jump()
	}
	if in.Op == "PRFM" || in.Op == "NOP" {
		return nil
	}
	if e.scalar() || e.float() || e.load() || e.vector() || e.word() {
		return nil
	}
	machine.Failf("%v: no such instruction", in)
	return nil
}

func (e *exec) jump() *expr.Node {
	zero := func(w int) *expr.Node {
		return e.g.Eq(e.g.Extract(e.gp(e.args[0]), 0, w), e.g.Const(w, 0))
	}
	switch e.in.Op {
	case "B", "JMP":
		return e.g.Bool(true)
	case "CBZ":
		return zero(64)
	case "CBNZ":
		return e.g.Not(zero(64))
	case "CBZW":
		return zero(32)
	case "CBNZW":
		return e.g.Not(zero(32))
	case "TBZ", "TBNZ":
		bit := e.g.Extract(e.gp(e.args[1]), int(e.args[0].Imm), 1)
		if e.in.Op == "TBZ" {
			return e.g.Not(bit)
		}
		return bit
	}
	return e.condition(e.in.Op[1:])
}

// What set the flags.
const (
	byCompare = iota // of X and Y
	byResult         // of a logical operation: X
	bySum            // X is the sum, Y the summand
)

func (e *exec) flags(kind int, x, y *expr.Node) {
	e.W[flagKind], e.W[flagX], e.W[flagY] = e.g.Const(8, uint64(kind)), x, y
}

func (e *exec) condition(cc string) *expr.Node {
	g := e.g
	kind := e.Get(flagKind, "the flags")
	if !kind.IsConst() {
		machine.Failf("%v: the flags have different origins", e.in)
	}
	x, y := e.Get(flagX, "the flags"), e.W[flagY]
	less, below := g.Lt, g.Ult
	switch cc {
	case "NE":
		return g.Not(e.condition("EQ"))
	case "GE":
		return g.Not(e.condition("LT"))
	case "GT":
		return g.Not(g.Or(e.condition("LT"), e.condition("EQ")))
	case "LE":
		return g.Or(e.condition("LT"), e.condition("EQ"))
	case "HS", "CS":
		return g.Not(e.condition("LO"))
	case "HI":
		return g.Not(g.Or(e.condition("LO"), e.condition("EQ")))
	case "LS":
		return g.Or(e.condition("LO"), e.condition("EQ"))
	case "PL":
		return g.Not(e.condition("MI"))
	}
	switch {
	case kind.Val == byCompare && cc == "EQ":
		return g.Eq(x, y)
	case cc == "EQ":
		return g.Eq(x, g.Const(x.Width, 0))
	case kind.Val == byCompare && cc == "LT":
		return less(x, y)
	case kind.Val == byCompare && (cc == "LO" || cc == "CC"):
		return below(x, y)
	case kind.Val == bySum && cc == "LT":
		return less(g.Sub(x, y), g.Neg(y))
	case kind.Val == byResult && (cc == "LT" || cc == "MI"):
		return g.Extract(x, x.Width-1, 1)
	case kind.Val == byCompare && cc == "MI":
		return g.Extract(g.Sub(x, y), x.Width-1, 1)
	}
	machine.Failf("%v: the flags do not have this condition", e.in)
	return nil
}

// gpNumber returns the number of a register of 64 bits, -1 for ZR.
func gpNumber(name string) (int, bool) {
	switch {
	case name == "ZR":
		return -1, true
	case name == "RSP" || name == "SP":
		return stackPointer, true
	case len(name) < 2 || name[0] != 'R' && name[0] != 'x':
		return 0, false
	}
	n, err := strconv.Atoi(name[1:])
	return n, err == nil
}

var shifted = regexp.MustCompile(`^(R\d+)<<(\d+)$`)

// gp returns a register, or one that is shifted, or a number.
func (e *exec) gp(o machine.Operand) *expr.Node {
	if o.Kind == machine.Immediate {
		return e.g.Int(o.Imm)
	}
	if !strings.Contains(o.Text, "<<") {
		return e.register(o.Reg)
	}
	if m := shifted.FindStringSubmatch(o.Text); m != nil {
		by, _ := strconv.Atoi(m[2])
		return e.g.Mul(e.register(m[1]), e.g.Int(1<<by))
	}
	return e.register(o.Reg)
}

func (e *exec) register(name string) *expr.Node {
	n, ok := gpNumber(name)
	if !ok {
		machine.Failf("%v: no register: %s", e.in, name)
	}
	if n < 0 {
		return e.g.Int(0)
	}
	return e.General(n, name)
}

// set writes a register. R18 belongs to the platform, and Go keeps its own in those from 27 on.
func (e *exec) set(o machine.Operand, x *expr.Node) {
	n, ok := gpNumber(o.Reg)
	if !ok || n == 18 || n > 26 {
		machine.Failf("%v: writes %s", e.in, o.Text)
	}
	if n >= 0 {
		e.W[n] = e.g.Zext(x, 64)
	}
}

// scalar executes instructions on registers of 64 bits, and 32 with a W at the end.
func (e *exec) scalar() bool {
	g, op := e.g, e.in.Op
	w := 64
	if op != "MOVW" && strings.HasSuffix(op, "W") {
		op, w = op[:len(op)-1], 32
	}
	n := len(e.args)
	if n == 0 {
		return false
	}
	x := func(i int) *expr.Node { return g.Extract(e.gp(e.args[i]), 0, w) }
	to := e.args[n-1]
	first := func() *expr.Node { return x(max(n-2, 0)) } // of two sources the second in Go's order
	if n == 2 {
		first = func() *expr.Node { return x(1) }
	}
	switch op {
	case "ADD":
		e.set(to, g.Add(first(), x(0)))
	case "ADDS":
		sum := g.Add(first(), x(0))
		e.flags(bySum, sum, x(0))
		e.set(to, sum)
	case "SUB":
		e.set(to, g.Sub(first(), x(0)))
	case "SUBS":
		a, b := first(), x(0)
		e.flags(byCompare, a, b)
		e.set(to, g.Sub(a, b))
	case "NEG":
		e.set(to, g.Neg(x(0)))
	case "AND":
		e.set(to, g.And(first(), x(0)))
	case "ANDS":
		r := g.And(first(), x(0))
		e.flags(byResult, r, nil)
		e.set(to, r)
	case "ORR":
		e.set(to, g.Or(first(), x(0)))
	case "EOR":
		e.set(to, g.Xor(first(), x(0)))
	case "MUL":
		e.set(to, g.Mul(first(), x(0)))
	case "MADD":
		e.set(to, g.Add(x(1), g.Mul(x(2), x(0))))
	case "LSL", "LSR", "ASR":
		kind := map[string]expr.Op{"LSL": expr.Shl, "LSR": expr.Shr, "ASR": expr.Sar}[op]
		by := x(0)
		if !by.IsConst() {
			machine.Failf("%v: shifts by a number that depends on data", e.in)
		}
		e.set(to, g.Shift(kind, first(), g.Const(w, by.Val%uint64(w))))
	case "CMP":
		e.flags(byCompare, x(1), x(0))
	case "CMN":
		e.flags(byCompare, x(1), g.Neg(x(0)))
	case "TST":
		e.flags(byResult, g.And(x(1), x(0)), nil)
	case "CSEL":
		e.set(to, g.Select(e.condition(e.args[0].Text), x(1), x(2)))
	default:
		return false
	}
	return true
}
