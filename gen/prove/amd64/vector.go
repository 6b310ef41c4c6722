package amd64

import (
	"math"
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// A vec is the words of 32 bits of an operand. A word that is not defined is nil, and so is one
// that is not loaded because of a mask.
type vec []*expr.Node

// masked says which words of the destination an instruction changes.
type masked struct {
	mask *expr.Node // nil for all
	zero bool       // the others become 0; else they stay
}

// bit returns the bit of a word, as a constant 1 without a mask.
func (e *exec) bit(m masked, i int) *expr.Node {
	if m.mask == nil {
		return e.g.Bool(true)
	}
	return e.g.Extract(m.mask, i, 1)
}

// operandsOf separates the mask, which stands before the destination, from the operands.
func (e *exec) operandsOf() (op string, args []machine.Operand, m masked, broadcast bool) {
	op, args = e.in.Op, e.args
	op, m.zero = strings.CutSuffix(op, ".Z")
	op, broadcast = strings.CutSuffix(op, ".BCST")
	if n := len(args); n >= 2 && !writesMask(args[n-1]) {
		if _, ok := maskNumber(args[n-2].Reg); ok && op != "VBLENDMPS" && op != "VBLENDMPD" && op != "VPMOVM2D" {
			m.mask = e.mask(args[n-2])
			args = append(append([]machine.Operand{}, args[:n-2]...), args[n-1])
		}
	}
	return op, args, m, broadcast
}

func writesMask(o machine.Operand) bool { _, ok := maskNumber(o.Reg); return ok }

// reg returns the words of a register.
func (e *exec) reg(o machine.Operand) vec {
	n, words, ok := vecNumber(o.Reg)
	if !ok {
		machine.Failf("%v: no vector: %s", e.in, o.Text)
	}
	return e.W[firstVec+n*vecWords:][:words]
}

// read returns the first words of an operand: of a register, or loaded from memory.
func (e *exec) read(o machine.Operand, words int) vec {
	if !isMemory(o) {
		v := e.reg(o)
		if len(v) < words {
			v = e.W[firstVec+numberOf(o)*vecWords:][:words]
		}
		for i, n := range v[:words] {
			if n == nil {
				v[i] = e.Undefined(o.Text, i)
			}
		}
		return append(vec{}, v[:words]...)
	}
	return e.loadWords(e.address(o), words)
}

func numberOf(o machine.Operand) int { n, _, _ := vecNumber(o.Reg); return n }

func (e *exec) loadWords(at *expr.Node, words int) vec { return e.LoadWords(at, 4, words) }

// source is read for an instruction that may repeat a number of 32 bits in memory.
func (e *exec) source(o machine.Operand, words int, broadcast bool) vec {
	if broadcast && isMemory(o) {
		x := e.loadWords(e.address(o), 1)[0]
		v := make(vec, words)
		for i := range v {
			v[i] = x
		}
		return v
	}
	return e.read(o, words)
}

// write sets a register, and the words above to 0.
func (e *exec) write(o machine.Operand, v vec) {
	n, words, ok := vecNumber(o.Reg)
	if !ok {
		machine.Failf("%v: no vector: %s", e.in, o.Text)
	}
	to := e.W[firstVec+n*vecWords:][:vecWords]
	copy(to, v[:words])
	for i := words; i < vecWords; i++ {
		to[i] = e.g.Const(32, 0)
	}
	if words > 4 && n < 16 {
		e.W[upper] = e.g.Bool(true)
	}
}

// writeMasked sets the words of a register that a mask chooses.
func (e *exec) writeMasked(o machine.Operand, v vec, m masked) {
	if m.mask != nil {
		old := e.reg(o)
		for i := range v {
			rest := e.g.Const(32, 0)
			if b := e.bit(m, i); !m.zero && !(b.IsConst() && b.Val == 1) {
				if rest = old[i]; rest == nil {
					rest = e.Undefined(o.Text, i)
				}
			}
			if v[i] == nil { // was not loaded
				v[i] = rest
			}
			v[i] = e.g.Select(e.bit(m, i), v[i], rest)
		}
	}
	e.write(o, v)
}

// lanes sets a register word by word.
func (e *exec) lanes(o machine.Operand, f func(i int) *expr.Node) {
	v := make(vec, len(e.reg(o)))
	for i := range v {
		v[i] = f(i)
	}
	e.write(o, v)
}

// half returns a word of 16 bits of a vector, and octet a byte.
func (e *exec) half(v vec, i int) *expr.Node  { return e.g.Extract(v[i/2], i%2*16, 16) }
func (e *exec) octet(v vec, i int) *expr.Node { return e.g.Extract(v[i/4], i%4*8, 8) }

// pieces sets a register from pieces of 8, 16 or 64 bits.
func (e *exec) pieces(o machine.Operand, w int, f func(i int) *expr.Node) {
	e.lanes(o, func(i int) *expr.Node {
		if w == 64 {
			return e.g.Extract(f(i/2), i%2*32, 32)
		}
		parts := make([]*expr.Node, 32/w)
		for k := range parts {
			parts[k] = f(i*len(parts) + k)
		}
		return e.g.Concat(parts...)
	})
}

// vector executes an instruction on vectors.
func (e *exec) vector() bool {
	if e.in.Op[0] != 'V' {
		return false
	}
	if e.in.Op == "VZEROUPPER" {
		e.zeroUpper()
		return true
	}
	op, args, m, broadcast := e.operandsOf()
	return e.doubles(op, args, m) || e.masksOfVectors(op, args) || e.elementwise(op, args, m, broadcast) || e.fused(op, args, m, broadcast) || e.moveVector(op, args, m) ||
		e.compareVector(op, args) || e.convert(op, args, m) || e.narrowIntegers(op, args) || e.permute(op, args, broadcast)
}

func (e *exec) zeroUpper() {
	for n := range 16 {
		for i := 4; i < vecWords; i++ {
			e.W[firstVec+n*vecWords+i] = e.g.Const(32, 0)
		}
	}
	e.W[upper] = e.g.Bool(false)
}

// elementwiseOps are operations of two words; x is Intel's first source, the operand before the
// destination.
var elementwiseOps = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"VADDPS":  (*expr.Graph).FAdd,
	"VSUBPS":  (*expr.Graph).FSub,
	"VMULPS":  (*expr.Graph).FMul,
	"VDIVPS":  (*expr.Graph).FDiv,
	"VMAXPS":  (*expr.Graph).FMaxX86,
	"VMINPS":  (*expr.Graph).FMinX86,
	"VPADDD":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Add(x, y) },
	"VPSUBD":  (*expr.Graph).Sub,
	"VPMULLD": (*expr.Graph).Mul,
	"VANDPS":  (*expr.Graph).And, "VPAND": (*expr.Graph).And, "VPANDD": (*expr.Graph).And,
	"VORPS": (*expr.Graph).Or, "VPOR": (*expr.Graph).Or, "VPORD": (*expr.Graph).Or,
	"VXORPS": (*expr.Graph).Xor, "VPXOR": (*expr.Graph).Xor, "VPXORD": (*expr.Graph).Xor,
	"VANDNPS": andNot, "VPANDN": andNot, "VPANDND": andNot,
	"VPMAXSD":   (*expr.Graph).SMax,
	"VPMINSD":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Lt(x, y), x, y) },
	"VPMAXUD":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Ult(y, x), x, y) },
	"VPMINUD":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Ult(x, y), x, y) },
	"VPSLLVD":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Shift(expr.Shl, x, y) },
	"VPSRLVD":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Shift(expr.Shr, x, y) },
	"VPSRAVD":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Shift(expr.Sar, x, y) },
	"VSCALEFPS": (*expr.Graph).FScale,
}

func andNot(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.And(g.Not(x), y) }

// clears are instructions that set a register to 0 if both sources are the same one, defined or
// not.
var clears = map[string]bool{"VXORPS": true, "VPXOR": true, "VPXORD": true}

func (e *exec) elementwise(op string, args []machine.Operand, m masked, broadcast bool) bool {
	if single, ok := strings.CutSuffix(op, "SS"); ok {
		if f := elementwiseOps[single+"PS"]; f != nil {
			x, y := e.read(args[1], 4), e.read(args[0], 1)
			x[0] = f(e.g, x[0], y[0])
			e.write(args[2], x)
			return true
		}
	}
	f := elementwiseOps[op]
	if f == nil {
		return e.elementwiseOne(op, args, m, broadcast)
	}
	to := args[2]
	if clears[op] && args[0].Text == args[1].Text {
		e.lanes(to, func(int) *expr.Node { return e.g.Const(32, 0) })
		return true
	}
	if op == "VPCMPEQD" && args[0].Text == args[1].Text {
		e.lanes(to, func(int) *expr.Node { return e.g.Const(32, 1<<32-1) })
		return true
	}
	words := len(e.reg(to))
	x, y := e.read(args[1], words), e.source(args[0], words, broadcast)
	v := make(vec, words)
	for i := range v {
		v[i] = f(e.g, x[i], y[i])
	}
	e.writeMasked(to, v, m)
	return true
}

// elementwiseOne executes operations of one word, and those with a number.
func (e *exec) elementwiseOne(op string, args []machine.Operand, m masked, broadcast bool) bool {
	g := e.g
	n := len(args)
	if n == 0 {
		return false
	}
	to := args[n-1]
	apply := func(f func(x *expr.Node) *expr.Node) bool {
		v := e.source(args[n-2], len(e.reg(to)), broadcast)
		for i, x := range v {
			v[i] = f(x)
		}
		e.writeMasked(to, v, m)
		return true
	}
	switch op {
	case "VSQRTPS":
		return apply(g.FSqrt)
	case "VSQRTSS":
		x, y := e.read(args[1], 4), e.read(args[0], 1)
		x[0] = g.FSqrt(y[0])
		e.write(to, x)
		return true
	case "VPABSD":
		return apply(func(x *expr.Node) *expr.Node { return g.Select(g.Extract(x, 31, 1), g.Neg(x), x) })
	case "VRNDSCALEPS", "VROUNDPS":
		if args[0].Imm&^8 != 0 {
			machine.Failf("%v: no such rounding", e.in)
		}
		return apply(func(x *expr.Node) *expr.Node { return g.Unary(expr.FRound, 32, x) })
	case "VREDUCEPS":
		if args[0].Imm != 0 {
			machine.Failf("%v: no such rounding", e.in)
		}
		return apply(func(x *expr.Node) *expr.Node {
			infinite := g.FEq(g.FAbs(x), g.Float(float32(math.Inf(1))))
			return g.Select(infinite, g.Float(0), g.FSub(x, g.Unary(expr.FRound, 32, x)))
		})
	case "VPSLLD", "VPSRLD", "VPSRAD":
		by := e.shiftBy(args[0])
		f := map[string]func(*expr.Node, int) *expr.Node{"VPSLLD": g.ShlBy, "VPSRLD": g.ShrBy, "VPSRAD": g.SarBy}[op]
		return apply(func(x *expr.Node) *expr.Node { return f(x, by) })
	}
	return false
}

// shiftBy returns the number of bits of a shift, which may be the lower 64 bits of a vector.
func (e *exec) shiftBy(o machine.Operand) int {
	if o.Kind == machine.Immediate {
		return int(o.Imm)
	}
	v := e.read(o, 2)
	if !v[0].IsConst() || !v[1].IsConst() {
		machine.Failf("%v: shifts by a number that depends on data", e.in)
	}
	return int(min(v[0].Val|v[1].Val<<32, 64))
}

// fused executes fused multiply-adds. In VFMADD213 the digits say that the result is the second
// operand times the first plus the third; the first is the destination.
func (e *exec) fused(op string, args []machine.Operand, m masked, broadcast bool) bool {
	g := e.g
	var order string
	var negProduct, negSum bool
	for _, form := range []struct {
		prefix             string
		negProduct, negSum bool
	}{{"VFMADD", false, false}, {"VFMSUB", false, true}, {"VFNMADD", true, false}, {"VFNMSUB", true, true}} {
		if rest, ok := strings.CutPrefix(op, form.prefix); ok {
			order, negProduct, negSum = rest, form.negProduct, form.negSum
		}
	}
	if len(order) != 5 {
		return false
	}
	words := len(e.reg(args[2]))
	if strings.HasSuffix(order, "SS") {
		words = 1
	}
	operands := map[byte]vec{'1': e.read(args[2], words), '2': e.read(args[1], words), '3': e.source(args[0], words, broadcast)}
	x, y, z := operands[order[0]], operands[order[1]], operands[order[2]]
	v := e.read(args[2], len(e.reg(args[2])))
	for i := range words {
		a, c := x[i], z[i]
		if negProduct {
			a = g.FNeg(a)
		}
		if negSum {
			c = g.FNeg(c)
		}
		v[i] = g.FFma(a, y[i], c)
	}
	e.writeMasked(args[2], v, m)
	return true
}
