package amd64

import (
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// What set the flags.
const (
	byCompare = iota // of two integers
	byResult         // of a logical operation: a number and 0, no overflow or carry
	byCarry          // the carry alone is known: X is it
	byShift          // of a shift: X is the result, Y the carry
	byFloats         // VUCOMISS
	bySum            // of an addition: X is the sum, Y the summand; the carry is not known
)

func (e *exec) flags(kind int, x, y *expr.Node) {
	e.W[flagKind], e.W[flagX], e.W[flagY] = e.g.Const(8, uint64(kind)), x, y
}

// condition returns the condition that the end of a name such as JGE says.
func (e *exec) condition(cc string) *expr.Node {
	g := e.g
	kind := e.Get(flagKind, "the flags")
	if !kind.IsConst() {
		machine.Failf("%v: the flags have different origins", e.in)
	}
	x, y := e.Get(flagX, "the flags"), e.W[flagY]
	switch cc {
	case "NE", "NZ":
		return g.Not(e.condition("E"))
	case "GE":
		return g.Not(e.condition("L"))
	case "GT", "G":
		return g.Not(g.Or(e.condition("L"), e.condition("E")))
	case "LE":
		return g.Or(e.condition("L"), e.condition("E"))
	case "CC", "AE", "HS":
		return g.Not(e.condition("CS"))
	case "HI", "A":
		return g.Not(g.Or(e.condition("CS"), e.condition("E")))
	case "LS", "BE":
		return g.Or(e.condition("CS"), e.condition("E"))
	case "PC", "NP":
		return g.Not(e.condition("P"))
	case "OC", "NO":
		return g.Not(e.condition("OS"))
	case "PL", "NS":
		return g.Not(e.condition("MI"))
	case "LT":
		cc = "L"
	case "Z", "EQ":
		cc = "E"
	case "B", "LO":
		cc = "CS"
	case "PS":
		cc = "P"
	}
	unordered := func() *expr.Node { return g.Or(g.IsNaN(x), g.IsNaN(y)) }
	switch {
	case kind.Val == byCarry && cc == "CS":
		return x
	case kind.Val == byShift && cc == "CS":
		return y
	case kind.Val == byShift && cc == "E":
		return g.Eq(x, g.Const(x.Width, 0))
	case kind.Val == byShift:
	case kind.Val == byFloats && cc == "E":
		return g.Or(unordered(), g.FEq(x, y))
	case kind.Val == byFloats && cc == "CS":
		return g.Or(unordered(), g.FLt(x, y))
	case kind.Val == byFloats && cc == "P":
		return unordered()
	case kind.Val == byCarry || kind.Val == byFloats:
	case cc == "OS" && kind.Val == byCompare: // the signs differ, and the result has not x's
		return g.Extract(g.And(g.Xor(x, y), g.Xor(x, g.Sub(x, y))), x.Width-1, 1)
	case cc == "OS" && kind.Val == bySum:
		return g.Extract(g.And(g.Xor(g.Sub(x, y), x), g.Xor(y, x)), x.Width-1, 1)
	case cc == "OS" && kind.Val == byResult:
		return g.Bool(false)
	case cc == "P" && kind.Val == byCompare:
		return e.even(g.Sub(x, y))
	case cc == "P":
		return e.even(x)
	case cc == "E" && kind.Val == bySum:
		return g.Eq(x, g.Const(x.Width, 0))
	case cc == "E":
		return g.Eq(x, y)
	case cc == "L" && kind.Val == bySum: // the sum before it is cut to the width, which is a counter's
		return g.Lt(g.Sub(x, y), g.Neg(y))
	case cc == "L":
		return g.Lt(x, y)
	case (cc == "MI" || cc == "S") && kind.Val == byCompare:
		return g.Extract(g.Sub(x, y), x.Width-1, 1)
	case cc == "MI" || cc == "S":
		return g.Extract(x, x.Width-1, 1)
	case cc == "CS" && kind.Val == byCompare:
		return g.Ult(x, y)
	case cc == "CS" && kind.Val == byResult:
		return g.Bool(false)
	}
	machine.Failf("%v: the flags do not have this condition", e.in)
	return nil
}

// even tells whether the lowest byte has an even number of ones: the parity flag.
func (e *exec) even(x *expr.Node) *expr.Node {
	n := e.g.Bool(true)
	for i := range 8 {
		n = e.g.Xor(n, e.g.Extract(x, i, 1))
	}
	return n
}

// jump executes a jump.
func (e *exec) jump() (*expr.Node, bool) {
	switch {
	case e.in.Op == "JMP":
		return e.g.Bool(true), true
	case e.in.Op[0] == 'J':
		return e.condition(e.in.Op[1:]), true
	}
	return nil, false
}
