package amd64

import (
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// double returns an element of 64 bits.
func (e *exec) double(v vec, i int) *expr.Node {
	if v[2*i] == nil || v[2*i+1] == nil {
		return nil // was not loaded
	}
	return e.g.Concat(v[2*i], v[2*i+1])
}

// setDoubles sets a register to elements of 64 bits, of which a mask chooses some.
func (e *exec) setDoubles(o machine.Operand, m masked, f func(i int) *expr.Node) bool {
	v := make(vec, len(e.reg(o)))
	for i := range len(v) / 2 {
		if x := f(i); x != nil {
			v[2*i], v[2*i+1] = e.g.Extract(x, 0, 32), e.g.Extract(x, 32, 32)
		}
	}
	e.writeMasked(o, v, e.twice(m))
	return true
}

// twice makes of a mask of elements of 64 bits a mask of words.
func (e *exec) twice(m masked) masked {
	if m.mask != nil {
		var bits []*expr.Node
		for i := range 16 {
			bits = append(bits, e.g.Extract(m.mask, i/2, 1))
		}
		m.mask = e.g.Concat(bits...)
	}
	return m
}

// doubleOps are operations of two elements of 64 bits, as elementwiseOps.
var doubleOps = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"VADDPD": (*expr.Graph).Add64, "VSUBPD": (*expr.Graph).Sub64, "VMULPD": (*expr.Graph).Mul64,
	"VANDNPD": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.And(g.Not(x), y) },
}

// doubles executes instructions on binary64.
func (e *exec) doubles(op string, args []machine.Operand, m masked) bool {
	g, last := e.g, len(args)-1
	if last < 1 {
		return false
	}
	to := args[last]
	if f := doubleOps[op]; f != nil {
		x, y := e.read(args[1], len(e.reg(to))), e.read(args[0], len(e.reg(to)))
		return e.setDoubles(to, m, func(i int) *expr.Node { return f(g, e.double(x, i), e.double(y, i)) })
	}
	switch op {
	case "VCVTPS2PD":
		x := e.read(args[0], len(e.reg(to))/2)
		return e.setDoubles(to, m, func(i int) *expr.Node { return g.Unary(expr.Widen, 64, x[i]) })
	case "VCVTPD2PS", "VCVTPD2PSY":
		x := e.read(args[0], len(e.reg(args[0])))
		e.lanes(to, func(i int) *expr.Node { return g.Unary(expr.Narrow64, 32, e.double(x, i)) })
		return true
	case "VCMPPD":
		return e.compareDoubles(args)
	case "VBLENDMPD":
		mask, x, y := e.mask(args[2]), e.read(args[0], len(e.reg(to))), e.read(args[1], len(e.reg(to)))
		return e.setDoubles(to, masked{}, func(i int) *expr.Node { return g.Select(g.Extract(mask, i, 1), e.double(x, i), e.double(y, i)) })
	case "VBLENDVPD":
		sign, x, y := e.read(args[0], len(e.reg(to))), e.read(args[1], len(e.reg(to))), e.read(args[2], len(e.reg(to)))
		return e.setDoubles(to, masked{}, func(i int) *expr.Node { return g.Select(g.Extract(sign[2*i+1], 31, 1), e.double(x, i), e.double(y, i)) })
	case "VMOVUPD", "VMOVAPD":
		return e.moveVector("VMOVUPS", args, e.twice(m))
	case "VPMOVSXDQ":
		x := e.read(args[0], len(e.reg(to))/2)
		return e.setDoubles(to, m, func(i int) *expr.Node { return g.Sext(x[i], 64) })
	}
	return e.fusedDoubles(op, args)
}

// compareDoubles tells which elements are equal, or which are not.
func (e *exec) compareDoubles(args []machine.Operand) bool {
	g, to := e.g, args[3]
	not := args[0].Imm == 4
	if !not && args[0].Imm != 0 {
		machine.Failf("%v: no such comparison", e.in)
	}
	bit := func(x, y *expr.Node) *expr.Node {
		if not {
			return g.Not(g.FEq(x, y))
		}
		return g.FEq(x, y)
	}
	x, y := e.read(args[2], len(e.reg(args[2]))), e.read(args[1], len(e.reg(args[2])))
	if k, ok := maskNumber(to.Reg); ok {
		bits := make([]*expr.Node, 16)
		for i := range bits {
			bits[i] = g.Bool(false)
			if i < len(x)/2 {
				bits[i] = bit(e.double(x, i), e.double(y, i))
			}
		}
		e.W[firstMask+k] = g.Concat(bits...)
		return true
	}
	return e.setDoubles(to, masked{}, func(i int) *expr.Node { return g.Sext(bit(e.double(x, i), e.double(y, i)), 64) })
}

// fusedDoubles executes fused multiply-adds, as fused.
func (e *exec) fusedDoubles(op string, args []machine.Operand) bool {
	order, ok := strings.CutPrefix(op, "VFMADD")
	negative := !ok
	if negative {
		order, ok = strings.CutPrefix(op, "VFNMADD")
	}
	if !ok || !strings.HasSuffix(order, "PD") {
		return false
	}
	words := len(e.reg(args[2]))
	operands := map[byte]vec{'1': e.read(args[2], words), '2': e.read(args[1], words), '3': e.read(args[0], words)}
	x, y, z := operands[order[0]], operands[order[1]], operands[order[2]]
	return e.setDoubles(args[2], masked{}, func(i int) *expr.Node {
		a := e.double(x, i)
		if negative {
			a = e.g.FNeg(a)
		}
		return e.g.Fma64(a, e.double(y, i), e.double(z, i))
	})
}
