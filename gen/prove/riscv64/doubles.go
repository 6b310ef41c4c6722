package riscv64

import (
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// readDoubles returns the elements of 64 bits in a group of so many registers.
func (e *exec) readDoubles(o machine.Operand, size int) []*expr.Node {
	v := e.registers(o, size)
	list := make([]*expr.Node, e.vl())
	for i := range list {
		for k := range 2 {
			if v[2*i+k] == nil {
				v[2*i+k] = e.Undefined(o.Text, 2*i+k)
			}
		}
		list[i] = e.g.Concat(v[2*i], v[2*i+1])
	}
	return list
}

// writeDoubles sets the elements of 64 bits in a group of so many registers.
func (e *exec) writeDoubles(o machine.Operand, size int, f func(i int) *expr.Node) bool {
	v, list := e.registers(o, size), make([]*expr.Node, e.vl())
	for i := range list {
		list[i] = f(i)
	}
	clear(v)
	for i, x := range list {
		v[2*i], v[2*i+1] = e.g.Extract(x, 0, 32), e.g.Extract(x, 32, 32)
	}
	return true
}

// doubleOps are operations of two elements of 64 bits, as withScalar.
var doubleOps = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"VFADD": (*expr.Graph).Add64, "VFSUB": (*expr.Graph).Sub64, "VFMUL": (*expr.Graph).Mul64,
}

// doubles executes instructions on elements of 64 bits, and conversions to and from these.
func (e *exec) doubles() bool {
	g, op := e.g, e.in.Op
	if op[0] != 'V' {
		return false
	}
	size := int(e.Get(group, "the vector type").Val)
	switch {
	case op == "VFWCVTFFV":
		x := e.read(e.args[0])
		return e.writeDoubles(e.args[1], 2*size, func(i int) *expr.Node { return g.Unary(expr.Widen, 64, x[i]) })
	case op == "VFNCVTFFW":
		x := e.readDoubles(e.args[0], 2*size)
		e.write(e.args[1], func(i int) *expr.Node { return g.Unary(expr.Narrow64, 32, x[i]) })
		return true
	case op == "VLUXEI64V":
		e.gather()
		return true
	case e.W[width].Val != 64:
		return false
	}
	read := func(i int) []*expr.Node { return e.readDoubles(e.args[i], size) }
	write := func(i int, f func(i int) *expr.Node) bool { return e.writeDoubles(e.args[i], size, f) }
	switch op {
	case "VLE64V":
		at := e.address(e.args[0])
		return write(1, func(i int) *expr.Node { return e.Load(g.Plus(at, int64(8*i)), 8) })
	case "VSE64V":
		v, at := read(0), e.address(e.args[1])
		for i, x := range v {
			e.Store(g.Plus(at, int64(8*i)), x)
		}
		return true
	case "VSLLVI":
		v := read(1)
		return write(2, func(i int) *expr.Node { return g.ShlBy(v[i], int(e.args[0].Imm)) })
	case "VMVVI":
		return write(1, func(int) *expr.Node { return g.Int(e.args[0].Imm) })
	case "VFMVVF":
		return write(1, func(int) *expr.Node { return e.fp(e.args[0]) })
	case "VMVVV":
		v := read(0)
		return write(1, func(i int) *expr.Node { return v[i] })
	case "VMFEQVV":
		x, y := read(0), read(1)
		e.bits(e.args[2], func(i int) *expr.Node { return g.FEq(x[i], y[i]) })
		return true
	case "VMERGEVVM", "VMERGEVXM":
		if e.args[2].Text != "V0" {
			machine.Failf("%v: the mask must be V0", e.in)
		}
		if op == "VMERGEVXM" {
			if e.args[0].Text != "X0" {
				machine.Failf("%v: not zeros", e.in)
			}
			x := read(1)
			return write(3, func(i int) *expr.Node { return g.Select(e.mask(i), g.Const(64, 0), x[i]) })
		}
		y, x := read(0), read(1)
		return write(3, func(i int) *expr.Node { return g.Select(e.mask(i), y[i], x[i]) })
	}
	return e.operateOnDoubles(op, read, write)
}

// gather loads words or bytes at distances of 64 bits.
func (e *exec) gather() {
	bits, n := int(e.W[width].Val), e.vl()
	size := 1
	for size*e.isa.VLEN < 64*n {
		size *= 2
	}
	at, distances := e.address(e.args[0]), e.readDoubles(e.args[1], size)
	load := func(i int) *expr.Node { return e.Load(e.g.Add(at, distances[i]), bits/8) }
	if bits == 32 {
		e.write(e.args[2], load)
		return
	}
	v := e.registers(e.args[2], 1)[:e.isa.words()*max(1, int(e.W[group].Val))]
	for i := 0; i < n; i += 4 {
		var parts []*expr.Node
		for k := range 4 {
			if i+k < n {
				parts = append(parts, load(i+k))
			} else {
				parts = append(parts, e.g.Extract(e.Undefined(e.args[2].Text, i), 8*k, 8))
			}
		}
		v[i/4] = e.g.Concat(parts...)
	}
}

// operateOnDoubles executes arithmetic: the first source of RISC-V's order may be a scalar.
func (e *exec) operateOnDoubles(op string, read func(i int) []*expr.Node, write func(i int, f func(i int) *expr.Node) bool) bool {
	name, kind := op[:len(op)-2], op[len(op)-2:]
	second := func(i int) func(at int) *expr.Node {
		if kind == "VF" {
			x := e.fp(e.args[i])
			return func(int) *expr.Node { return x }
		}
		v := read(i)
		return func(at int) *expr.Node { return v[at] }
	}
	if f := doubleOps[name]; f != nil {
		y, x := second(0), read(1)
		return write(2, func(i int) *expr.Node { return f(e.g, x[i], y(i)) })
	}
	if name != "VFMACC" && name != "VFNMSAC" && name != "VFMADD" {
		return false
	}
	x, y, old := read(0), second(1), read(2)
	return write(2, func(i int) *expr.Node {
		a, b, c := x[i], y(i), old[i]
		if name == "VFMADD" {
			a, c = c, a
		}
		if strings.HasPrefix(name, "VFN") {
			a = e.g.FNeg(a)
		}
		return e.g.Fma64(a, b, c)
	})
}
