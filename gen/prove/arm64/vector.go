package arm64

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// number returns the number of a vector register: of F3, V3.S4, v3.4s, q3 or s3.
func number(text string) int {
	digits := text[1:]
	if at := strings.IndexByte(digits, '.'); at >= 0 {
		digits = digits[:at]
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n > 31 {
		machine.Failf("no vector register: %s", text)
	}
	return n
}

// A reg is a vector operand: a register, the width of its elements, how many of them count, and
// which one.
type reg struct {
	n, w, count int
	index       int // -1 for all
}

var vecText = regexp.MustCompile(`^[vV](\d+)\.(\d*)([a-zA-Z])(\d*)(?:\[(\d+)\])?$`)

var elementWidths = map[string]int{"b": 8, "h": 16, "s": 32, "d": 64}

var parsed sync.Map // reg by text

func parse(text string) reg {
	if r, ok := parsed.Load(text); ok {
		return r.(reg)
	}
	m := vecText.FindStringSubmatch(text)
	if m == nil {
		machine.Failf("no vector: %s", text)
	}
	r := reg{n: number(text), w: elementWidths[strings.ToLower(m[3])], index: -1}
	r.count, _ = strconv.Atoi(m[2] + m[4])
	if m[5] != "" {
		r.index, _ = strconv.Atoi(m[5])
	}
	parsed.Store(text, r)
	return r
}

func (e *exec) vec(n int) []*expr.Node { return e.W[firstVec+n*vecWords:][:vecWords] }

// read returns the words of a register.
func (e *exec) read(n int) []*expr.Node {
	v := e.vec(n)
	for i, x := range v {
		if x == nil {
			v[i] = e.Undefined(fmt.Sprintf("V%d", n), i)
		}
	}
	return append([]*expr.Node{}, v...)
}

// piece returns an element.
func (e *exec) piece(v []*expr.Node, w, i int) *expr.Node {
	if w == 64 {
		return e.g.Concat(v[2*i], v[2*i+1])
	}
	return e.g.Extract(v[i*w/32], i*w%32, w)
}

// write sets a register from elements.
func (e *exec) write(n, w int, f func(i int) *expr.Node) {
	pieces := make([]*expr.Node, 128/w)
	for i := range pieces {
		pieces[i] = f(i)
	}
	v := e.vec(n)
	for i := range v {
		switch {
		case w == 64:
			v[i] = e.g.Extract(pieces[i/2], i%2*32, 32)
		case w == 32:
			v[i] = pieces[i]
		default:
			v[i] = e.g.Concat(pieces[i*32/w:][:32/w]...)
		}
	}
}

// float executes instructions on single floats.
func (e *exec) float() bool {
	if len(e.in.Op) < 4 || e.in.Op[0] != 'F' || !strings.HasSuffix(e.in.Op, "S") || strings.HasPrefix(e.in.Op, "FMOV") {
		return false
	}
	x := func(i int) *expr.Node { return e.read(number(e.args[i].Text))[0] }
	g := e.g
	to := number(e.args[len(e.args)-1].Text)
	var n *expr.Node
	switch e.in.Op {
	case "FADDS":
		n = g.FAdd(x(1), x(0))
	case "FSUBS":
		n = g.FSub(x(1), x(0))
	case "FMULS":
		n = g.FMul(x(1), x(0))
	case "FDIVS":
		n = g.FDiv(x(1), x(0))
	case "FSQRTS":
		n = g.FSqrt(x(0))
	case "FNEGS":
		n = g.FNeg(x(0))
	case "FABSS":
		n = g.FAbs(x(0))
	default:
		return false
	}
	e.lower(to, []*expr.Node{n})
	return true
}

// same are operations of two elements: x is Arm's first source.
var same = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"add": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Add(x, y) },
	"sub": (*expr.Graph).Sub,
	"mul": (*expr.Graph).Mul,
	"and": (*expr.Graph).And,
	"orr": (*expr.Graph).Or,
	"eor": (*expr.Graph).Xor,
	"bic": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.And(x, g.Not(y)) },
	"umax": func(g *expr.Graph, x, y *expr.Node) *expr.Node {
		return g.Select(g.Ult(x, y), y, x)
	},
	"umin":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Ult(x, y), x, y) },
	"smax":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Lt(x, y), y, x) },
	"cmeq":  mask((*expr.Graph).Eq),
	"cmgt":  mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Lt(y, x) }),
	"cmge":  mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Not(g.Lt(x, y)) }),
	"cmhi":  mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Ult(y, x) }),
	"cmhs":  mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Not(g.Ult(x, y)) }),
	"fadd":  (*expr.Graph).FAdd,
	"fsub":  (*expr.Graph).FSub,
	"fmul":  (*expr.Graph).FMul,
	"fdiv":  (*expr.Graph).FDiv,
	"fmax":  (*expr.Graph).FMax,
	"fmin":  (*expr.Graph).FMin,
	"fcmgt": mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FLt(y, x) }),
	"fcmge": mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FLe(y, x) }),
	"fcmeq": mask((*expr.Graph).FEq),
	"facge": mask(func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FLe(g.FAbs(y), g.FAbs(x)) }),
	"ushl":  ushl,
}

func mask(f func(g *expr.Graph, x, y *expr.Node) *expr.Node) func(g *expr.Graph, x, y *expr.Node) *expr.Node {
	return func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Sext(f(g, x, y), x.Width) }
}

// ushl shifts by a signed byte, to the right if it is negative.
func ushl(g *expr.Graph, x, y *expr.Node) *expr.Node {
	if !y.IsConst() {
		machine.Failf("shifts by a number that depends on data")
	}
	if by := int(int8(y.Val)); by >= 0 {
		return g.ShlBy(x, by)
	} else {
		return g.ShrBy(x, -by)
	}
}

// unary are operations of one element.
var unary = map[string]func(g *expr.Graph, x *expr.Node) *expr.Node{
	"fabs":   (*expr.Graph).FAbs,
	"fneg":   (*expr.Graph).FNeg,
	"fsqrt":  (*expr.Graph).FSqrt,
	"abs":    func(g *expr.Graph, x *expr.Node) *expr.Node { return g.Select(g.Extract(x, x.Width-1, 1), g.Neg(x), x) },
	"scvtf":  func(g *expr.Graph, x *expr.Node) *expr.Node { return g.Unary(expr.SToF, 32, x) },
	"ucvtf":  func(g *expr.Graph, x *expr.Node) *expr.Node { return g.Unary(expr.UToF, 32, x) },
	"fcvtns": func(g *expr.Graph, x *expr.Node) *expr.Node { return g.Unary(expr.FToSat, 32, x) },
	"frintn": func(g *expr.Graph, x *expr.Node) *expr.Node { return g.Unary(expr.FRound, 32, x) },
}

// goNames are names of Go's assembler of operations that Arm's has, too.
var goNames = map[string]string{"VADD": "add", "VSUB": "sub", "VAND": "and", "VORR": "orr", "VEOR": "eor", "VUMAX": "umax", "VUMIN": "umin", "VCMEQ": "cmeq"}

// vector executes instructions of Go's assembler on vectors.
func (e *exec) vector() bool {
	op := e.in.Op
	if op[0] != 'V' {
		return false
	}
	if name, ok := goNames[op]; ok {
		e.elementwise(same[name], wide(name, parse(e.args[2].Text)), e.args[1].Text, e.args[0].Text)
		return true
	}
	return e.multiply(op) || e.place(op) || e.bits(op) || e.zip(op) || e.across(op)
}

// wide takes words of 32 bits for operations of single bits, whatever the elements are called.
func wide(name string, r reg) reg {
	if name == "and" || name == "orr" || name == "eor" || name == "bic" {
		r.w = 32
	}
	return r
}

// elementwise sets a register to an operation of two others, or of one and an element of another.
func (e *exec) elementwise(f func(g *expr.Graph, x, y *expr.Node) *expr.Node, d reg, n, m string) {
	x := e.read(number(n))
	if m == "#0.0" || m == "#0" {
		e.write(d.n, d.w, func(i int) *expr.Node { return f(e.g, e.piece(x, d.w, i), e.g.Const(d.w, 0)) })
		return
	}
	r := parse(m)
	y := e.read(r.n)
	if number(n) == r.n && r.index < 0 && d.n == r.n && isZero(f, e.g) {
		x, y = e.zeros(), e.zeros()
	}
	e.write(d.n, d.w, func(i int) *expr.Node {
		j := i
		if r.index >= 0 {
			j = r.index
		}
		return f(e.g, e.piece(x, d.w, i), e.piece(y, d.w, j))
	})
}

// isZero reports whether an operation of a number with itself is 0, whatever it is.
func isZero(f func(g *expr.Graph, x, y *expr.Node) *expr.Node, g *expr.Graph) bool {
	x := g.Sym(32, "any")
	n := f(g, x, x)
	return n.IsConst() && n.Val == 0
}

func (e *exec) zeros() []*expr.Node {
	v := make([]*expr.Node, vecWords)
	for i := range v {
		v[i] = e.g.Const(32, 0)
	}
	return v
}

func (e *exec) multiply(op string) bool {
	if op != "VFMLA" && op != "VFMLS" {
		return false
	}
	d := parse(e.args[2].Text)
	x, y, acc := e.read(number(e.args[1].Text)), e.read(number(e.args[0].Text)), e.read(d.n)
	if d.w == 64 {
		e.write(d.n, 64, func(i int) *expr.Node {
			a := e.piece(x, 64, i)
			if op == "VFMLS" {
				a = e.g.FNeg(a)
			}
			return e.g.Fma64(a, e.piece(y, 64, i), e.piece(acc, 64, i))
		})
		return true
	}
	e.write(d.n, 32, func(i int) *expr.Node {
		a := x[i]
		if op == "VFMLS" {
			a = e.g.FNeg(a)
		}
		return e.g.FFma(a, y[i], acc[i])
	})
	return true
}

// place executes what moves whole elements.
func (e *exec) place(op string) bool {
	switch op {
	case "VDUP":
		d := parse(e.args[1].Text)
		var x *expr.Node
		if e.args[0].Text[0] == 'V' {
			r := parse(e.args[0].Text)
			x = e.piece(e.read(r.n), r.w, r.index)
		} else {
			x = e.g.Extract(e.gp(e.args[0]), 0, d.w)
		}
		e.write(d.n, d.w, func(int) *expr.Node { return x })
	case "VMOVI":
		e.write(parse(e.args[1].Text).n, 8, func(int) *expr.Node { return e.g.Const(8, uint64(e.args[0].Imm)) })
	case "VMOV":
		e.move()
	case "VEXT":
		m, n := e.read(number(e.args[1].Text)), e.read(number(e.args[2].Text))
		from := int(e.args[0].Imm)
		e.write(number(e.args[3].Text), 8, func(i int) *expr.Node {
			if i+from < 16 {
				return e.piece(n, 8, i+from)
			}
			return e.piece(m, 8, i+from-16)
		})
	case "VTBL":
		e.table()
	case "VREV64": // of words
		x := e.read(number(e.args[0].Text))
		e.write(number(e.args[1].Text), 32, func(i int) *expr.Node { return x[i^1] })
	default:
		return false
	}
	return true
}

// move is VMOV between vectors, elements and registers.
func (e *exec) move() {
	from, to := e.args[0].Text, e.args[1].Text
	if to[0] == 'R' {
		r := parse(from)
		e.set(e.args[1], e.g.Zext(e.piece(e.read(r.n), r.w, r.index), 64))
		return
	}
	d := parse(to)
	if d.index < 0 {
		copy(e.vec(d.n), e.read(number(from)))
		return
	}
	var x *expr.Node
	if from[0] == 'V' {
		r := parse(from)
		x = e.piece(e.read(r.n), r.w, r.index)
	} else {
		x = e.g.Extract(e.gp(e.args[0]), 0, d.w)
	}
	old := e.read(d.n)
	e.write(d.n, d.w, func(i int) *expr.Node {
		if i == d.index {
			return x
		}
		return e.piece(old, d.w, i)
	})
}

// table chooses bytes of some registers by indices; beyond them it is 0.
func (e *exec) table() {
	var bytes []*expr.Node
	for _, r := range strings.Split(strings.Trim(e.args[1].Text, "[]"), ", ") {
		v := e.read(number(r))
		for i := range 16 {
			bytes = append(bytes, e.piece(v, 8, i))
		}
	}
	at := e.read(number(e.args[0].Text))
	e.write(number(e.args[2].Text), 8, func(i int) *expr.Node {
		x := e.piece(at, 8, i)
		if x.IsConst() {
			if int(x.Val) >= len(bytes) {
				return e.g.Const(8, 0)
			}
			return bytes[x.Val]
		}
		return e.g.Select(e.g.Ult(x, e.g.Const(8, uint64(len(bytes)))), e.g.Mux(x, bytes), e.g.Const(8, 0))
	})
}

// bits executes shifts, and what takes bits from one or another register.
func (e *exec) bits(op string) bool {
	g := e.g
	switch op {
	case "VSHL", "VUSHR", "VSSHR":
		d := parse(e.args[2].Text)
		x, by := e.read(number(e.args[1].Text)), int(e.args[0].Imm)
		f := map[string]func(*expr.Node, int) *expr.Node{"VSHL": g.ShlBy, "VUSHR": g.ShrBy, "VSSHR": g.SarBy}[op]
		e.write(d.n, d.w, func(i int) *expr.Node { return f(e.piece(x, d.w, i), by) })
	case "VSLI", "VSRI":
		d := parse(e.args[2].Text)
		x, old, by := e.read(number(e.args[1].Text)), e.read(d.n), int(e.args[0].Imm)
		e.write(d.n, d.w, func(i int) *expr.Node {
			a, b := e.piece(x, d.w, i), e.piece(old, d.w, i)
			switch {
			case by == 0 || by >= d.w:
				machine.Failf("%v: no such shift", e.in)
			case op == "VSLI":
				return g.Concat(g.Extract(b, 0, by), g.Extract(a, 0, d.w-by))
			}
			return g.Concat(g.Extract(a, by, d.w-by), g.Extract(b, d.w-by, by))
		})
	case "VBIT", "VBIF", "VBSL":
		d := number(e.args[2].Text)
		m, n, old := e.read(number(e.args[0].Text)), e.read(number(e.args[1].Text)), e.read(d)
		e.write(d, 32, func(i int) *expr.Node {
			switch op {
			case "VBIT":
				return e.choose(m[i], n[i], old[i])
			case "VBIF":
				return e.choose(m[i], old[i], n[i])
			}
			return e.choose(old[i], n[i], m[i])
		})
	default:
		return false
	}
	return true
}

// choose takes bits of x where a mask is set, and of y elsewhere.
func (e *exec) choose(m, x, y *expr.Node) *expr.Node {
	return e.g.Or(e.g.And(m, x), e.g.And(e.g.Not(m), y))
}

// zip executes what interleaves elements: ZIP, UZP and TRN.
func (e *exec) zip(op string) bool {
	kind, second := strings.TrimRight(op, "12"), strings.HasSuffix(op, "2")
	if kind != "VZIP" && kind != "VUZP" && kind != "VTRN" {
		return false
	}
	d := parse(e.args[2].Text)
	m, n := e.read(number(e.args[0].Text)), e.read(number(e.args[1].Text))
	count := 128 / d.w
	part := 0
	if second {
		part = 1
	}
	all := func(i int) *expr.Node { // of n and m one after the other
		if i < count {
			return e.piece(n, d.w, i)
		}
		return e.piece(m, d.w, i-count)
	}
	e.write(d.n, d.w, func(i int) *expr.Node {
		switch kind {
		case "VZIP":
			return all(part*count/2 + i/2 + i%2*count)
		case "VUZP":
			return all(2*i + part)
		}
		return all(i&^1 + part + i%2*count)
	})
	return true
}

// across executes sums of neighbours, or of all elements.
func (e *exec) across(op string) bool {
	switch op {
	case "VADDP":
		d := parse(e.args[2].Text)
		m, n := e.read(number(e.args[0].Text)), e.read(number(e.args[1].Text))
		count := 128 / d.w
		at := func(i int) *expr.Node {
			if i < count {
				return e.piece(n, d.w, i)
			}
			return e.piece(m, d.w, i-count)
		}
		e.write(d.n, d.w, func(i int) *expr.Node { return e.g.Add(at(2*i), at(2*i+1)) })
	case "VADDV":
		v := e.read(number(e.args[0].Text))
		e.lower(number(e.args[1].Text), []*expr.Node{e.g.Add(v...)})
	default:
		return false
	}
	return true
}
