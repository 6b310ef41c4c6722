package amd64

import (
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// convert executes conversions between numbers and between widths of integers.
func (e *exec) convert(op string, args []machine.Operand, m masked) bool {
	g := e.g
	unary := func(o expr.Op, w int) {
		v := e.source(args[0], len(e.reg(args[1])), strings.HasSuffix(e.in.Op, ".BCST"))
		e.lanes(args[1], func(i int) *expr.Node { return g.Unary(o, w, v[i]) })
	}
	switch op {
	case "VCVTDQ2PS":
		unary(expr.SToF, 32)
	case "VCVTUDQ2PS":
		unary(expr.UToF, 32)
	case "VCVTPS2DQ":
		unary(expr.FToS, 32)
	case "VCVTSS2SI":
		e.set(args[1], g.Unary(expr.FToS, 32, e.read(args[0], 1)[0]))
	case "VCVTPH2PS":
		v := e.narrow(args[0], 16, len(e.reg(args[1])), m)
		e.lanes(args[1], func(i int) *expr.Node { return g.Unary(expr.HToF, 32, v[i]) })
	case "VCVTPS2PH":
		e.toHalf(args)
	default:
		return e.extend(op, args, m) || e.truncate(op, args)
	}
	return true
}

func (e *exec) toHalf(args []machine.Operand) {
	if args[0].Imm != 0 { // 4 would take the rounding from MXCSR
		machine.Failf("%v: no such rounding", e.in)
	}
	v := e.read(args[1], len(e.reg(args[1])))
	out := make(vec, len(v)/2)
	for i := range out {
		out[i] = e.g.Concat(e.g.Unary(expr.FToH, 16, v[2*i]), e.g.Unary(expr.FToH, 16, v[2*i+1]))
	}
	if isMemory(args[2]) {
		e.storeWords(e.address(args[2]), out, masked{})
		return
	}
	words := len(e.reg(args[2]))
	for len(out) < words {
		out = append(out, e.g.Const(32, 0))
	}
	e.write(args[2], out)
}

var widths = map[byte]int{'B': 8, 'W': 16, 'D': 32, 'Q': 64}

// extend executes VPMOVSXBD and the like.
func (e *exec) extend(op string, args []machine.Operand, m masked) bool {
	rest, ok := strings.CutPrefix(op, "VPMOV")
	if !ok || len(rest) != 4 || rest[1] != 'X' || widths[rest[3]] == 64 {
		return false
	}
	from, to := widths[rest[2]], widths[rest[3]]
	v := e.narrow(args[0], from, 32*len(e.reg(args[1]))/to, m)
	e.pieces(args[1], to, func(i int) *expr.Node {
		if rest[0] == 'S' {
			return e.g.Sext(v[i], to)
		}
		return e.g.Zext(v[i], to)
	})
	return true
}

// narrow reads n pieces of w bits, of which a mask clears some. Those are not touched, so there
// need be no memory.
func (e *exec) narrow(o machine.Operand, w, n int, m masked) vec {
	pieces := make(vec, n)
	if m.mask == nil {
		v := e.read(o, n*w/32)
		for i := range pieces {
			pieces[i] = e.g.Extract(v[i*w/32], i*w%32, w)
		}
		return pieces
	}
	if !isMemory(o) || !m.zero {
		machine.Failf("%v: a mask of no load", e.in)
	}
	at := e.address(o)
	for i := range pieces {
		switch b := e.bit(m, i); {
		case !b.IsConst():
			machine.Failf("%v: a load by a mask that depends on data", e.in)
		case b.Val == 1:
			pieces[i] = e.Load(e.g.Add(at, e.g.Int(int64(i*w/8))), w/8)
		default:
			pieces[i] = e.g.Const(w, 0)
		}
	}
	return pieces
}

// truncate executes VPMOVDB and VPMOVDW.
func (e *exec) truncate(op string, args []machine.Operand) bool {
	w := map[string]int{"VPMOVDB": 8, "VPMOVDW": 16}[op]
	if w == 0 {
		return false
	}
	v := e.read(args[0], len(e.reg(args[0])))
	per := 32 / w
	out := make(vec, len(v)/per)
	for i := range out {
		parts := make([]*expr.Node, per)
		for k := range parts {
			parts[k] = e.g.Extract(v[i*per+k], 0, w)
		}
		out[i] = e.g.Concat(parts...)
	}
	if isMemory(args[1]) {
		e.storeWords(e.address(args[1]), out, masked{})
		return true
	}
	for len(out) < len(e.reg(args[1])) {
		out = append(out, e.g.Const(32, 0))
	}
	e.write(args[1], out)
	return true
}

// narrowIntegers executes operations on pieces of 8, 16 and 64 bits.
func (e *exec) narrowIntegers(op string, args []machine.Operand) bool {
	g := e.g
	if len(args) < 2 {
		return false
	}
	to := args[len(args)-1]
	two := func(w int, f func(x, y *expr.Node) *expr.Node) {
		words := len(e.reg(to))
		x, y := e.read(args[1], words), e.read(args[0], words)
		e.pieces(to, w, func(i int) *expr.Node { return f(e.piece(x, w, i), e.piece(y, w, i)) })
	}
	shift := func(w int, f func(*expr.Node, int) *expr.Node) {
		by := e.shiftBy(args[0])
		x := e.read(args[1], len(e.reg(to)))
		e.pieces(to, w, func(i int) *expr.Node { return f(e.piece(x, w, i), by) })
	}
	switch op {
	case "VPADDB":
		two(8, func(x, y *expr.Node) *expr.Node { return g.Add(x, y) })
	case "VPSUBB":
		two(8, g.Sub)
	case "VPADDW":
		two(16, func(x, y *expr.Node) *expr.Node { return g.Add(x, y) })
	case "VPSUBW":
		two(16, g.Sub)
	case "VPADDQ":
		two(64, func(x, y *expr.Node) *expr.Node { return g.Add(x, y) })
	case "VPMULLW":
		two(16, g.Mul)
	case "VPSLLW":
		shift(16, g.ShlBy)
	case "VPSRLW":
		shift(16, g.ShrBy)
	case "VPSRAW":
		shift(16, g.SarBy)
	case "VPSLLQ":
		shift(64, g.ShlBy)
	case "VPSRLQ":
		shift(64, g.ShrBy)
	case "VPMULUDQ":
		two(64, func(x, y *expr.Node) *expr.Node {
			return g.Mul(g.Zext(g.Extract(x, 0, 32), 64), g.Zext(g.Extract(y, 0, 32), 64))
		})
	default:
		return e.products(op, args) || e.packs(op, args)
	}
	return true
}

// piece returns a piece of a vector.
func (e *exec) piece(v vec, w, i int) *expr.Node {
	if w == 64 {
		return e.g.Concat(v[2*i], v[2*i+1])
	}
	return e.g.Extract(v[i*w/32], i*w%32, w)
}

// products executes sums of products of narrow integers.
func (e *exec) products(op string, args []machine.Operand) bool {
	g := e.g
	op, _ = strings.CutSuffix(op, ".BCST")
	to := args[len(args)-1]
	if op != "VPMADDUBSW" && op != "VPMADDWD" && op != "VPDPWSSD" && op != "VPDPBUSD" {
		return false
	}
	words := len(e.reg(to))
	x, y := e.read(args[1], words), e.source(args[0], words, strings.HasSuffix(e.in.Op, ".BCST"))
	switch op {
	case "VPMADDUBSW": // the first source is unsigned
		e.pieces(to, 16, func(i int) *expr.Node {
			sum := g.Add(e.mixed(x, y, 2*i), e.mixed(x, y, 2*i+1))
			return e.saturate(sum, 16, true)
		})
	case "VPMADDWD", "VPDPWSSD":
		old := vec(nil)
		if op == "VPDPWSSD" {
			old = e.read(to, words)
		}
		e.lanes(to, func(i int) *expr.Node {
			sum := g.Add(g.Mul(g.Sext(e.half(x, 2*i), 32), g.Sext(e.half(y, 2*i), 32)), g.Mul(g.Sext(e.half(x, 2*i+1), 32), g.Sext(e.half(y, 2*i+1), 32)))
			if old != nil {
				sum = g.Add(sum, old[i])
			}
			return sum
		})
	case "VPDPBUSD":
		old := e.read(to, words)
		e.lanes(to, func(i int) *expr.Node {
			return g.Add(old[i], e.mixed(x, y, 4*i), e.mixed(x, y, 4*i+1), e.mixed(x, y, 4*i+2), e.mixed(x, y, 4*i+3))
		})
	}
	return true
}

// mixed is the product of an unsigned byte of x and a signed byte of y.
func (e *exec) mixed(x, y vec, i int) *expr.Node {
	return e.g.Mul(e.g.Zext(e.octet(x, i), 32), e.g.Sext(e.octet(y, i), 32))
}

// saturate cuts a signed number to w bits: the nearest that fits.
func (e *exec) saturate(x *expr.Node, w int, isSigned bool) *expr.Node {
	g := e.g
	lo, hi := int64(0), int64(1)<<w-1
	if isSigned {
		lo, hi = -1<<(w-1), 1<<(w-1)-1
	}
	if l, h := x.Bounds(); l >= lo && h <= hi {
		return g.Extract(x, 0, w)
	}
	low, high := g.Const(x.Width, uint64(lo)), g.Const(x.Width, uint64(hi))
	return g.Extract(g.Select(g.Lt(x, low), low, g.Select(g.Lt(high, x), high, x)), 0, w)
}

// packs executes VPACKSSDW and the like: in each 128 bits the first source's pieces, then the
// second's.
func (e *exec) packs(op string, args []machine.Operand) bool {
	form, ok := map[string]struct {
		to       int
		isSigned bool
	}{"VPACKSSDW": {16, true}, "VPACKUSDW": {16, false}, "VPACKSSWB": {8, true}, "VPACKUSWB": {8, false}}[op]
	if !ok {
		return false
	}
	words := len(e.reg(args[2]))
	x, y := e.read(args[1], words), e.read(args[0], words)
	per := 128 / form.to / 2
	e.pieces(args[2], form.to, func(i int) *expr.Node {
		lane, at := i/(2*per), i%(2*per)
		v := x
		if at >= per {
			v, at = y, at-per
		}
		return e.saturate(e.piece(v, 2*form.to, lane*per+at), form.to, form.isSigned)
	})
	return true
}
