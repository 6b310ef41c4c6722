package arm64

import (
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

func isMemory(o machine.Operand) bool {
	if strings.HasPrefix(o.Text, "$") {
		return false
	}
	return o.Kind == machine.Memory || o.Kind == machine.Param || o.Kind == machine.Static || o.Kind == machine.Local
}

// address returns the address of a memory operand, and moves its register on with .P at the end of
// a name.
func (e *exec) address(o machine.Operand, post bool) *expr.Node {
	switch o.Kind {
	case machine.Param:
		return e.Param(o)
	case machine.Static:
		return e.Static(o)
	case machine.Local:
		return e.Local(o)
	}
	base := e.register(o.Reg)
	if post {
		n, _ := gpNumber(o.Reg)
		e.W[n] = e.g.Plus(base, o.Off)
		return base
	}
	a := e.g.Plus(base, o.Off)
	if o.Index != "" {
		a = e.g.Add(a, e.g.Mul(e.register(o.Index), e.g.Int(o.Scale)))
	}
	return a
}

// A move is an instruction that loads or stores a register of 64 bits.
type move struct {
	bytes    int
	isSigned bool
}

var moves = map[string]move{"MOVD": {8, false}, "MOVW": {4, true}, "MOVWU": {4, false}, "MOVH": {2, true}, "MOVHU": {2, false}, "MOVB": {1, true}, "MOVBU": {1, false}}

// floats are the sizes of those that load or store the lower part of a vector.
var floats = map[string]int{"FMOVS": 1, "FMOVD": 2, "FMOVQ": 4}

// load executes loads and stores, and moves between registers.
func (e *exec) load() bool {
	op, post := strings.CutSuffix(e.in.Op, ".P")
	if op == "FLDPQ" || op == "FSTPQ" {
		e.pair(op, post)
		return true
	}
	if op == "VLD1" || op == "VLD1R" || op == "VST1" {
		e.single(op, post)
		return true
	}
	if op == "ldr" { // ldr q1, [x0, x1]
		inner := strings.Split(strings.Trim(e.args[1].Text, "[]"), ", ")
		at := e.g.Add(e.register(inner[0]), e.register(inner[1]))
		copy(e.vec(number(e.args[0].Text)), e.LoadWords(at, 4, 4))
		return true
	}
	if words, ok := floats[op]; ok {
		return e.moveFloat(words, post)
	}
	m, ok := moves[op]
	if !ok {
		return false
	}
	from, to := e.args[0], e.args[1]
	switch {
	case isMemory(to):
		e.Store(e.address(to, post), e.g.Extract(e.gp(from), 0, 8*m.bytes))
	case isMemory(from):
		x := e.Load(e.address(from, post), m.bytes)
		if m.isSigned {
			x = e.g.Sext(x, 64)
		}
		e.set(to, x)
	case from.Kind == machine.Static:
		e.set(to, e.Static(from))
	case from.Kind == machine.Local:
		e.set(to, e.Local(from))
	case m.isSigned && m.bytes < 8:
		e.set(to, e.g.Sext(e.g.Extract(e.gp(from), 0, 8*m.bytes), 64))
	default:
		e.set(to, e.g.Zext(e.g.Extract(e.gp(from), 0, 8*m.bytes), 64))
	}
	return true
}

// moveFloat moves the lower words of a vector.
func (e *exec) moveFloat(words int, post bool) bool {
	from, to := e.args[0], e.args[1]
	switch {
	case isMemory(to):
		at := e.address(to, post)
		for i, x := range e.read(number(from.Text))[:words] {
			e.Store(e.g.Plus(at, int64(4*i)), x)
		}
	case isMemory(from):
		e.lower(number(to.Text), e.LoadWords(e.address(from, post), 4, words))
	case to.Text[0] == 'R':
		e.set(to, e.g.Concat(e.read(number(from.Text))[:words]...))
	case from.Text[0] == 'F':
		e.lower(number(to.Text), e.read(number(from.Text))[:words])
	default:
		x := e.gp(from)
		list := make([]*expr.Node, words)
		for i := range list {
			list[i] = e.g.Extract(x, 32*i, 32)
		}
		e.lower(number(to.Text), list)
	}
	return true
}

// lower sets the lower words of a vector, the others to 0.
func (e *exec) lower(n int, words []*expr.Node) {
	v := e.vec(n)
	for i := range v {
		v[i] = e.g.Const(32, 0)
	}
	copy(v, words)
}

// pair loads or stores two vectors.
func (e *exec) pair(op string, post bool) {
	mem, regs := e.args[0], e.args[1]
	if op == "FSTPQ" {
		mem, regs = regs, mem
	}
	at := e.address(mem, post)
	for i, name := range strings.Split(strings.Trim(regs.Text, "()"), ", ") {
		for j := range vecWords {
			place := e.g.Plus(at, int64(16*i+4*j))
			if op == "FSTPQ" {
				e.Store(place, e.read(number(name))[j])
			} else {
				e.vec(number(name))[j] = e.Load(place, 4)
			}
		}
	}
}

// single loads or stores one element, or loads one into all.
func (e *exec) single(op string, post bool) {
	if op == "VST1" {
		r := parse(e.args[0].Text)
		e.Store(e.address(e.args[1], post), e.piece(e.read(r.n), r.w, r.index))
		return
	}
	text := strings.Trim(e.args[1].Text, "[]")
	if op == "VLD1" {
		text = e.args[1].Text
		r := parse(text)
		if r.index < 0 {
			machine.Failf("%v: no such form", e.in)
		}
		x := e.Load(e.address(e.args[0], post), r.w/8)
		old := e.read(r.n)
		e.write(r.n, r.w, func(i int) *expr.Node {
			if i == r.index {
				return x
			}
			return e.piece(old, r.w, i)
		})
		return
	}
	r := parse(text)
	x := e.Load(e.address(e.args[0], post), r.w/8)
	e.write(r.n, r.w, func(int) *expr.Node { return x })
}
