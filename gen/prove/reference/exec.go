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
	m    *Machine
	fn   *ssa.Function
	code *code
	regs []Value // by the numbers that code gives them
	free []Value
}

const deepest = 200 // calls in one another

// call executes a function.
func (m *Machine) call(fn *ssa.Function, args, free []Value) Value {
	name := fn.String()
	if origin := fn.Origin(); origin != nil {
		name = origin.String()
	}
	if f, ok := intrinsics[name]; ok {
		return f(m, args)
	}
	return m.body(fn, name, args, free)
}

// body executes a function from its source.
func (m *Machine) body(fn *ssa.Function, name string, args, free []Value) Value {
	if fn.Name() == "init" && !strings.HasPrefix(fn.Pkg.Pkg.Path(), module) {
		return nil
	}
	if fn.Blocks == nil {
		fault("no body of %s", name)
	}
	if m.depth++; m.depth > deepest {
		fault("calls too deep")
	}
	c := m.source.codeOf(fn)
	f := &frame{m: m, fn: fn, code: c, regs: make([]Value, len(c.number)), free: free}
	for i, p := range fn.Params {
		f.set(p, args[i])
	}
	end := f.run(fn.Blocks[0], nil, nil)
	m.depth--
	if end.dead {
		fault("%s panics", name)
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
	for _, in := range b.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		values = append(values, f.get(phi.Edges[at]))
	}
	return values
}

func (f *frame) enter(b *ssa.BasicBlock, phis []Value) {
	for i, v := range phis {
		f.set(b.Instrs[i].(*ssa.Phi), v)
	}
}

// block executes a block whose phis are set, and those that follow up to where control flow is
// concrete again. It returns the last one and the next, or nil at an end.
func (f *frame) block(b, stop *ssa.BasicBlock) (last, next *ssa.BasicBlock, e end) {
	for {
		again := false
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.Phi:
			case *ssa.Jump:
				return b, b.Succs[0], end{}
			case *ssa.Return:
				return b, nil, end{result: f.results(in)}
			case *ssa.Panic:
				return b, nil, end{dead: true}
			case *ssa.If:
				c := f.node(in.Cond)
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
				f.step(in)
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

func (f *frame) results(in *ssa.Return) Value {
	switch len(in.Results) {
	case 0:
		return nil
	case 1:
		return f.get(in.Results[0])
	}
	l := make(list, len(in.Results))
	for i, r := range in.Results {
		l[i] = f.get(r)
	}
	return l
}

// get returns the value of an operand.
func (f *frame) get(v ssa.Value) Value {
	switch v := v.(type) {
	case *ssa.Const:
		return f.m.constant(v)
	case *ssa.Function:
		return &Closure{fn: v}
	case *ssa.Global:
		return Pointer{to: f.m.global(v)}
	case *ssa.FreeVar:
		for i, free := range f.fn.FreeVars {
			if free == v {
				return f.free[i]
			}
		}
	case *ssa.Builtin:
		return v
	}
	return f.regs[f.code.number[v]]
}

func (f *frame) set(to ssa.Value, v Value) { f.regs[f.code.number[to]] = v }

func (f *frame) node(v ssa.Value) *expr.Node {
	n, ok := f.get(v).(*expr.Node)
	if !ok {
		fault("%s: %v is no number", f.fn, v)
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
func (f *frame) step(in ssa.Instruction) {
	m := f.m
	switch in := in.(type) {
	case *ssa.DebugRef:
	case *ssa.Store:
		f.store(f.get(in.Addr), f.get(in.Val))
	case *ssa.Alloc:
		f.set(in, Pointer{to: cell(m.zero(in.Type().(*types.Pointer).Elem()))})
	case *ssa.BinOp:
		f.set(in, m.binary(in.Op, in.X.Type(), in.Y.Type(), f.get(in.X), f.get(in.Y)))
	case *ssa.UnOp:
		f.set(in, f.unary(in))
	case *ssa.Call:
		f.set(in, f.callOf(&in.Call))
	case *ssa.Convert:
		f.set(in, m.convert(f.node(in.X), in.X.Type(), in.Type()))
	case *ssa.ChangeType:
		f.set(in, f.get(in.X))
	case *ssa.Extract:
		f.set(in, f.get(in.Tuple).(list)[in.Index])
	case *ssa.Field:
		f.set(in, f.get(in.X).(list)[in.Field])
	case *ssa.FieldAddr:
		f.set(in, f.field(f.get(in.X).(Pointer), in.Field))
	case *ssa.Index:
		f.set(in, f.index(f.get(in.X).(list), f.node(in.Index)))
	case *ssa.IndexAddr:
		f.set(in, f.indexAddr(f.get(in.X), f.node(in.Index)))
	case *ssa.Slice:
		f.set(in, f.slice(in))
	case *ssa.SliceToArrayPointer:
		n := in.Type().(*types.Pointer).Elem().Underlying().(*types.Array).Len()
		s := f.get(in.X).(Slice)
		if len(s) < int(n) {
			fault("%s: a slice of %d as an array of %d", f.fn, len(s), n)
		}
		f.set(in, Pointer{to: &Cell{Kids: s[:n:n]}})
	case *ssa.MakeClosure:
		c := &Closure{fn: in.Fn.(*ssa.Function)}
		for _, b := range in.Bindings {
			c.free = append(c.free, f.get(b))
		}
		f.set(in, c)
	case *ssa.MakeSlice:
		s := make(Slice, concrete(f.get(in.Len)), concrete(f.get(in.Cap)))
		for i := range s {
			s[i] = cell(m.zero(in.Type().Underlying().(*types.Slice).Elem()))
		}
		f.set(in, s)
	default:
		fault("%s: no such instruction: %T", f.fn, in)
	}
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

func (f *frame) slice(in *ssa.Slice) Value {
	var s Slice
	switch x := f.get(in.X).(type) {
	case Slice:
		s = x
	case Pointer:
		s = f.kids(x)
	default:
		fault("%s: a slice of %T", f.fn, x)
	}
	at := func(v ssa.Value, none int) int {
		if v == nil {
			return none
		}
		return concrete(f.get(v))
	}
	lo, hi, most := at(in.Low, 0), at(in.High, len(s)), at(in.Max, cap(s))
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

// callOf executes a call.
func (f *frame) callOf(c *ssa.CallCommon) Value {
	args := make([]Value, len(c.Args))
	for i, a := range c.Args {
		args[i] = f.get(a)
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		return f.m.builtin(b.Name(), c, args)
	}
	if c.IsInvoke() {
		fault("%s: a call of a method of an interface", f.fn)
	}
	fn, ok := f.get(c.Value).(*Closure)
	if !ok {
		fault("%s: a call of nil", f.fn)
	}
	return f.m.call(fn.fn, args, fn.free)
}

func (f *frame) unary(in *ssa.UnOp) Value {
	g := f.m.G
	switch in.Op {
	case token.MUL:
		p, ok := f.get(in.X).(Pointer)
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
		return g.Not(f.node(in.X))
	case token.XOR:
		return g.Not(f.node(in.X))
	case token.SUB:
		if isFloat(in.X.Type()) {
			return g.FNeg(f.node(in.X))
		}
		return g.Neg(f.node(in.X))
	}
	fault("%s: no such operator: %v", f.fn, in.Op)
	return nil
}
