package amd64

import (
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// scalar executes an instruction on registers of 64 bits or masks, if it is one.
func (e *exec) scalar() bool {
	op := e.in.Op
	switch {
	case op == "NOP" || strings.HasPrefix(op, "PREFETCH"):
		return true // a prefetch reads nothing that matters, wherever it points
	case strings.HasPrefix(op, "CMOV"):
		e.move(op[4:])
		return true
	case op[0] == 'K':
		return e.masks()
	}
	return e.moves() || e.arithmetic()
}

// move is CMOVQGT and the like.
func (e *exec) move(rest string) {
	w := sizeOf(rest[:1])
	c := e.condition(rest[1:])
	e.set(e.args[1], e.g.Select(c, e.value(e.args[0], w), e.value(e.args[1], w)))
}

// moves executes what moves and widens.
func (e *exec) moves() bool {
	g, op := e.g, e.in.Op
	switch op {
	case "MOVQ", "MOVL", "MOVW", "MOVB":
		e.set(e.args[1], e.value(e.args[0], sizeOf(op)))
	case "MOVBQZX", "MOVBLZX":
		e.set(e.args[1], g.Zext(e.value(e.args[0], 8), 64))
	case "MOVWLZX", "MOVWQZX":
		e.set(e.args[1], g.Zext(e.value(e.args[0], 16), 64))
	case "MOVLQZX":
		e.set(e.args[1], g.Zext(e.value(e.args[0], 32), 64))
	case "MOVBLSX":
		e.set(e.args[1], g.Sext(e.value(e.args[0], 8), 32))
	case "MOVBQSX":
		e.set(e.args[1], g.Sext(e.value(e.args[0], 8), 64))
	case "MOVWLSX":
		e.set(e.args[1], g.Sext(e.value(e.args[0], 16), 32))
	case "MOVLQSX":
		e.set(e.args[1], g.Sext(e.value(e.args[0], 32), 64))
	case "LEAQ":
		e.set(e.args[1], e.address(e.args[0]))
	case "XCHGQ":
		x, y := e.value(e.args[0], 64), e.value(e.args[1], 64)
		e.set(e.args[0], y)
		e.set(e.args[1], x)
	default:
		return false
	}
	return true
}

// arithmetic executes integer operations, which set the flags.
func (e *exec) arithmetic() bool {
	g, op := e.g, e.in.Op
	w := sizeOf(op)
	last := func() machine.Operand { return e.args[len(e.args)-1] }
	result := func(n *expr.Node) {
		e.set(last(), n)
		e.flags(byResult, n, g.Const(w, 0))
	}
	sum := func(x, y *expr.Node) {
		n := g.Add(x, y)
		e.set(last(), n)
		e.flags(bySum, n, y)
	}
	switch op[:len(op)-1] {
	case "ADD":
		sum(e.value(last(), w), e.value(e.args[0], w))
	case "INC":
		sum(e.value(last(), w), g.Const(w, 1))
	case "SUB":
		x, y := e.value(last(), w), e.value(e.args[0], w)
		e.set(last(), g.Sub(x, y))
		e.flags(byCompare, x, y)
	case "DEC":
		x := e.value(last(), w)
		e.set(last(), g.Sub(x, g.Const(w, 1)))
		e.flags(byCompare, x, g.Const(w, 1))
	case "NEG":
		x := e.value(last(), w)
		e.set(last(), g.Neg(x))
		e.flags(byCompare, g.Const(w, 0), x)
	case "NOT":
		e.set(last(), g.Not(e.value(last(), w)))
	case "AND":
		result(g.And(e.value(last(), w), e.value(e.args[0], w)))
	case "OR":
		result(g.Or(e.value(last(), w), e.value(e.args[0], w)))
	case "XOR":
		if e.args[0].Text == e.args[1].Text {
			result(g.Const(w, 0))
			break
		}
		result(g.Xor(e.value(last(), w), e.value(e.args[0], w)))
	case "IMUL", "IMUL3":
		e.multiply(w)
	case "SHL", "SHR", "SAR":
		e.shift(w)
	case "BTS":
		x, at := e.value(last(), 64), e.value(e.args[0], 64)
		if !at.IsConst() {
			machine.Failf("%v: the bit depends on data", e.in)
		}
		e.set(last(), g.Or(x, g.Const(64, 1<<(at.Val%64))))
		e.flags(byCarry, g.Extract(x, int(at.Val%64), 1), nil)
	default:
		return e.compare(w)
	}
	return true
}

// compare executes what sets nothing but the flags.
func (e *exec) compare(w int) bool {
	switch e.in.Op {
	case "CMPQ", "CMPL", "CMPW", "CMPB":
		e.flags(byCompare, e.value(e.args[0], w), e.value(e.args[1], w))
	case "TESTQ", "TESTL", "TESTB", "TESTW":
		e.flags(byResult, e.g.And(e.value(e.args[0], w), e.value(e.args[1], w)), e.g.Const(w, 0))
	default:
		return false
	}
	return true
}

func (e *exec) multiply(w int) {
	n := e.g.Mul(e.value(e.args[0], w), e.value(e.args[1], w))
	e.set(e.args[len(e.args)-1], n)
	e.W[flagKind] = nil
}

func (e *exec) shift(w int) {
	g := e.g
	to := e.args[len(e.args)-1]
	x, by := e.value(to, w), e.value(e.args[0], w)
	if !by.IsConst() {
		machine.Failf("%v: shifts by a number that depends on data", e.in)
	}
	n := int(by.Val % uint64(w))
	var y, carry *expr.Node
	switch e.in.Op[:3] {
	case "SHL":
		y, carry = g.ShlBy(x, n), g.Extract(x, max(w-n, 0)%w, 1)
	case "SHR":
		y, carry = g.ShrBy(x, n), g.Extract(x, max(n-1, 0), 1)
	default:
		y, carry = g.SarBy(x, n), g.Extract(x, max(n-1, 0), 1)
	}
	e.set(to, y)
	if n > 0 {
		e.flags(byShift, y, carry)
	}
}

// masks executes an instruction on mask registers of 16 bits.
func (e *exec) masks() bool {
	g := e.g
	switch op := e.in.Op; op {
	case "KMOVW":
		from, to := e.args[0], e.args[1]
		if k, ok := maskNumber(to.Reg); ok {
			if j, ok := maskNumber(from.Reg); ok {
				e.W[firstMask+k] = e.Get(firstMask+j, from.Reg)
			} else {
				e.W[firstMask+k] = e.value(from, 16)
			}
			break
		}
		k, _ := maskNumber(from.Reg)
		e.set(to, g.Zext(e.Get(firstMask+k, from.Reg), 64))
	case "KORW", "KXORW", "KANDW", "KANDNW", "KXNORW":
		to, _ := maskNumber(e.args[2].Reg)
		if op == "KXORW" && e.args[0].Text == e.args[1].Text {
			e.W[firstMask+to] = g.Const(16, 0)
			break
		}
		a, b := e.mask(e.args[0]), e.mask(e.args[1]) // of Intel the second and the first source
		var n *expr.Node
		switch op {
		case "KORW":
			n = g.Or(a, b)
		case "KXORW":
			n = g.Xor(a, b)
		case "KXNORW":
			n = g.Not(g.Xor(a, b))
		case "KANDW":
			n = g.And(a, b)
		default:
			n = g.And(a, g.Not(b))
		}
		e.W[firstMask+to] = e.bitwise(op, a, b, n)
	case "KNOTW":
		to, _ := maskNumber(e.args[1].Reg)
		e.W[firstMask+to] = g.Not(e.mask(e.args[0]))
	default:
		return false
	}
	return true
}

// bitwise puts the bits of a logical operation of masks together one by one.
func (e *exec) bitwise(op string, a, b, whole *expr.Node) *expr.Node {
	if whole.IsConst() {
		return whole
	}
	g := e.g
	bits := make([]*expr.Node, 16)
	for i := range bits {
		x, y := g.Extract(a, i, 1), g.Extract(b, i, 1)
		switch op {
		case "KORW":
			bits[i] = g.Or(x, y)
		case "KXORW":
			bits[i] = g.Xor(x, y)
		case "KXNORW":
			bits[i] = g.Not(g.Xor(x, y))
		case "KANDW":
			bits[i] = g.And(x, y)
		default:
			bits[i] = g.And(x, g.Not(y))
		}
	}
	return g.Concat(bits...)
}

// mask returns a mask register.
func (e *exec) mask(o machine.Operand) *expr.Node {
	k, ok := maskNumber(o.Reg)
	if !ok {
		machine.Failf("%v: no mask: %s", e.in, o.Text)
	}
	return e.Get(firstMask+k, o.Reg)
}
