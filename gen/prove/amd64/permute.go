package amd64

import (
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// permute executes shuffles, blends and operations that tables describe.
func (e *exec) permute(op string, args []machine.Operand, broadcast bool) bool {
	g := e.g
	if len(args) < 2 {
		return false
	}
	to := args[len(args)-1]
	words := len(e.reg(to))
	imm := int(args[0].Imm)
	switch op {
	case "VBLENDPS":
		y, x := e.read(args[1], words), e.read(args[2], words)
		e.lanes(to, func(i int) *expr.Node { return choose(imm>>i&1 == 1, y[i], x[i]) })
	case "VPBLENDW":
		y, x := e.read(args[1], words), e.read(args[2], words)
		e.pieces(to, 16, func(i int) *expr.Node { return choose(imm>>(i%8)&1 == 1, e.half(y, i), e.half(x, i)) })
	case "VBLENDVPS":
		m, y, x := e.read(args[0], words), e.read(args[1], words), e.read(args[2], words)
		e.lanes(to, func(i int) *expr.Node { return g.Select(e.sign(m[i]), y[i], x[i]) })
	case "VBLENDMPS":
		y, x, k := e.read(args[0], words), e.read(args[1], words), e.mask(args[2])
		e.lanes(to, func(i int) *expr.Node { return g.Select(g.Extract(k, i, 1), y[i], x[i]) })
	case "VPTERNLOGD":
		c, b, a := e.source(args[1], words, broadcast), e.read(args[2], words), e.read(to, words)
		e.lanes(to, func(i int) *expr.Node { return e.ternary(imm, a[i], b[i], c[i]) })
	case "VRANGEPS":
		y, x := e.source(args[1], words, broadcast), e.read(args[2], words)
		e.lanes(to, func(i int) *expr.Node { return e.ranged(imm, x[i], y[i]) })
	case "VFIXUPIMMPS":
		table, x, old := e.read(args[1], words), e.read(args[2], words), e.read(to, words)
		e.lanes(to, func(i int) *expr.Node { return e.fixup(table[i], x[i], old[i]) })
	default:
		return e.shuffle(op, args, words) || e.unpack(op, args, words)
	}
	return true
}

func choose[T any](first bool, x, y T) T {
	if first {
		return x
	}
	return y
}

// sign is the sign of a word. The sign of x-x tells infinities and, with a sign, NaN: on x86 an
// invalid operation makes a negative NaN, and the NaN of an operand keeps its sign. No other code
// looks at the sign of a NaN.
func (e *exec) sign(n *expr.Node) *expr.Node {
	g := e.g
	if n.Op == expr.FAdd && g.FNeg(n.Args[0]) == n.Args[1] {
		x := n.Args[0]
		return g.Select(g.IsNaN(x), g.Extract(x, 31, 1), g.FEq(g.FAbs(x), g.Const(32, 0x7f800000)))
	}
	return g.Extract(n, 31, 1)
}

// shuffle executes moves of words that a number or a vector of indices says.
func (e *exec) shuffle(op string, args []machine.Operand, words int) bool {
	to := args[len(args)-1]
	imm := int(args[0].Imm)
	switch op {
	case "VPSHUFD", "VPERMILPS":
		if args[0].Kind != machine.Immediate {
			return e.byIndex(args, 4)
		}
		v := e.read(args[1], words)
		e.lanes(to, func(i int) *expr.Node { return v[i&^3+imm>>(2*(i&3))&3] })
	case "VPSHUFLW", "VPSHUFHW":
		v, four := e.read(args[1], words), choose(op == "VPSHUFLW", 0, 4) // of the 8 halves of a quarter
		e.pieces(to, 16, func(i int) *expr.Node {
			return e.half(v, choose(i&4 == four, i&^3+imm>>(2*(i&3))&3, i))
		})
	case "VSHUFPS":
		y, x := e.read(args[1], words), e.read(args[2], words)
		e.lanes(to, func(i int) *expr.Node { return choose(i&3 < 2, x, y)[i&^3+imm>>(2*(i&3))&3] })
	case "VSHUFF32X4", "VSHUFI32X4":
		y, x := e.read(args[1], words), e.read(args[2], words)
		e.lanes(to, func(i int) *expr.Node { return choose(i < words/2, x, y)[imm>>(i/4*2)&3*4+i%4] })
	case "VPERM2F128", "VPERM2I128":
		y, x := e.read(args[1], words), e.read(args[2], words)
		e.lanes(to, func(i int) *expr.Node {
			control := imm >> (i / 4 * 4)
			if control&8 != 0 {
				return e.g.Const(32, 0)
			}
			return choose(control&2 == 0, x, y)[control&1*4+i%4]
		})
	case "VPERMPS", "VPERMD":
		return e.byIndex(args, words)
	case "VPERMQ", "VPERMPD":
		v := e.read(args[1], words)
		e.lanes(to, func(i int) *expr.Node { return v[i&^7+imm>>(2*(i/2%4))&3*2+i%2] })
	case "VPERMW":
		v, at := e.read(args[0], words), e.read(args[1], words)
		halves := make([]*expr.Node, 2*words)
		for i := range halves {
			halves[i] = e.half(v, i)
		}
		e.pieces(to, 16, func(i int) *expr.Node { return e.g.Mux(e.half(at, i), halves) })
	case "VPERMI2B":
		y, x, at := e.read(args[0], words), e.read(args[1], words), e.read(to, words)
		bytes := make([]*expr.Node, 8*words)
		for i := range 4 * words {
			bytes[i], bytes[4*words+i] = e.octet(x, i), e.octet(y, i)
		}
		e.pieces(to, 8, func(i int) *expr.Node { return e.g.Mux(e.octet(at, i), bytes) })
	case "VPERMB":
		v, at := e.read(args[0], words), e.read(args[1], words)
		bytes := make([]*expr.Node, 4*words)
		for i := range bytes {
			bytes[i] = e.octet(v, i)
		}
		e.pieces(to, 8, func(i int) *expr.Node { return e.g.Mux(e.octet(at, i), bytes) })
	case "VPSHUFB":
		at, v := e.read(args[0], words), e.read(args[1], words)
		e.pieces(to, 8, func(i int) *expr.Node {
			bytes := make([]*expr.Node, 16)
			for k := range bytes {
				bytes[k] = e.octet(v, i&^15+k)
			}
			x := e.octet(at, i)
			return e.g.Select(e.g.Extract(x, 7, 1), e.g.Const(8, 0), e.g.Mux(x, bytes))
		})
	default:
		return false
	}
	return true
}

// byIndex chooses each word by an index among so many neighbours. VPERMPS has the indices before
// the destination, VPERMILPS before the source.
func (e *exec) byIndex(args []machine.Operand, among int) bool {
	words := len(e.reg(args[2]))
	v, at := e.read(args[0], words), e.read(args[1], words)
	if among == 4 && words > 4 || e.in.Op == "VPERMILPS" {
		v, at = at, v
	}
	if factor, numbers := e.timesInt4(v); factor != nil {
		e.lanes(args[2], func(i int) *expr.Node { return e.g.FMul(factor, e.g.Mux(at[i], numbers)) })
		return true
	}
	e.lanes(args[2], func(i int) *expr.Node { return e.g.Mux(at[i], v[i/among*among:][:among]) })
	return true
}

// timesInt4 tells whether a table has the products of a factor and all int4, in the order of their
// bits. It returns the factor, else nil, and these numbers.
func (e *exec) timesInt4(table []*expr.Node) (factor *expr.Node, numbers []*expr.Node) {
	if len(table) != 16 || table[1].IsConst() {
		return nil, nil
	}
	for i, x := range table {
		number := e.g.Float(float32((i+8)%16 - 8))
		if e.g.FMul(table[1], number) != x {
			return nil, nil
		}
		numbers = append(numbers, number)
	}
	return table[1], numbers
}

// unpack executes VPUNPCKLBW and the like: pieces of both sources in turn, from one half of each
// 128 bits.
func (e *exec) unpack(op string, args []machine.Operand, words int) bool {
	form, ok := map[string]struct {
		w    int
		high bool
	}{"VPUNPCKLBW": {8, false}, "VPUNPCKHBW": {8, true}, "VPUNPCKLWD": {16, false}, "VPUNPCKHWD": {16, true},
		"VPUNPCKLDQ": {32, false}, "VPUNPCKHDQ": {32, true}, "VUNPCKLPS": {32, false}, "VUNPCKHPS": {32, true},
		"VPUNPCKLQDQ": {64, false}, "VPUNPCKHQDQ": {64, true}, "VUNPCKLPD": {64, false}, "VUNPCKHPD": {64, true}}[op]
	if !ok {
		return false
	}
	y, x := e.read(args[0], words), e.read(args[1], words)
	per := 128 / form.w
	f := func(i int) *expr.Node {
		from := i/per*per + i%per/2
		if form.high {
			from += per / 2
		}
		return e.piece(choose(i%2 == 0, x, y), form.w, from)
	}
	if form.w == 32 {
		e.lanes(args[2], f)
	} else {
		e.pieces(args[2], form.w, f)
	}
	return true
}

// ternary is a logical operation of three words by its table.
func (e *exec) ternary(table int, a, b, c *expr.Node) *expr.Node {
	g := e.g
	switch table {
	case 0xf8: // a | b&c
		return g.Or(a, g.And(b, c))
	case 0x6a: // (a & b) ^ c
		return g.Xor(g.And(a, b), c)
	case 0xb8: // b ? c : a, bit by bit
		return g.Or(g.And(b, c), g.And(g.Not(b), a))
	case 0xd8: // c ? b : a
		return g.Or(g.And(c, b), g.And(g.Not(c), a))
	case 0xca: // a ? b : c
		return g.Or(g.And(a, b), g.And(g.Not(a), c))
	case 0xe4: // c ? a : b
		return g.Or(g.And(c, a), g.And(g.Not(c), b))
	case 0x96:
		return g.Xor(a, g.Xor(b, c))
	case 0xff:
		return g.Const(32, 1<<32-1)
	case 0xfe:
		return g.Or(a, g.Or(b, c))
	case 0x80:
		return g.And(a, g.And(b, c))
	case 0xea: // a&b | c
		return g.Or(g.And(a, b), c)
	case 0xec: // a&c | b
		return g.Or(g.And(a, c), b)
	}
	return e.anyTernary(table, a, b, c)
}

// anyTernary spells a table out.
func (e *exec) anyTernary(table int, a, b, c *expr.Node) *expr.Node {
	g := e.g
	out := g.Const(32, 0)
	literal := func(x *expr.Node, set bool) *expr.Node {
		if set {
			return x
		}
		return g.Not(x)
	}
	for i := range 8 {
		if table>>i&1 == 1 {
			out = g.Or(out, g.And(literal(a, i&4 != 0), g.And(literal(b, i&2 != 0), literal(c, i&1 != 0))))
		}
	}
	return out
}

// ranged is VRANGEPS: 0 and 1 are minimum and maximum, 2 and 3 the same of magnitudes. Bits 2 and 3
// choose the sign: the first source's, the result's, plus or minus. If both magnitudes and both
// signs are equal, the result is the first source. A quiet NaN yields the other source.
func (e *exec) ranged(imm int, x, y *expr.Node) *expr.Node {
	g := e.g
	var n *expr.Node
	switch imm & 3 {
	case 2:
		n = g.Select(g.FLt(g.FAbs(y), g.FAbs(x)), y, x)
	case 3:
		n = g.Select(g.FLt(g.FAbs(x), g.FAbs(y)), y, x)
	case 0:
		n = g.Select(g.FLt(y, x), y, x)
	case 1:
		n = g.Select(g.FLt(x, y), y, x)
	}
	n = g.Select(g.IsNaN(x), y, g.Select(g.IsNaN(y), x, n))
	signals := func(z *expr.Node) *expr.Node { return g.And(g.IsNaN(z), g.Not(g.Extract(z, 22, 1))) }
	n = g.Select(g.Or(g.And(g.IsNaN(x), g.IsNaN(y)), g.Or(signals(x), signals(y))), g.Const(32, 0x7fc00000), n)
	switch imm >> 2 & 3 {
	case 0:
		return g.FCopySign(n, x)
	case 1:
		return n
	case 2:
		return g.FAbs(n)
	}
	return g.FNeg(g.FAbs(n))
}

// fixup is VFIXUPIMMPS: a table of 4 bits for each kind of number says what the result is.
func (e *exec) fixup(table, x, old *expr.Node) *expr.Node {
	g := e.g
	if !table.IsConst() {
		machine.Failf("%v: a table that depends on data", e.in)
	}
	isInf := g.FEq(g.FAbs(x), g.Const(32, 0x7f800000))
	sign := g.Extract(x, 31, 1)
	quiet := g.Extract(x, 22, 1)
	kinds := []*expr.Node{ // in the order of the table
		g.And(g.IsNaN(x), quiet), g.And(g.IsNaN(x), g.Not(quiet)), g.FEq(x, g.Const(32, 0)), g.FEq(x, g.Const(32, 0x3f800000)),
		g.And(isInf, sign), g.And(isInf, g.Not(sign)), g.FLt(x, g.Const(32, 0)), g.Bool(true),
	}
	n := old
	for i := len(kinds) - 1; i >= 0; i-- {
		n = g.Select(kinds[i], e.response(int(table.Val>>(4*i)&15), x, old), n)
	}
	return n
}

// response is what an entry of the table of VFIXUPIMMPS stands for.
func (e *exec) response(code int, x, old *expr.Node) *expr.Node {
	g := e.g
	switch code {
	case 0:
		return old
	case 1:
		return x
	case 2: // x, quiet if it is a NaN
		return g.Select(g.IsNaN(x), g.Or(x, g.Const(32, 1<<22)), x)
	case 3:
		return g.Const(32, 0xffc00000)
	case 4:
		return g.Const(32, 0xff800000)
	case 5:
		return g.Const(32, 0x7f800000)
	case 6:
		return g.Or(g.Const(32, 0x7f800000), g.And(x, g.Const(32, 1<<31)))
	case 7:
		return g.Const(32, 1<<31)
	case 8:
		return g.Const(32, 0)
	case 9:
		return g.Const(32, 0xbf800000)
	case 10:
		return g.Const(32, 0x3f800000)
	case 11:
		return g.Const(32, 0x3f000000)
	}
	machine.Failf("%v: no such response: %d", e.in, code)
	return nil
}
