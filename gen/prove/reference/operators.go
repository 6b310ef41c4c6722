package reference

import (
	"go/token"
	"go/types"
	"math"

	"golang.org/x/tools/go/ssa"

	"github.com/attn-go/attn/gen/prove/expr"
)

// binary computes an operator of two operands.
func (m *Machine) binary(op token.Token, tx, ty types.Type, x, y Value) Value {
	a, aIs := x.(*expr.Node)
	b, bIs := y.(*expr.Node)
	switch {
	case !aIs || !bIs:
		return m.ofReferences(op, x, y)
	case isFloat(tx) && widthOf(tx) == 64:
		return m.float64s(op, a, b)
	case isFloat(tx):
		return m.float32s(op, a, b)
	case op == token.SHL || op == token.SHR:
		return m.shift(op, tx, a, b)
	}
	return m.integers(op, isUnsigned(tx), a, b)
}

// ofReferences compares functions, slices or pointers with nil.
func (m *Machine) ofReferences(op token.Token, x, y Value) Value {
	isNil := func(v Value) bool {
		s, ok := v.(Slice)
		return v == nil || ok && s == nil
	}
	same := isNil(x) == isNil(y)
	if !isNil(x) && !isNil(y) {
		fault("a comparison of %T and %T", x, y)
	}
	return m.G.Bool(same == (op == token.EQL))
}

func (m *Machine) float32s(op token.Token, a, b *expr.Node) Value {
	g := m.G
	switch op {
	case token.ADD:
		return g.FAdd(a, b)
	case token.SUB:
		return g.FSub(a, b)
	case token.MUL:
		return g.FMul(a, b)
	case token.QUO:
		return g.FDiv(a, b)
	case token.LSS:
		return g.FLt(a, b)
	case token.LEQ:
		return g.FLe(a, b)
	case token.GTR:
		return g.FLt(b, a)
	case token.GEQ:
		return g.FLe(b, a)
	case token.EQL:
		return g.FEq(a, b)
	case token.NEQ:
		return g.Not(g.FEq(a, b))
	}
	fault("no such operator of floats: %v", op)
	return nil
}

// float64s computes constants, and the operations of sums of float64.
func (m *Machine) float64s(op token.Token, a, b *expr.Node) Value {
	if !a.IsConst() || !b.IsConst() {
		switch op {
		case token.ADD:
			return m.G.Add64(a, b)
		case token.SUB:
			return m.G.Sub64(a, b)
		case token.MUL:
			return m.G.Mul64(a, b)
		case token.QUO:
			return m.G.Div64(a, b)
		case token.EQL:
			return m.G.FEq(a, b)
		case token.NEQ:
			return m.G.Not(m.G.FEq(a, b))
		}
		fault("%v of float64", op)
	}
	x, y := math.Float64frombits(a.Val), math.Float64frombits(b.Val)
	number := func(z float64) Value { return m.G.Const(64, math.Float64bits(z)) }
	switch op {
	case token.ADD:
		return number(x + y)
	case token.SUB:
		return number(x - y)
	case token.MUL:
		return number(x * y)
	case token.QUO:
		return number(x / y)
	case token.LSS:
		return m.G.Bool(x < y)
	case token.GTR:
		return m.G.Bool(x > y)
	case token.EQL:
		return m.G.Bool(x == y)
	}
	fault("no such operator of float64: %v", op)
	return nil
}

func (m *Machine) shift(op token.Token, tx types.Type, a, b *expr.Node) Value {
	g := m.G
	if !b.IsConst() {
		b = g.Extract(g.Zext(b, 64), 0, a.Width) // a shift by more bits than the word has does not occur
	}
	by := g.Const(a.Width, min(b.Val, uint64(a.Width)))
	if !b.IsConst() {
		by = b
	}
	switch {
	case op == token.SHL:
		return g.Shift(expr.Shl, a, by)
	case isUnsigned(tx):
		return g.Shift(expr.Shr, a, by)
	}
	return g.Shift(expr.Sar, a, by)
}

func (m *Machine) integers(op token.Token, unsigned bool, a, b *expr.Node) Value {
	g := m.G
	less := g.Lt
	if unsigned {
		less = g.Ult
	}
	switch op {
	case token.ADD:
		return g.Add(a, b)
	case token.SUB:
		return g.Sub(a, b)
	case token.MUL:
		return g.Mul(a, b)
	case token.AND:
		return g.And(a, b)
	case token.OR:
		return g.Or(a, b)
	case token.XOR:
		return g.Xor(a, b)
	case token.AND_NOT:
		return g.And(a, g.Not(b))
	case token.LSS:
		return less(a, b)
	case token.GTR:
		return less(b, a)
	case token.LEQ:
		return g.Not(less(b, a))
	case token.GEQ:
		return g.Not(less(a, b))
	case token.EQL:
		return g.Eq(a, b)
	case token.NEQ:
		return g.Not(g.Eq(a, b))
	case token.QUO, token.REM:
		return m.divide(op, unsigned, a, b)
	}
	fault("no such operator of integers: %v", op)
	return nil
}

func (m *Machine) divide(op token.Token, unsigned bool, a, b *expr.Node) Value {
	if !a.IsConst() || !b.IsConst() || b.Val == 0 {
		fault("a division of symbols")
	}
	if unsigned {
		if op == token.QUO {
			return m.G.Const(a.Width, a.Val/b.Val)
		}
		return m.G.Const(a.Width, a.Val%b.Val)
	}
	if op == token.QUO {
		return m.G.Const(a.Width, uint64(a.Signed()/b.Signed()))
	}
	return m.G.Const(a.Width, uint64(a.Signed()%b.Signed()))
}

// convert converts a number.
func (m *Machine) convert(x *expr.Node, from, to types.Type) Value {
	g := m.G
	w := widthOf(to)
	switch {
	case isFloat(from) && isFloat(to):
		switch {
		case x.Width == w:
			return x
		case w == 64:
			return g.Unary(expr.Widen, 64, x)
		}
		return g.Unary(expr.Narrow64, 32, x)
	case isFloat(to):
		if w == 64 {
			if !x.IsConst() {
				fault("a symbol to float64")
			}
			return g.Const(64, math.Float64bits(float64(x.Signed())))
		}
		if isUnsigned(from) {
			return g.Unary(expr.UToF, 32, widened(g, x, true))
		}
		return g.Unary(expr.SToF, 32, widened(g, x, false))
	case isFloat(from):
		if !x.IsConst() {
			fault("a float that is a symbol to an integer")
		}
		y := math.Float64frombits(x.Val)
		if x.Width == 32 {
			y = float64(math.Float32frombits(uint32(x.Val)))
		}
		return g.Const(w, uint64(int64(y)))
	case w <= x.Width:
		return g.Extract(x, 0, w)
	case isUnsigned(from):
		return g.Zext(x, w)
	}
	return g.Sext(x, w)
}

// widened returns an integer in 32 bits, if it is smaller or fits by its bounds.
func widened(g *expr.Graph, x *expr.Node, unsigned bool) *expr.Node {
	switch {
	case x.Width < 32 && unsigned:
		return g.Zext(x, 32)
	case x.Width < 32:
		return g.Sext(x, 32)
	case x.Width == 64:
		if y := g.Extract(x, 0, 32); g.Sext(y, 64) == x {
			return y
		}
	}
	return x
}

// builtin executes a builtin function.
func (m *Machine) builtin(name string, c *ssa.CallCommon, args []Value) Value {
	switch name {
	case "len", "cap":
		switch x := args[0].(type) {
		case Slice:
			if name == "cap" {
				return m.G.Int(int64(cap(x)))
			}
			return m.G.Int(int64(len(x)))
		case string:
			return m.G.Int(int64(len(x)))
		case nil:
			return m.G.Int(0)
		}
		fault("%s of %T", name, args[0])
	case "copy":
		return m.copy(args[0].(Slice), args[1].(Slice))
	case "clear":
		zero := m.zero(c.Args[0].Type().Underlying().(*types.Slice).Elem())
		for _, at := range args[0].(Slice) {
			m.store(at, zero)
		}
		return nil
	case "min", "max":
		x := args[0].(*expr.Node)
		for _, y := range args[1:] {
			x = m.extreme(name, c.Args[0].Type(), x, y.(*expr.Node))
		}
		return x
	case "ssa:wrapnilchk":
		return args[0]
	}
	fault("no such builtin: %s", name)
	return nil
}

func (m *Machine) copy(to, from Slice) Value {
	n := min(len(to), len(from))
	values := make([]Value, n)
	for i := range n {
		values[i] = load(from[i])
	}
	for i, v := range values {
		m.store(to[i], v)
	}
	return m.G.Int(int64(n))
}

func (m *Machine) extreme(name string, t types.Type, x, y *expr.Node) *expr.Node {
	g := m.G
	switch {
	case isFloat(t) && name == "max":
		return g.FMax(x, y)
	case isFloat(t):
		return g.FMin(x, y)
	}
	less := g.Lt
	if isUnsigned(t) {
		less = g.Ult
	}
	if name == "max" {
		return g.Select(less(x, y), y, x)
	}
	return g.Select(less(x, y), x, y)
}

// intrinsics are functions that are not executed from their source: what they compute is an
// operation. scalar.FMA is x·y+z rounded once by definition, and MulAdd and Rare are its steps.
var intrinsics = map[string]func(m *Machine, args []Value) Value{
	"math.Float32bits":     identity,
	"math.Float32frombits": identity,
	"math.Float64bits":     identity,
	"math.Float64frombits": identity,
	"math.Sqrt":            func(m *Machine, a []Value) Value { return m.G.Unary(expr.Sqrt64, 64, a[0].(*expr.Node)) },
	"math.Abs":             func(m *Machine, a []Value) Value { return m.widenedSign(a[0].(*expr.Node), m.G.FAbs) },
	"math.Copysign": func(m *Machine, a []Value) Value {
		y := a[1].(*expr.Node)
		if y.Op == expr.Widen {
			y = y.Args[0]
		}
		return m.widenedSign(a[0].(*expr.Node), func(x *expr.Node) *expr.Node { return m.G.FCopySign(x, y) })
	},
	"math.Inf": func(m *Machine, a []Value) Value {
		return m.G.Const(64, math.Float64bits(math.Inf(concrete(a[0]))))
	},
	"math.NaN":                         func(m *Machine, a []Value) Value { return m.G.Const(64, math.Float64bits(math.NaN())) },
	module + "/internal/scalar.FMA":    fused,
	module + "/internal/scalar.MulAdd": fused,
	module + "/internal/scalar.Rare":   func(m *Machine, a []Value) Value { return m.G.Bool(false) },
	module + "/gen/prove/composed.fma": fused,
	module + "/gen/prove/composed.bytesOf": func(m *Machine, a []Value) Value { // of 16 bits each
		var bytes []*expr.Node
		for _, n := range a[0].(Slice).Nodes() {
			bytes = append(bytes, m.G.Extract(n, 0, 8), m.G.Extract(n, 8, 8))
		}
		return NewSlice(bytes)
	},
	// The test of this package shows for all arguments that this is what its source computes.
	module + "/internal/scalar.F16": func(m *Machine, a []Value) Value { return m.G.Unary(expr.HToF, 32, a[0].(*expr.Node)) },
	"math/bits.Mul32": func(m *Machine, a []Value) Value {
		p := m.G.Mul(m.G.Zext(a[0].(*expr.Node), 64), m.G.Zext(a[1].(*expr.Node), 64))
		return list{m.G.Extract(p, 32, 32), m.G.Extract(p, 0, 32)}
	},
}

func identity(_ *Machine, a []Value) Value { return a[0] }

func fused(m *Machine, a []Value) Value {
	return m.G.FFma(a[0].(*expr.Node), a[1].(*expr.Node), a[2].(*expr.Node))
}

// widenedSign changes the sign of a binary64, in binary32 if it comes from there.
func (m *Machine) widenedSign(x *expr.Node, f func(*expr.Node) *expr.Node) Value {
	if x.Op == expr.Widen {
		return m.G.Unary(expr.Widen, 64, f(x.Args[0]))
	}
	return f(x)
}
