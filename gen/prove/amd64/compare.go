package amd64

import (
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// float returns a comparison of VCMPPS by its number: x is the first source.
func (e *exec) floatCompare(imm int64, x, y *expr.Node) *expr.Node {
	g := e.g
	unordered := g.Or(g.IsNaN(x), g.IsNaN(y))
	if imm >= 8 && imm < 16 {
		switch imm {
		case 8: // EQ_UQ
			return g.Or(unordered, g.FEq(x, y))
		case 9: // NGE
			return g.Not(g.FLe(y, x))
		case 10: // NGT
			return g.Not(g.FLt(y, x))
		case 12: // NEQ_OQ
			return g.And(g.Not(unordered), g.Not(g.FEq(x, y)))
		case 13: // GE
			return g.FLe(y, x)
		case 14: // GT
			return g.FLt(y, x)
		}
		machine.Failf("%v: no such comparison", e.in)
	}
	switch imm & 15 { // those from 16 on differ in exceptions alone
	case 0:
		return g.FEq(x, y)
	case 1:
		return g.FLt(x, y)
	case 2:
		return g.FLe(x, y)
	case 3:
		return unordered
	case 4:
		return g.Not(g.FEq(x, y))
	case 5:
		return g.Not(g.FLt(x, y))
	case 6:
		return g.Not(g.FLe(x, y))
	case 7:
		return g.Not(unordered)
	case 9:
		return g.Not(g.FLe(y, x))
	case 10:
		return g.Not(g.FLt(y, x))
	case 13:
		return g.FLe(y, x)
	case 14:
		return g.FLt(y, x)
	}
	machine.Failf("%v: no such comparison", e.in)
	return nil
}

// intCompare returns a comparison of VPCMPD by its number.
func (e *exec) intCompare(imm int64, less func(x, y *expr.Node) *expr.Node, x, y *expr.Node) *expr.Node {
	g := e.g
	switch imm {
	case 0:
		return g.Eq(x, y)
	case 1:
		return less(x, y)
	case 2:
		return g.Not(less(y, x))
	case 4:
		return g.Not(g.Eq(x, y))
	case 5:
		return g.Not(less(x, y))
	case 6:
		return less(y, x)
	}
	machine.Failf("%v: no such comparison", e.in)
	return nil
}

// compareVector executes comparisons, which set words, or bits of a mask.
func (e *exec) compareVector(op string, args []machine.Operand) bool {
	g := e.g
	var f func(x, y *expr.Node) *expr.Node
	first := 0
	switch op {
	case "VUCOMISS", "VCOMISS":
		e.flags(byFloats, e.read(args[1], 1)[0], e.read(args[0], 1)[0])
		return true
	case "VCMPPS", "VCMPSS":
		first, f = 1, func(x, y *expr.Node) *expr.Node { return e.floatCompare(args[0].Imm, x, y) }
	case "VPCMPD":
		first, f = 1, func(x, y *expr.Node) *expr.Node { return e.intCompare(args[0].Imm, g.Lt, x, y) }
	case "VPCMPUD":
		first, f = 1, func(x, y *expr.Node) *expr.Node { return e.intCompare(args[0].Imm, g.Ult, x, y) }
	case "VPCMPEQD":
		f = g.Eq
	case "VPCMPGTD":
		f = func(x, y *expr.Node) *expr.Node { return g.Lt(y, x) }
	case "VPTESTMD":
		f = func(x, y *expr.Node) *expr.Node { return g.Not(g.Eq(g.And(x, y), g.Const(32, 0))) }
	case "VPTESTNMD":
		f = func(x, y *expr.Node) *expr.Node { return g.Eq(g.And(x, y), g.Const(32, 0)) }
	default:
		return false
	}
	to := args[len(args)-1]
	if op == "VCMPSS" {
		x, y := e.read(args[2], 4), e.read(args[1], 1)
		x[0] = g.Sext(f(x[0], y[0]), 32)
		e.write(to, x)
		return true
	}
	if k, ok := maskNumber(to.Reg); ok {
		e.compareToMask(k, args[first:], f)
		return true
	}
	words := len(e.reg(to))
	if args[first].Text == args[first+1].Text && op == "VPCMPEQD" { // all ones, whatever the register holds
		e.lanes(to, func(int) *expr.Node { return g.Const(32, 1<<32-1) })
		return true
	}
	x, y := e.read(args[first+1], words), e.read(args[first], words)
	e.lanes(to, func(i int) *expr.Node { return g.Sext(f(x[i], y[i]), 32) })
	return true
}

// compareToMask sets a mask to comparisons, where another mask allows it.
func (e *exec) compareToMask(k int, args []machine.Operand, f func(x, y *expr.Node) *expr.Node) {
	g := e.g
	words := len(e.reg(args[1]))
	x, y := e.read(args[1], words), e.read(args[0], words)
	bits := make([]*expr.Node, 16)
	for i := range bits {
		bits[i] = g.Bool(false)
		if i < words {
			bits[i] = f(x[i], y[i])
			if len(args) > 3 {
				bits[i] = g.And(bits[i], g.Extract(e.mask(args[2]), i, 1))
			}
		}
	}
	e.W[firstMask+k] = g.Concat(bits...)
}

// masksOfVectors moves signs of words to masks and back.
func (e *exec) masksOfVectors(op string, args []machine.Operand) bool {
	g := e.g
	switch op {
	case "VPMOVD2M":
		k, _ := maskNumber(args[1].Reg)
		v := e.read(args[0], len(e.reg(args[0])))
		bits := make([]*expr.Node, 16)
		for i := range bits {
			bits[i] = g.Bool(false)
			if i < len(v) {
				bits[i] = g.Extract(v[i], 31, 1)
			}
		}
		e.W[firstMask+k] = g.Concat(bits...)
	case "VPMOVM2D":
		k := e.mask(args[0])
		e.lanes(args[1], func(i int) *expr.Node { return g.Sext(g.Extract(k, i, 1), 32) })
	default:
		return false
	}
	return true
}
