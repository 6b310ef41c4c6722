package riscv64

import (
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// memory executes loads and stores of vectors.
func (e *exec) memory() bool {
	g := e.g
	switch e.in.Op {
	case "VLE32V":
		at := e.address(e.args[0])
		e.write(e.args[1], func(i int) *expr.Node { return e.Load(g.Plus(at, int64(4*i)), 4) })
	case "VLE16V", "VLE8V":
		w, at := map[string]int{"VLE16V": 16, "VLE8V": 8}[e.in.Op], e.address(e.args[0])
		e.loadNarrow(w, e.args[1], func(i int) *expr.Node { return g.Plus(at, int64(i*w/8)) })
	case "VLSE32V":
		at, step := e.address(e.args[0]), e.gp(e.args[1])
		e.write(e.args[2], func(i int) *expr.Node { return e.Load(g.Add(at, g.Mul(step, g.Int(int64(i)))), 4) })
	case "VLSE16V", "VLSE8V":
		at, step := e.address(e.args[0]), e.gp(e.args[1])
		e.loadNarrow(map[string]int{"VLSE16V": 16, "VLSE8V": 8}[e.in.Op], e.args[2], func(i int) *expr.Node { return g.Add(at, g.Mul(step, g.Int(int64(i)))) })
	case "VLUXEI32V":
		at, v := e.address(e.args[0]), e.read(e.args[1])
		e.write(e.args[2], func(i int) *expr.Node { return e.lookUp(at, v[i]) })
	case "VSE32V":
		v, at := e.read(e.args[0]), e.address(e.args[1])
		for i := range e.vl() {
			e.Store(g.Plus(at, int64(4*i)), v[i])
		}
	case "VSE16V", "VSE8V":
		w := map[string]int{"VSE16V": 16, "VSE8V": 8}[e.in.Op]
		at := e.address(e.args[1])
		for i := range e.vl() {
			e.Store(g.Plus(at, int64(i*w/8)), e.narrow(e.args[0], w, i))
		}
	case "VSSE32V":
		v, step, at := e.read(e.args[0]), e.gp(e.args[1]), e.address(e.args[2])
		for i := range e.vl() {
			e.Store(g.Add(at, g.Mul(step, g.Int(int64(i)))), v[i])
		}
	default:
		return false
	}
	return true
}

// loadNarrow fills the lower part of a group with elements of 8 or 16 bits at addresses.
func (e *exec) loadNarrow(w int, to machine.Operand, at func(i int) *expr.Node) {
	n, first := e.vl(), firstVec+e.number(to, 'V')*e.isa.words()
	per := 32 / w
	for i := 0; i < n; i += per {
		var parts []*expr.Node
		for k := range per {
			if i+k < n {
				parts = append(parts, e.Load(at(i+k), w/8))
			} else {
				parts = append(parts, e.g.Extract(e.Undefined(to.Text, i), k*w, w))
			}
		}
		e.W[first+i/per] = e.g.Concat(parts...)
	}
}

// lookUp loads a word of a table of constants, at a distance that may depend on data: of as many
// words as the distance can tell apart.
func (e *exec) lookUp(at, offset *expr.Node) *expr.Node {
	if offset.IsConst() {
		return e.Load(e.g.Add(at, e.g.Zext(offset, 64)), 4)
	}
	_, hi := offset.Bounds()
	if hi < 0 || hi > 1<<10 {
		machine.Failf("%v: looks up beyond a table: %v", e.in, offset)
	}
	n := 1
	for 4*n <= int(hi) {
		n *= 2
	}
	words := e.LoadWords(at, 4, n)
	return e.g.Mux(e.g.ShrBy(offset, 2), words)
}

// withScalar are operations of an element and a scalar, or of two elements, named without VV, VX,
// VI or VF: x is the element of the first source in RISC-V's order, y the second source.
var withScalar = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"VADD":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Add(x, y) },
	"VSUB":  (*expr.Graph).Sub,
	"VRSUB": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Sub(y, x) },
	"VMUL":  (*expr.Graph).Mul,
	"VMULHU": func(g *expr.Graph, x, y *expr.Node) *expr.Node {
		return g.Extract(g.Mul(g.Zext(x, 64), g.Zext(y, 64)), 32, 32)
	},
	"VAND":    (*expr.Graph).And,
	"VOR":     (*expr.Graph).Or,
	"VXOR":    (*expr.Graph).Xor,
	"VSLL":    func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Shift(expr.Shl, x, lowBits(g, y)) },
	"VSRL":    func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Shift(expr.Shr, x, lowBits(g, y)) },
	"VSRA":    func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Shift(expr.Sar, x, lowBits(g, y)) },
	"VMINU":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Ult(x, y), x, y) },
	"VMAXU":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Ult(x, y), y, x) },
	"VMIN":    func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Lt(x, y), x, y) },
	"VMAX":    func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Select(g.Lt(x, y), y, x) },
	"VFADD":   (*expr.Graph).FAdd,
	"VFSUB":   (*expr.Graph).FSub,
	"VFRSUB":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FSub(y, x) },
	"VFMUL":   (*expr.Graph).FMul,
	"VFDIV":   (*expr.Graph).FDiv,
	"VFRDIV":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FDiv(y, x) },
	"VFMIN":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return number(g, g.FMin, x, y) },
	"VFMAX":   func(g *expr.Graph, x, y *expr.Node) *expr.Node { return number(g, g.FMax, x, y) },
	"VFSGNJ":  (*expr.Graph).FCopySign,
	"VFSGNJN": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FCopySign(x, g.FNeg(y)) },
}

func lowBits(g *expr.Graph, y *expr.Node) *expr.Node {
	return g.And(y, g.Const(y.Width, uint64(y.Width-1)))
}

// number is the minimum or maximum of numbers: of a number and a NaN the number.
func number(g *expr.Graph, f func(x, y *expr.Node) *expr.Node, x, y *expr.Node) *expr.Node {
	return g.Select(g.IsNaN(x), g.Select(g.IsNaN(y), g.Const(32, 0x7fc00000), y), g.Select(g.IsNaN(y), x, f(x, y)))
}

// comparisons set bits of a mask, in the same way.
var comparisons = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"VMSEQ":  (*expr.Graph).Eq,
	"VMSNE":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Not(g.Eq(x, y)) },
	"VMSLT":  (*expr.Graph).Lt,
	"VMSLTU": (*expr.Graph).Ult,
	"VMSLE":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Not(g.Lt(y, x)) },
	"VMSLEU": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Not(g.Ult(y, x)) },
	"VMSGT":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Lt(y, x) },
	"VMSGTU": func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Ult(y, x) },
	"VMFEQ":  (*expr.Graph).FEq,
	"VMFNE":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.Not(g.FEq(x, y)) },
	"VMFLT":  (*expr.Graph).FLt,
	"VMFLE":  (*expr.Graph).FLe,
	"VMFGT":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FLt(y, x) },
	"VMFGE":  func(g *expr.Graph, x, y *expr.Node) *expr.Node { return g.FLe(y, x) },
}

// second returns the second source of an operation, by the end of its name, for each element.
func (e *exec) second(kind string, o machine.Operand) func(i int) *expr.Node {
	switch kind {
	case "VV":
		v := e.read(o)
		return func(i int) *expr.Node { return v[i] }
	case "VX", "VI":
		x := e.g.Extract(e.gp(o), 0, int(e.W[width].Val))
		return func(int) *expr.Node { return x }
	}
	x := e.fp(o)
	return func(int) *expr.Node { return x }
}

// vector executes instructions on elements.
func (e *exec) vector() bool {
	op := e.in.Op
	if len(op) < 4 || op[0] != 'V' {
		return false
	}
	name, kind := op[:len(op)-2], op[len(op)-2:]
	if kind == "VV" || kind == "VX" || kind == "VI" || kind == "VF" {
		if f := withScalar[name]; f != nil {
			y, x := e.second(kind, e.args[0]), e.read(e.args[1])
			e.write(e.args[2], func(i int) *expr.Node { return f(e.g, x[i], y(i)) })
			return true
		}
		if f := comparisons[name]; f != nil {
			y, x := e.second(kind, e.args[0]), e.read(e.args[1])
			e.bits(e.args[2], func(i int) *expr.Node { return f(e.g, x[i], y(i)) })
			return true
		}
		if name == "VMACC" {
			y, x, sum := e.second(kind, e.args[1]), e.read(e.args[0]), e.read(e.args[2])
			e.write(e.args[2], func(i int) *expr.Node { return e.g.Add(sum[i], e.g.Mul(x[i], y(i))) })
			return true
		}
		if e.fused(name, kind) {
			return true
		}
	}
	return e.reduce() || e.unary() || e.moveVector() || e.permute() || e.narrowing()
}

// reductions combine all elements and the first element of another register.
var reductions = map[string]func(g *expr.Graph, x, y *expr.Node) *expr.Node{
	"VREDMAXUVS": withScalar["VMAXU"], "VREDMAXVS": (*expr.Graph).SMax, "VREDSUMVS": withScalar["VADD"],
}

// reduce executes what makes a number of all elements, and moves the first one.
func (e *exec) reduce() bool {
	g := e.g
	first := func(i int) *expr.Node { return e.registers(e.args[i], 1)[0] }
	set := func(i int, x *expr.Node) {
		v := e.registers(e.args[i], 1)
		clear(v)
		v[0] = x
	}
	if f := reductions[e.in.Op]; f != nil {
		y := first(0)
		for _, x := range e.read(e.args[1])[:e.vl()] {
			y = f(g, y, x)
		}
		set(2, y)
		return true
	}
	switch e.in.Op {
	case "VMVXS":
		e.set(e.args[1], g.Sext(first(0), 64))
	case "VMVSX":
		set(1, g.Extract(e.gp(e.args[0]), 0, 32))
	case "VFIRSTM":
		at := g.Int(-1)
		for i := e.vl() - 1; i >= 0; i-- {
			at = g.Select(e.mask(i), g.Int(int64(i)), at)
		}
		e.set(e.args[1], at)
	default:
		return false
	}
	return true
}

// narrowing executes what halves the bits of elements: a shift to the right, or none.
func (e *exec) narrowing() bool {
	by, from, to := 0, e.args[0], e.args[1]
	switch e.in.Op {
	case "VNSRLWI":
		by, from, to = int(e.args[0].Imm), e.args[1], e.args[2]
	case "VNCVTXXW":
	default:
		return false
	}
	w, n := int(e.Get(width, "the vector type").Val), e.vl()
	if w > 16 || by > w {
		machine.Failf("%v: to elements of %d bits", e.in, w)
	}
	if e.W[fractional].Val == 0 {
		e.registers(from, 2*int(e.W[group].Val))
	}
	parts := make([]*expr.Node, n)
	for i := range parts {
		parts[i] = e.g.Extract(e.narrow(from, 2*w, i), by, w)
	}
	e.pack(to, w, parts)
	return true
}

// fused executes fused multiply-adds: VFMACC adds to the destination, VFMADD multiplies it.
func (e *exec) fused(name, kind string) bool {
	g := e.g
	negProduct, negSum, multiplies := false, false, false
	switch name {
	case "VFMACC":
	case "VFMSAC":
		negSum = true
	case "VFNMSAC":
		negProduct = true
	case "VFNMACC":
		negProduct, negSum = true, true
	case "VFMADD":
		multiplies = true
	case "VFMSUB":
		multiplies, negSum = true, true
	case "VFNMSUB":
		multiplies, negProduct = true, true
	default:
		return false
	}
	if kind == "VX" {
		return false
	}
	x := e.read(e.args[0]) // the vector of the manual's second source
	y := e.second(kind, e.args[1])
	old := e.read(e.args[2])
	e.write(e.args[2], func(i int) *expr.Node {
		a, b, c := x[i], y(i), old[i]
		if multiplies {
			a, c = c, a
		}
		if negProduct {
			a = g.FNeg(a)
		}
		if negSum {
			c = g.FNeg(c)
		}
		return g.FFma(a, b, c)
	})
	return true
}

// unary executes operations of one element.
func (e *exec) unary() bool {
	g := e.g
	apply := func(f func(x *expr.Node) *expr.Node) bool {
		v := e.read(e.args[0])
		e.write(e.args[1], func(i int) *expr.Node { return f(v[i]) })
		return true
	}
	extend := func(part int, f func(x *expr.Node, w int) *expr.Node) bool {
		w, v := int(e.W[width].Val), make([]*expr.Node, e.vl())
		for i := range v {
			v[i] = f(e.narrow(e.args[0], w/part, i), w)
		}
		e.write(e.args[1], func(i int) *expr.Node { return v[i] })
		return true
	}
	switch e.in.Op {
	case "VFABSV":
		return apply(g.FAbs)
	case "VFNEGV":
		return apply(g.FNeg)
	case "VFSQRTV":
		return apply(g.FSqrt)
	case "VFCVTFXV":
		return apply(func(x *expr.Node) *expr.Node { return g.Unary(expr.SToF, 32, x) })
	case "VFCVTFXUV":
		return apply(func(x *expr.Node) *expr.Node { return g.Unary(expr.UToF, 32, x) })
	case "VFCVTXFV":
		return apply(func(x *expr.Node) *expr.Node { // a NaN is the largest number
			return g.Select(g.IsNaN(x), g.Const(32, 0x7fffffff), g.Unary(expr.FToSat, 32, x))
		})
	case "VSEXTVF2":
		return extend(2, g.Sext)
	case "VSEXTVF4":
		return extend(4, g.Sext)
	case "VZEXTVF2":
		return extend(2, g.Zext)
	case "VZEXTVF4":
		return extend(4, g.Zext)
	}
	return false
}

// moveVector executes what sets all elements, or merges by the mask in V0.
func (e *exec) moveVector() bool {
	g := e.g
	splat := func(x *expr.Node) bool {
		e.write(e.args[1], func(int) *expr.Node { return x })
		return true
	}
	switch e.in.Op {
	case "VMVVI", "VMVVX":
		return splat(g.Extract(e.gp(e.args[0]), 0, 32))
	case "VFMVVF":
		return splat(e.fp(e.args[0]))
	case "VMVVV":
		v := e.read(e.args[0])
		e.write(e.args[1], func(i int) *expr.Node { return v[i] })
	case "VFMVFS":
		e.W[firstFloat+e.number(e.args[1], 'F')] = e.read(e.args[0])[0]
	case "VIDV":
		e.write(e.args[0], func(i int) *expr.Node { return g.Const(32, uint64(i)) })
	case "VMERGEVVM", "VMERGEVXM", "VMERGEVIM", "VFMERGEVFM":
		kind := map[string]string{"VMERGEVVM": "VV", "VMERGEVXM": "VX", "VMERGEVIM": "VI", "VFMERGEVFM": "VF"}[e.in.Op]
		if e.args[2].Text != "V0" {
			machine.Failf("%v: the mask must be V0", e.in)
		}
		y, x := e.second(kind, e.args[0]), e.read(e.args[1])
		e.write(e.args[3], func(i int) *expr.Node { return g.Select(e.mask(i), y(i), x[i]) })
	default:
		return false
	}
	return true
}

// permute executes what moves elements to other places.
func (e *exec) permute() bool {
	g := e.g
	switch e.in.Op {
	case "VRGATHERVV":
		at, v := e.read(e.args[0]), e.vec(e.args[1])
		for i, x := range v { // all of the group may be looked up, beyond the length, too
			if x == nil {
				v[i] = e.Undefined(e.args[1].Text, i)
			}
		}
		v = append([]*expr.Node{}, v...)
		e.write(e.args[2], func(i int) *expr.Node {
			x := at[i]
			if x.IsConst() {
				if x.Val >= uint64(len(v)) {
					return g.Const(32, 0)
				}
				return v[x.Val]
			}
			return g.Select(g.Ult(x, g.Const(32, uint64(len(v)))), g.Mux(x, v), g.Const(32, 0))
		})
	case "VSLIDEDOWNVX", "VSLIDEDOWNVI":
		by := e.gp(e.args[0])
		if !by.IsConst() {
			machine.Failf("%v: a distance that depends on data", e.in)
		}
		v := append([]*expr.Node{}, e.vec(e.args[1])...)
		e.write(e.args[2], func(i int) *expr.Node {
			if by.Val >= uint64(len(v)-i) {
				return g.Const(32, 0)
			}
			from := uint64(i) + by.Val
			if v[from] == nil {
				return e.Undefined(e.args[1].Text, int(from))
			}
			return v[from]
		})
	default:
		return false
	}
	return true
}
