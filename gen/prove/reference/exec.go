package reference

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/attn-go/attn/gen/prove/expr"
)

// A frame is a call of a function.
type frame struct {
	m     *Machine
	fn    *ssa.Function
	code  *code
	regs  []Value
	fixed []Value
}

const deepest = 200 // calls in one another

// call executes a function.
func (m *Machine) call(fn *ssa.Function, args, free []Value) Value {
	c := m.source.codeOf(fn)
	if f, ok := intrinsics[c.name]; ok {
		return f(m, args)
	}
	return m.body(fn, c, args, free)
}

// body executes a function from its source.
func (m *Machine) body(fn *ssa.Function, c *code, args, free []Value) Value {
	if fn.Name() == "init" && !strings.HasPrefix(fn.Pkg.Pkg.Path(), module) {
		return nil
	}
	if fn.Blocks == nil {
		fault("no body of %s", c.name)
	}
	if m.depth++; m.depth > deepest {
		fault("calls too deep")
	}
	f := &frame{m: m, fn: fn, code: c, regs: make([]Value, c.registers), fixed: m.fixedOf(c)}
	copy(f.regs, args)
	copy(f.regs[len(fn.Params):], free)
	end := f.run(fn.Blocks[0], nil, nil)
	m.depth--
	if end.dead {
		fault("%s panics", c.name)
	}
	return end.result
}

// An end is how the execution of blocks ended: with a result, at a block that was named, or in a
// panic.
type end struct {
	dead   bool
	result Value
	phis   []Value // of the block that was named
}

// run executes blocks, from one on that is entered from pred, up to the end of the function or to
// stop.
func (f *frame) run(b, pred, stop *ssa.BasicBlock) end {
	for {
		if b == stop {
			return end{phis: f.phis(b, pred)}
		}
		f.enter(b, f.phis(b, pred))
		last, next, e := f.block(b, stop)
		if next == nil {
			return e
		}
		pred, b = last, next
	}
}

// phis returns the values of the phis of a block that is entered from pred.
func (f *frame) phis(b, pred *ssa.BasicBlock) []Value {
	var values []Value
	at := -1
	for i, p := range b.Preds {
		if p == pred {
			at = i
		}
	}
	for _, x := range f.code.blocks[b.Index] {
		if _, ok := x.in.(*ssa.Phi); !ok {
			break
		}
		values = append(values, f.get(x.ops[at]))
	}
	return values
}

func (f *frame) enter(b *ssa.BasicBlock, phis []Value) {
	for i, v := range phis {
		f.regs[f.code.blocks[b.Index][i].to] = v
	}
}

// block executes a block whose phis are set, and those that follow up to where control flow is
// concrete again. It returns the last one and the next, or nil at an end.
func (f *frame) block(b, stop *ssa.BasicBlock) (last, next *ssa.BasicBlock, e end) {
	for {
		again := false
		for i := range f.code.blocks[b.Index] {
			x := &f.code.blocks[b.Index][i]
			switch x.in.(type) {
			case *ssa.Phi:
			case *ssa.Jump:
				return b, b.Succs[0], end{}
			case *ssa.Return:
				return b, nil, end{result: f.results(x)}
			case *ssa.Panic:
				return b, nil, end{dead: true}
			case *ssa.If:
				c := f.node(x.ops[0])
				if c.IsConst() {
					return b, b.Succs[1-c.Val], end{}
				}
				join, e := f.fork(b, c)
				if join == nil || e.dead {
					return b, nil, e
				}
				if join == stop {
					return b, nil, e
				}
				f.enter(join, e.phis)
				b, again = join, true
			default:
				f.step(x)
			}
			if again {
				break
			}
		}
		if !again {
			fault("a block without an end")
		}
	}
}

func (f *frame) results(x *inst) Value {
	switch len(x.ops) {
	case 0:
		return nil
	case 1:
		return f.get(x.ops[0])
	}
	return f.list(x.ops)
}

// list returns the values of operands.
func (f *frame) list(ops []operand) list {
	l := make(list, len(ops))
	for i, o := range ops {
		l[i] = f.get(o)
	}
	return l
}

// get returns the value of an operand.
func (f *frame) get(o operand) Value {
	if o < 0 {
		return f.fixed[^o]
	}
	return f.regs[o]
}

func (f *frame) node(o operand) *expr.Node {
	n, ok := f.get(o).(*expr.Node)
	if !ok {
		fault("%s: %v is no number", f.fn, f.get(o))
	}
	return n
}

func (m *Machine) global(g *ssa.Global) *Cell {
	c, ok := m.globals[g]
	if !ok {
		c = cell(m.zero(g.Type().(*types.Pointer).Elem()))
		m.globals[g] = c
	}
	return c
}

func (m *Machine) constant(c *ssa.Const) Value {
	if c.Value == nil {
		return m.zero(c.Type())
	}
	t := c.Type()
	switch {
	case c.Value.Kind() == constant.Bool:
		return m.G.Bool(constant.BoolVal(c.Value))
	case c.Value.Kind() == constant.String:
		return constant.StringVal(c.Value)
	case isFloat(t) && widthOf(t) == 32:
		x, _ := constant.Float32Val(constant.ToFloat(c.Value))
		return m.G.Float(x)
	case isFloat(t):
		x, _ := constant.Float64Val(constant.ToFloat(c.Value))
		return m.G.Const(64, math.Float64bits(x))
	case isUnsigned(t):
		return m.G.Const(widthOf(t), c.Uint64())
	}
	return m.G.Const(widthOf(t), uint64(c.Int64()))
}

// step executes an instruction that does not end a block.
func (f *frame) step(x *inst) {
	m, ops := f.m, x.ops
	var v Value
	switch in := x.in.(type) {
	case *ssa.DebugRef:
		return
	case *ssa.Store:
		f.store(f.get(ops[0]), f.get(ops[1]))
		return
	case *ssa.Alloc:
		v = Pointer{to: cell(m.zero(in.Type().(*types.Pointer).Elem()))}
	case *ssa.BinOp:
		v = m.binary(in.Op, in.X.Type(), in.Y.Type(), f.get(ops[0]), f.get(ops[1]))
	case *ssa.UnOp:
		v = f.unary(in, ops[0])
	case *ssa.Call:
		v = f.callOf(&in.Call, ops)
	case *ssa.Convert:
		v = m.convert(f.node(ops[0]), in.X.Type(), in.Type())
	case *ssa.ChangeType:
		v = f.get(ops[0])
	case *ssa.Extract:
		v = f.get(ops[0]).(list)[in.Index]
	case *ssa.Field:
		v = f.get(ops[0]).(list)[in.Field]
	case *ssa.FieldAddr:
		v = f.field(f.get(ops[0]).(Pointer), in.Field)
	case *ssa.Index:
		v = f.index(f.get(ops[0]).(list), f.node(ops[1]))
	case *ssa.IndexAddr:
		v = f.indexAddr(f.get(ops[0]), f.node(ops[1]))
	case *ssa.Slice:
		v = f.slice(ops)
	case *ssa.SliceToArrayPointer:
		n := in.Type().(*types.Pointer).Elem().Underlying().(*types.Array).Len()
		s := f.get(ops[0]).(Slice)
		if len(s) < int(n) {
			fault("%s: a slice of %d as an array of %d", f.fn, len(s), n)
		}
		v = Pointer{to: &Cell{Kids: s[:n:n]}}
	case *ssa.MakeClosure:
		v = &Closure{fn: in.Fn.(*ssa.Function), free: f.list(ops[1:])}
	case *ssa.MakeSlice:
		s := make(Slice, concrete(f.get(ops[0])), concrete(f.get(ops[1])))
		for i := range s {
			s[i] = cell(m.zero(in.Type().Underlying().(*types.Slice).Elem()))
		}
		v = s
	default:
		fault("%s: no such instruction: %T", f.fn, in)
	}
	f.regs[x.to] = v
}

func (f *frame) store(to Value, v Value) {
	p, ok := to.(Pointer)
	if !ok || p.to == nil {
		fault("%s: a store to %T", f.fn, to)
	}
	f.m.store(p.to, v)
}

func (f *frame) field(p Pointer, i int) Value {
	if p.index == nil {
		if p.to == nil {
			fault("%s: a field of nil", f.fn)
		}
		return Pointer{to: p.to.Kids[i]}
	}
	table := make([]*Cell, len(p.table))
	for j, c := range p.table {
		table[j] = c.Kids[i]
	}
	return Pointer{table: table, index: p.index}
}

func (f *frame) index(l list, i *expr.Node) Value {
	if i.IsConst() {
		return l[i.Signed()]
	}
	return f.m.mux(i, l)
}

func (f *frame) indexAddr(x Value, i *expr.Node) Value {
	var cells []*Cell
	switch x := x.(type) {
	case Slice:
		cells = x
	case Pointer:
		if x.to == nil {
			fault("%s: an index into a table", f.fn)
		}
		cells = x.to.Kids
	}
	if !i.IsConst() {
		return Pointer{table: cells, index: i}
	}
	if n := i.Signed(); n < 0 || n >= int64(len(cells)) {
		fault("%s: index %d of %d", f.fn, n, len(cells))
	}
	return Pointer{to: cells[i.Signed()]}
}

func (f *frame) slice(ops []operand) Value {
	var s Slice
	switch x := f.get(ops[0]).(type) {
	case Slice:
		s = x
	case Pointer:
		s = f.kids(x)
	default:
		fault("%s: a slice of %T", f.fn, x)
	}
	at := func(o operand, otherwise int) int {
		if o == none {
			return otherwise
		}
		return concrete(f.get(o))
	}
	lo, hi, most := at(ops[1], 0), at(ops[2], len(s)), at(ops[3], cap(s))
	if lo < 0 || lo > hi || hi > most || most > cap(s) {
		fault("%s: slice bounds %d:%d:%d of %d", f.fn, lo, hi, most, len(s))
	}
	return s[lo:hi:most]
}

// kids returns the elements of an array: of one that an index chooses, copies, as tables are only
// read.
func (f *frame) kids(p Pointer) Slice {
	if p.index == nil {
		return p.to.Kids
	}
	values := make([]Value, len(p.table))
	for i, c := range p.table {
		values[i] = load(c)
	}
	return cell(f.m.mux(p.index, values)).Kids
}

// callOf executes a call of its first operand with the others.
func (f *frame) callOf(c *ssa.CallCommon, ops []operand) Value {
	args := f.list(ops[1:])
	if b, ok := c.Value.(*ssa.Builtin); ok {
		return f.m.builtin(b.Name(), c, args)
	}
	if c.IsInvoke() {
		fault("%s: a call of a method of an interface", f.fn)
	}
	fn, ok := f.get(ops[0]).(*Closure)
	if !ok {
		fault("%s: a call of nil", f.fn)
	}
	return f.m.call(fn.fn, args, fn.free)
}

func (f *frame) unary(in *ssa.UnOp, o operand) Value {
	g := f.m.G
	switch in.Op {
	case token.MUL:
		p, ok := f.get(o).(Pointer)
		if !ok {
			fault("%s: a load from nil", f.fn)
		}
		if p.index == nil {
			return load(p.to)
		}
		values := make([]Value, len(p.table))
		for i, c := range p.table {
			values[i] = load(c)
		}
		return f.m.mux(p.index, values)
	case token.NOT:
		return g.Not(f.node(o))
	case token.XOR:
		return g.Not(f.node(o))
	case token.SUB:
		if isFloat(in.X.Type()) {
			return g.FNeg(f.node(o))
		}
		return g.Neg(f.node(o))
	}
	fault("%s: no such operator: %v", f.fn, in.Op)
	return nil
}
