package neon

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The back end of package lane. Pointers go on, as addresses have no index beside a distance. What
// is left of a vector at the end is done one by one. Constants that do not stay in registers are
// loaded before each use.

// A laner emits one kernel.
type laner struct {
	*neon
	frame    *lane.Frame[a64.Vec]
	base     a64.GP                  // of the constants
	pointers map[*lane.Stream]a64.GP // to the current lanes, or to the row
	rows     map[*lane.Stream]a64.GP // to the row
	strides  map[string]a64.GP
	tables   map[*lane.Value][]a64.Vec
	across   map[*lane.Stream][]a64.GP // to rows that lie in lanes
	scratch  []a64.Vec                 // of the current instruction
	one      bool                      // loads and stores are of a single lane

	registers int // that a program may take
}

// constants are the constants of all programs, each for a vector, and the tables.
type constants struct {
	global a64.Global
	places map[string]int // in bytes
}

// place is where a constant or a table lies.
func (g *neon) place(v *lane.Value) int {
	name := fmt.Sprint(v.Name, v.Bits)
	at, ok := g.constants.places[name]
	if !ok {
		words := v.Words
		if v.Op != lane.Table {
			words = slices.Repeat([]uint32{v.Bits}, emit.VecLanes)
		}
		at = g.Append(g.constants.global, words...)
		g.constants.places[name] = at
	}
	return at
}

// laneKernels emits the kernels of package lane.
func (g *neon) laneKernels() error {
	for _, k := range lane.KernelsFor((*laner).Traits(nil)) {
		m := g.newLaner(32)
		p := lane.Build(k, m.Traits())
		plan, err := lane.NewPlan(p, m)
		if err != nil {
			return err
		}
		m.frame = lane.NewFrame(p, m)
		m.kernel(p, plan)
	}
	return nil
}

// newLaner returns one for a number of registers.
func (g *neon) newLaner(registers int) *laner {
	return &laner{neon: g, registers: registers, pointers: map[*lane.Stream]a64.GP{}, across: map[*lane.Stream][]a64.GP{}, tables: map[*lane.Value][]a64.Vec{}}
}

// inline prepares a function for so many vectors at a time, in code that allocates some registers
// beside them later. What stays in registers is loaded here. As the registers of a table follow
// each other, those before must be in use.
func (g *neon) inline(f lane.Function, vectors, later int) *lane.Frame[a64.Vec] {
	m := g.newLaner(g.FreeVecs() - later)
	p := lane.Inline(f, vectors, m.Traits())
	plan, err := lane.NewPlan(p, m)
	if err != nil {
		panic(err)
	}
	m.frame = lane.NewFrame(p, m)
	m.stay(plan)
	return m.frame
}

func (m *laner) Traits() lane.Traits {
	return lane.Traits{Lookup: lane.ByBytes, Abs: true, Halves: true, Wides: emit.VecLanes / 2}
}
func (m *laner) Size() int      { return m.registers }
func (m *laner) Widths() []int  { return []int{3, 2, 1} }
func (m *laner) Reorders() bool { return false }
func (m *laner) Alloc() a64.Vec { return m.Vec() }
func (m *laner) Free(v a64.Vec) { m.Func.Free(v) }

func (m *laner) Home(v *lane.Value) (registers int, must bool) {
	if v.Op == lane.Table {
		return 2, true
	}
	return 1, v.Op != lane.Const
}

// zeroed reports whether an operand is a 0 that takes no register.
func zeroed(n *lane.Value, i int) bool {
	return n.Args[i].Is(0) && (n.Op == lane.Select && (i == 2 || i == 1 && n.Cond == lane.Equal) || n.Op == lane.AtLeast)
}

func (m *laner) Worth(n *lane.Value, i int) int {
	if zeroed(n, i) {
		return 0
	}
	return 1
}

func (m *laner) InPlace(n *lane.Value) []int {
	switch n.Op {
	case lane.MulAdd, lane.NegMulAdd:
		return []int{2}
	case lane.Select:
		return []int{3, 2}
	case lane.CopySign:
		return []int{1, 0}
	case lane.AtLeast, lane.AtMost, lane.Sqrt, lane.Abs, lane.AbsInt, lane.ToInt, lane.ToFloat, lane.ShiftLeft, lane.ShiftRight, lane.Var:
		return []int{0}
	case lane.Widen, lane.Narrow, lane.Swap:
		return []int{0}
	case lane.Lookup:
		return []int{1}
	case lane.Given, lane.Load, lane.Spread, lane.Same:
		return nil
	}
	return []int{0, 1}
}

func (m *laner) Scratch(n *lane.Value) (registers int) {
	for i, a := range n.Args {
		if a.Op == lane.Const && !zeroed(n, i) {
			registers++
		}
	}
	if n.Op == lane.Select || n.Op == lane.AtLeast || n.Op == lane.AtMost {
		registers++
	}
	return registers
}

// kernel emits a function: its loops over some vectors at a time, and what is left.
func (m *laner) kernel(p *lane.Program, plan lane.Plan) {
	m.Kernel(p.Function)
	m.stay(plan)
	left := m.lanes(p)
	for _, s := range p.Streams {
		m.pointers[s] = m.Slice(s.Slice)
		if s.Part > 0 {
			m.Scope(func() {
				count := m.lanes(p)
				for range s.Part {
					m.Op("ADD", count.Shl(2), m.pointers[s], m.pointers[s])
				}
			})
		}
	}
	m.strides = map[string]a64.GP{}
	for _, s := range p.Streams {
		if _, ok := m.strides[s.Stride]; !ok && s.Stride != "" {
			m.strides[s.Stride] = m.Stride(s.Stride)
		}
	}
	m.vector()
	m.rows = map[*lane.Stream]a64.GP{}
	if p.Count != "" && len(p.Across()) == 0 {
		m.columns(p, p.Needed(plan.Widths, m.lanesOf()), left)
		return
	}
	before := 0
	for i, w := range plan.Widths {
		name := lanesLabel(w)
		lanes, repeats := w.Vectors*m.lanesOf(), lane.Repeats(w.Vectors, before)
		before = w.Vectors
		if p.Phases && w.Vectors == 1 {
			m.phases(p, left, name, repeats)
			return
		}
		m.Op("SUBS", lanes, left, left)
		m.Jump("BLT", name+"end")
		if repeats {
			if p.Count == "" {
				m.AlignLoop()
			}
			m.Label(name)
		}
		m.body(p, name, w)
		m.Op("SUBS", lanes, left, left)
		if repeats {
			m.Jump("BGE", name)
		}
		m.Label(name + "end")
		if !p.Tile || i < len(plan.Widths)-1 {
			m.Op("ADDS", lanes, left, left)
		}
	}
	if !p.Tile {
		m.Jump("BEQ", "end")
		m.single()
		if lane.Repeats(m.few(), m.lanesOf()) {
			m.Label("single")
			m.body(p, "single", single)
			m.Op("SUBS", m.few(), left, left)
			m.Jump("BNE", "single")
		} else {
			m.body(p, "single", single)
		}
		m.Label("end")
	}
	m.Ret()
}

// columns emits the loop over lanes of a program with rows, as on amd64.
func (m *laner) columns(p *lane.Program, widths []lane.Width, left a64.GP) {
	m.Label("columns")
	m.JumpIfZero(left, "end")
	m.startRows(p)
	wide := widths
	if p.Tile {
		wide = widths[:len(widths)-1]
	}
	for _, w := range wide {
		m.Op("CMP", w.Vectors*m.lanesOf(), left)
		m.Jump("BGE", lanesLabel(w))
	}
	chunk := func(w lane.Width, name string, lanes int) {
		m.overRows(p, name, w)
		m.frame.Run(lane.After, w)
		m.advance(p, w.Vectors)
		m.Op("SUB", lanes, left, left)
		m.Goto("columns")
	}
	if p.Tile {
		w := widths[len(wide)]
		chunk(w, lanesLabel(w), w.Vectors*m.lanesOf())
	} else {
		m.Commentf("What is left of a vector.")
		m.single()
		chunk(single, "single", m.few())
		m.vector()
	}
	for _, w := range wide {
		m.Label(lanesLabel(w))
		chunk(w, lanesLabel(w), w.Vectors*m.lanesOf())
	}
	m.Label("end")
	m.Ret()
}

func lanesLabel(w lane.Width) string { return fmt.Sprint("lanes", w.Vectors) }

// phases emits the loop over single vectors, and the rest of the function, as on amd64.
// For lanes that go through it one by one left is negative.
func (m *laner) phases(p *lane.Program, left a64.GP, name string, repeats bool) {
	m.Op("SUBS", m.lanesOf(), left, left)
	m.Jump("BGE", name)
	m.Label("last")
	m.Op("ADDS", m.lanesOf(), left, left)
	m.Jump("BEQ", "end")
	m.Op("NEG", left, left)
	m.Label("single")
	m.single()
	m.frame.Run(lane.Before, single)
	m.Goto("enter")
	if repeats {
		m.AlignLoop()
	}
	m.Label(name)
	m.vector()
	m.frame.Again(lane.Before)
	m.Label("enter")
	m.frame.Run(lane.Row, single)
	m.Op("CMP", 0, left)
	m.Jump("BLT", "leave")
	m.frame.Again(lane.After)
	m.advance(p, 1)
	m.Op("SUBS", m.lanesOf(), left, left)
	if repeats {
		m.Jump("BGE", name)
	}
	m.Goto("last")
	m.Label("leave")
	m.single()
	m.frame.Run(lane.After, single)
	m.advance(p, 1)
	m.Op("ADDS", 1, left, left)
	m.Jump("BNE", "single")
	m.Label("end")
	m.Ret()
}

// single is the width of one vector, or lane.
var single = lane.Width{Vectors: 1, Turns: true}

// vector and single say what loads and stores are of.
func (m *laner) vector() { m.one = false }
func (m *laner) single() { m.one = true }

// lanesOf is the number of lanes of a vector: as many float64 as it has, if there are some.
func (m *laner) lanesOf() int {
	if m.frame.Doubles {
		return emit.VecLanes / 2
	}
	return emit.VecLanes
}

// few is the number of lanes at a time of what is left of a vector: one, or a pair.
func (m *laner) few() int {
	if m.frame.Pairs {
		return 2
	}
	return 1
}

// moving is the instruction that moves the lanes of a stream at a time, and their size.
func (m *laner) moving(s *lane.Stream) (name string, bytes int) {
	bytes = 4
	if s.Double {
		bytes = 8
	}
	if m.one {
		bytes *= m.few()
	} else {
		bytes *= m.lanesOf()
	}
	return map[int]string{4: "FMOVS", 8: "FMOVD", 16: "FMOVQ"}[bytes], bytes
}

// stay loads the values that stay in registers. The two of a table follow each other.
func (m *laner) stay(plan lane.Plan) {
	m.base = m.GP()
	m.Op("MOVD", m.constants.global, m.base)
	for _, v := range plan.Stay {
		if v.Op == lane.Table {
			m.tables[v] = m.Vecs(2)
			m.frame.Home[v] = m.tables[v][0]
			for i, half := range m.tables[v] {
				m.LoadFrom(a64.At(m.base, m.place(v)+i*emit.VecBytes), half)
			}
		}
	}
	for _, v := range plan.Stay {
		switch v.Op {
		case lane.Table:
		case lane.Param:
			m.frame.Home[v] = m.BroadcastParam(v.Name)
		default:
			m.frame.Home[v] = m.Vec()
			if v.Op == lane.Const {
				m.constant(v, m.frame.Home[v])
			}
		}
	}
}

// lanes loads the number of lanes.
func (m *laner) lanes(p *lane.Program) a64.GP {
	if p.Number != "" {
		return m.Num(p.Number)
	}
	return m.LoadParam(m.Len(p.Lanes))
}

// body emits the program for some vectors, and moves the pointers on.
func (m *laner) body(p *lane.Program, name string, w lane.Width) {
	if p.Count != "" {
		m.startRows(p)
		m.overRows(p, name, w)
	} else {
		m.frame.Run(lane.Before, w)
		m.frame.Run(lane.Row, w)
	}
	m.frame.Run(lane.After, w)
	m.advance(p, w.Vectors)
}

// advance moves the pointers on.
func (m *laner) advance(p *lane.Program, vectors int) {
	for _, s := range p.Streams {
		switch _, bytes := m.moving(s); {
		case s.Across:
			m.Scope(func() {
				ld := m.Stride(s.Stride)
				for range vectors * bytes / 4 {
					m.Op("ADD", ld, m.pointers[s], m.pointers[s])
				}
			})
		case s.Chains > 0:
			m.advanceChained(s, vectors*bytes/4)
		case !s.Spread && (s.Stride != "" || !s.Rows || p.Count == ""):
			m.Advance(vectors*bytes, m.pointers[s])
		}
	}
}

// advanceChained moves a pointer on by some chains of a row, or to the next row.
func (m *laner) advanceChained(s *lane.Stream, lanes int) {
	switch whole := lanes == s.Chains; {
	case s.Spread && whole:
		m.Advance(4, m.pointers[s])
	case s.Stride != "" && whole:
		m.Op("ADD", m.strides[s.Stride], m.pointers[s], m.pointers[s])
	case !s.Spread && !whole:
		m.Advance(4*lanes, m.pointers[s])
	}
}

// startRows goes to the first row of the current lanes.
func (m *laner) startRows(p *lane.Program) {
	for _, s := range p.Streams {
		if s.Across || !s.Rows {
			m.rows[s] = m.pointers[s]
			continue
		}
		if _, ok := m.rows[s]; !ok {
			m.rows[s] = m.GP()
		}
		m.Op("MOVD", m.pointers[s], m.rows[s])
	}
	for _, v := range p.Shared {
		if v.Op == lane.Counter {
			m.Scope(func() { m.Op("VDUP", m.Num(v.Name), m.frame.Home[v].S4()) })
		}
	}
}

// overRows emits what is before the rows, and the loop over them.
func (m *laner) overRows(p *lane.Program, name string, w lane.Width) {
	m.frame.Run(lane.Before, w)
	for _, s := range p.Across() {
		m.beginAcross(s, w.Vectors)
	}
	lanes, count := m.pointers, m.Num(p.Count)
	m.pointers = m.rows
	m.JumpIfZero(count, name+"rows")
	m.AlignLoop()
	m.Label(name + "row")
	m.frame.Run(lane.Row, w)
	for _, s := range p.Streams {
		switch {
		case s.Across:
			m.Advance(4, m.across[s]...)
		case s.Rows && s.Chains > 0:
			m.Advance(4*s.Chains, m.pointers[s])
		case s.Rows && s.Stride != "":
			m.Op("ADD", m.strides[s.Stride], m.pointers[s], m.pointers[s])
		case s.Rows && s.Double:
			m.Advance(8, m.pointers[s])
		case s.Rows:
			m.Advance(4, m.pointers[s])
		}
	}
	for _, v := range p.Shared {
		if v.Op == lane.Counter {
			j := m.frame.Home[v].S4()
			m.Op("VADD", m.reg(v.Args[0], 0).S4(), j, j)
			m.done()
		}
	}
	m.CountDown(count, 1, name+"row")
	m.Label(name + "rows")
	for _, s := range p.Across() {
		for _, r := range m.across[s] {
			m.Func.Free(r)
		}
	}
	m.Func.Free(count)
	m.pointers = lanes
}

// beginAcross sets pointers to the rows in the lanes.
func (m *laner) beginAcross(s *lane.Stream, vectors int) {
	rows := vectors * m.lanesOf()
	if m.one {
		rows = 1
	}
	ld := m.Stride(s.Stride)
	m.across[s] = nil
	for i := range rows {
		r := m.GP()
		if i == 0 {
			m.Op("MOVD", m.pointers[s], r)
		} else {
			m.Op("ADD", ld, m.across[s][i-1], r)
		}
		m.across[s] = append(m.across[s], r)
	}
	m.Func.Free(ld)
}

// loadAcross loads an element of each row.
func (m *laner) loadAcross(rows []a64.GP, vector int, dst a64.Vec) {
	if !m.one {
		rows = rows[vector*m.lanesOf():][:m.lanesOf()]
	}
	m.Op("FMOVS", a64.At(rows[0], 0), dst)
	for i, r := range rows[1:] {
		m.Op("VLD1", a64.At(r, 0), dst.S(i+1))
	}
}

// constant loads a constant.
func (m *laner) constant(v *lane.Value, to a64.Vec) {
	if v.Is(0) {
		m.Zero(to)
	} else {
		m.LoadFrom(a64.At(m.base, m.place(v)), to)
	}
}

// reg is the register of an operand. done frees what the instruction has taken for constants.
func (m *laner) reg(v *lane.Value, vector int) a64.Vec {
	r, ok := m.frame.Reg(v, vector)
	if !ok {
		r = m.temporary()
		m.constant(v, r)
	}
	return r
}

func (m *laner) temporary() a64.Vec {
	r := m.Vec()
	m.scratch = append(m.scratch, r)
	return r
}

func (m *laner) done() {
	m.Func.Free(m.scratch)
	m.scratch = nil
}

// move emits dst = v.
func (m *laner) move(v *lane.Value, vector int, dst a64.Vec) {
	if r, ok := m.frame.Reg(v, vector); !ok {
		m.constant(v, dst)
	} else if r != dst {
		m.Op("VORR", r.B16(), r.B16(), dst.B16())
	}
}

// Emit emits an instruction of a program.
func (m *laner) Emit(_ *lane.Frame[a64.Vec], n *lane.Value, dst a64.Vec, vector int) {
	defer m.done()
	x := func(i int) a64.Vec { return m.reg(n.Args[i], vector) }
	switch n.Op {
	case lane.Load:
		if n.Stream.Across {
			m.loadAcross(m.across[n.Stream], vector, dst)
			return
		}
		name, bytes := m.moving(n.Stream)
		m.Op(name, a64.At(m.pointers[n.Stream], vector*bytes), dst)
	case lane.Store:
		name, bytes := m.moving(n.Stream)
		m.Op(name, x(0), a64.At(m.pointers[n.Stream], vector*bytes))
	case lane.Spread, lane.Same:
		to := dst.S4()
		if n.Double {
			to = dst.D2()
		}
		m.Op("VLD1R", a64.At(m.pointers[n.Stream], 0), []a64.Arr{to})
	case lane.Swap:
		m.Op("VREV64", x(0).S4(), dst.S4())
	case lane.Widen:
		m.FCVTLWide(dst, x(0))
	case lane.Narrow:
		m.FCVTNWide(dst, x(0))
	case lane.Var:
		m.move(n.Args[0], vector, dst)
	case lane.Set:
		m.move(n.Args[1], vector, x(0))
	case lane.ShiftLeft:
		m.Op("VSHL", int(n.Bits), x(0).S4(), dst.S4())
	case lane.ShiftRight:
		m.Op("VUSHR", int(n.Bits), x(0).S4(), dst.S4())
	case lane.Lookup:
		t := m.tables[n.Args[0]]
		m.Op("VTBL", x(1).B16(), []a64.Arr{t[0].B16(), t[1].B16()}, dst.B16())
	case lane.MulAdd, lane.NegMulAdd:
		m.move(n.Args[2], vector, dst)
		of := a64.Vec.S4
		if n.Double {
			of = a64.Vec.D2
		}
		m.Op(map[lane.Op]string{lane.MulAdd: "VFMLA", lane.NegMulAdd: "VFMLS"}[n.Op], of(x(1)), of(x(0)), of(dst))
	case lane.CopySign:
		if y := x(0); y == dst {
			m.Op("VBIT", x(2).B16(), x(1).B16(), dst.B16())
		} else {
			m.move(n.Args[1], vector, dst)
			m.Op("VBIF", x(2).B16(), y.B16(), dst.B16())
		}
	case lane.AtLeast, lane.AtMost:
		m.limit(n, dst, vector)
	case lane.Select:
		m.choose(n, dst, vector)
	default:
		m.operate(n, dst, vector)
	}
}

// operate emits the operations that are one instruction.
func (m *laner) operate(n *lane.Value, dst a64.Vec, vector int) {
	x := m.reg(n.Args[0], vector)
	if op := map[lane.Op]func(d, n a64.Vec){lane.Sqrt: m.FSQRT, lane.Abs: m.FABS, lane.AbsInt: m.ABS, lane.ToInt: m.FCVTNS, lane.ToFloat: m.SCVTF}[n.Op]; op != nil {
		op(dst, x)
		return
	}
	y := m.reg(n.Args[1], vector)
	if n.Double {
		map[lane.Op]func(d, n, m a64.Vec){lane.Add: m.FADDWide, lane.Sub: m.FSUBWide, lane.Mul: m.FMULWide}[n.Op](dst, x, y)
		return
	}
	if op := map[lane.Op]func(d, n, m a64.Vec){lane.Add: m.FADD, lane.Sub: m.FSUB, lane.Mul: m.FMUL, lane.Div: m.FDIV, lane.MulInt: m.MUL}[n.Op]; op != nil {
		op(dst, x, y)
		return
	}
	if name := map[lane.Op]string{lane.AddInt: "VADD", lane.SubInt: "VSUB"}[n.Op]; name != "" {
		m.Op(name, y.S4(), x.S4(), dst.S4())
		return
	}
	m.Op(map[lane.Op]string{lane.And: "VAND", lane.Or: "VORR", lane.Xor: "VEOR"}[n.Op], y.B16(), x.B16(), dst.B16())
}

// limit emits AtLeast and AtMost. FMAX and FMIN return a NaN, and order zeros: that makes no
// difference for x unless y is a zero or a number that is not known.
func (m *laner) limit(n *lane.Value, dst a64.Vec, vector int) {
	x, y := n.Args[0], n.Args[1]
	switch {
	case n.Op == lane.AtMost && y.Op == lane.Const && y.Bits != spec.SignBit:
		m.FMIN(dst, m.reg(x, vector), m.reg(y, vector))
	case n.Op == lane.AtLeast && y.Op == lane.Const && !y.Is(0):
		m.FMAX(dst, m.reg(x, vector), m.reg(y, vector))
	case n.Op == lane.AtLeast && y.Is(0):
		t := m.temporary()
		m.Zero(t)
		m.FCMGT(t, t, m.reg(x, vector))
		m.BIC(dst, m.reg(x, vector), t)
	default:
		t, a, b := m.temporary(), m.reg(y, vector), m.reg(x, vector)
		if n.Op == lane.AtMost {
			m.FCMGT(t, b, a)
		} else {
			m.FCMGT(t, a, b)
		}
		m.move(x, vector, dst)
		m.Op("VBIT", t.B16(), a.B16(), dst.B16())
	}
}

// choose emits a Select.
func (m *laner) choose(n *lane.Value, dst a64.Vec, vector int) {
	t, x := m.temporary(), m.reg(n.Args[0], vector)
	insert, other := "VBIT", "VBIF"
	switch {
	case n.Args[0].Double:
		if n.Cond != lane.Equal || !n.Args[1].Is(0) {
			panic("neon: no such Select of float64")
		}
		m.FCMEQZeroWide(t, x)
	case n.Cond == lane.Less:
		m.FCMGT(t, m.reg(n.Args[1], vector), x)
	case n.Cond == lane.Equal && n.Args[1].Is(0):
		m.FCMEQZero(t, x)
	case n.Cond == lane.Equal:
		m.FCMEQ(t, x, m.reg(n.Args[1], vector))
	case n.Cond == lane.LessInt:
		m.CMGT(t, m.reg(n.Args[1], vector), x)
	default: // where x is a number
		m.FCMEQ(t, x, x)
		insert, other = other, insert
	}
	if n.Args[2].Is(0) {
		m.BIC(dst, m.reg(n.Args[3], vector), t)
		return
	}
	if z, ok := m.frame.Reg(n.Args[2], vector); ok && z == dst {
		m.Op(other, t.B16(), m.reg(n.Args[3], vector).B16(), dst.B16())
		return
	}
	m.move(n.Args[3], vector, dst)
	m.Op(insert, t.B16(), m.reg(n.Args[2], vector).B16(), dst.B16())
}
