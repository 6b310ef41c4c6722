package rvv

import (
	"slices"

	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/riscv"
)

// The back end of package lane. A vector is a group of registers, as large as the program leaves
// room for, and has as many lanes as are left. Most instructions take a number from a scalar
// register: there constants lie. An addend of a fused operation must be a vector: its constant
// stays in one, or is spread before each use.

// A laner emits one kernel.
type laner struct {
	*gen
	program  *lane.Program
	frame    *lane.Frame[riscv.Vec]
	group    int // registers of a vector
	taken    int // vectors of the code around a function in line
	pointers map[*lane.Stream]riscv.GP
	floats   map[*lane.Value]riscv.FP
	ints     map[*lane.Value]riscv.GP
	scratch  []riscv.Vec         // of the current instruction
	element  *riscv.GP           // for an element of a slice
	bases    map[string]riscv.GP // of such slices
	double   bool                // elements of 64 bits are in force
}

// laneKernels emits the kernels of package lane.
func (g *gen) laneKernels() error {
	for _, k := range lane.KernelsFor((*laner).Traits(nil)) {
		m := g.newLaner()
		m.program = lane.Build(k, m.Traits())
		plan, err := m.plan()
		if err != nil {
			return err
		}
		m.frame = lane.NewFrame(m.program, m)
		m.kernel(plan)
	}
	return nil
}

func (g *gen) newLaner() *laner {
	return &laner{gen: g, pointers: map[*lane.Stream]riscv.GP{}, floats: map[*lane.Value]riscv.FP{}, ints: map[*lane.Value]riscv.GP{}}
}

// inline prepares a function of vectors in groups of a size, in code that takes some beside them.
// Its constants are loaded here. x is scratch.
func (g *gen) inline(f lane.Function, group, taken int, x riscv.GP) *lane.Frame[riscv.Vec] {
	m := g.newLaner()
	m.group, m.taken = group, taken
	m.program = lane.Inline(f, 1, m.Traits())
	plan, err := lane.NewPlan(m.program, m)
	if err != nil {
		panic(err)
	}
	m.frame = lane.NewFrame(m.program, m)
	for _, v := range m.program.Shared {
		m.loadScalar(v)
	}
	m.stay(plan, x)
	return m.frame
}

// plan finds the largest groups for which all vectors stay in registers. A table of 8 numbers fills
// a group of two on every CPU, and a look-up takes longer in larger ones.
func (m *laner) plan() (plan lane.Plan, err error) {
	groups := []int{8, 4, 2}
	if slices.ContainsFunc(m.program.Shared, func(v *lane.Value) bool { return v.Op == lane.Table }) {
		groups = []int{2}
	}
	for _, m.group = range groups {
		if plan, err = lane.NewPlan(m.program, m); err == nil && plan.All {
			break
		}
	}
	return plan, err
}

func (m *laner) Traits() lane.Traits {
	return lane.Traits{Lookup: lane.ByNumber, Abs: true, OneNaN: true, Lengths: true, Gathers: true}
}

func (m *laner) Size() int        { return 32/m.group - 1 - m.taken } // V0 has masks
func (m *laner) Widths() []int    { return []int{1} }
func (m *laner) Reorders() bool   { return false }
func (m *laner) Alloc() riscv.Vec { return m.Vec(m.group) }
func (m *laner) Free(v riscv.Vec) { m.Func.Free(v) }

func (m *laner) Home(v *lane.Value) (registers int, must bool) {
	if v.Op == lane.Table {
		return 1, true
	}
	if v.Op == lane.Const && m.uses(v, func(n *lane.Value, i int) bool { return !scalar(n, i) }) {
		return 1, false
	}
	return 0, false
}

// uses reports whether an operand of an instruction is v and has a property.
func (m *laner) uses(v *lane.Value, is func(n *lane.Value, i int) bool) bool {
	return m.program.Any(func(n *lane.Value) bool {
		for i, a := range n.Args {
			if a == v && is(n, i) {
				return true
			}
		}
		return false
	})
}

// scalar reports whether an operand may be in a scalar register.
func scalar(n *lane.Value, i int) bool {
	switch n.Op {
	case lane.Add, lane.Sub, lane.Mul, lane.And, lane.Or, lane.AddInt, lane.SubInt, lane.MulInt, lane.MulHigh, lane.Var, lane.Set:
		return true
	case lane.Div, lane.AtLeast, lane.AtMost:
		return i == 1
	case lane.MulAdd, lane.NegMulAdd:
		return i < 2
	case lane.CopySign:
		return i == 2 // the sign's bit is not needed
	case lane.Select:
		return i == 1 || i == 2 || n.Args[0].Op == lane.Counter
	}
	return false
}

// whole reports whether an operand is an integer.
func whole(n *lane.Value, i int) bool {
	switch n.Op {
	case lane.And, lane.Or, lane.Xor, lane.AddInt, lane.SubInt, lane.MulInt, lane.MulHigh, lane.ShiftRight:
		return true
	case lane.Select:
		return i < 2 && (n.Cond == lane.LessInt || n.Cond == lane.LessUint)
	}
	return false
}

func (m *laner) Worth(n *lane.Value, i int) int {
	if scalar(n, i) {
		return 0
	}
	return 1
}

func (m *laner) InPlace(n *lane.Value) []int {
	switch n.Op {
	case lane.Given, lane.Load, lane.Spread, lane.Same, lane.Lookup, lane.Swap, lane.Gather, lane.Widen, lane.Narrow:
		return nil
	case lane.NegMulAdd:
		return []int{2}
	case lane.MulAdd:
		if n.Args[0].Shared() || n.Args[1].Shared() {
			return []int{2}
		}
		return []int{2, 0, 1}
	}
	all := make([]int, len(n.Args))
	for i := range all {
		all[i] = i
	}
	return all
}

func (m *laner) Scratch(n *lane.Value) (registers int) {
	for i, a := range n.Args {
		if (a.Op == lane.Const || spread(a)) && !scalar(n, i) {
			registers++
		}
	}
	if n.Op == lane.AbsInt || n.Op == lane.Gather || n.Op == lane.Swap || n.Op == lane.Select && n.Double {
		registers++
	}
	return registers
}

// kernel emits a function: one loop over as many lanes as a group has.
func (m *laner) kernel(plan lane.Plan) {
	p := m.program
	m.gen.kernel(p.Function)
	left, got := m.lanes(), m.GP()
	for _, s := range p.Streams {
		m.pointers[s] = m.Load(m.Base(s.Slice))
		for range s.Part {
			m.Op("SLLI", 2, left, got)
			m.add(got, m.pointers[s])
		}
	}
	strides := map[string]riscv.GP{}
	for _, s := range p.Streams {
		if _, ok := strides[s.Stride]; !ok && s.Stride != "" {
			strides[s.Stride] = m.stride(s.Stride)
		}
	}
	for _, v := range p.Shared {
		m.loadScalar(v)
	}
	m.stay(plan, got)
	m.Jump("BEQZ", "done", left)
	m.Label("lanes")
	m.begin(left, got)
	m.frame.Run(lane.Before, plan.Widths[0])
	if p.Count != "" {
		m.rows(plan.Widths[0], strides)
		m.frame.Run(lane.After, plan.Widths[0])
	}
	m.Op("SUB", got, left, left)
	m.advance(got, strides)
	m.ForgetLanes()
	m.Jump("BNEZ", "lanes", left)
	m.Label("done")
	m.Ret()
}

// begin sets the lanes. In a program with values of float64 those have the groups, and others half
// of one.
func (m *laner) begin(left, got riscv.GP) {
	m.double = m.program.Doubles
	switch chains := m.program.Chains; {
	case chains > 0 && m.group*2 < chains: // with the smallest registers
		panic("rvv: a group has fewer lanes than a row has chains")
	case chains > 0:
		m.Op("MOV", chains, got)
		m.Jump("BGE", "begin", left, got)
		m.Op("MOV", left, got)
		m.Label("begin")
		m.SetDoubles(got, m.group, got)
	case m.double:
		m.SetDoubles(left, m.group, got)
	default:
		m.SetLanes(left, m.group, got)
	}
}

// spread reports whether a value is a number in a scalar register.
func spread(v *lane.Value) bool { return v.Op == lane.Spread || v.Op == lane.Same }

// advance moves the pointers on by got lanes.
func (m *laner) advance(got riscv.GP, strides map[string]riscv.GP) {
	for _, s := range m.program.Streams {
		if s.Across {
			m.Scope(func() {
				by := m.GP()
				m.Op("MUL", got, strides[s.Stride], by)
				m.add(by, m.pointers[s])
			})
		}
	}
	m.Op("SLLI", 2, got, got)
	for _, s := range m.program.Streams {
		if s.Chains > 0 { // a row in all its chains: others are the last
			if s.Spread {
				m.Op("ADD", 4, m.pointers[s], m.pointers[s])
			} else if s.Stride != "" {
				m.add(strides[s.Stride], m.pointers[s])
			}
			continue
		}
		if s.Across || s.Spread || s.Stride == "" && s.Rows && m.program.Count != "" {
			continue
		}
		m.add(got, m.pointers[s])
		if s.Double {
			m.add(got, m.pointers[s])
		}
	}
}

// elements makes the elements of a value the size in force.
func (m *laner) elements(double bool) {
	if m.program.Doubles && m.double != double {
		m.double = double
		if double {
			m.SetSize(64, m.group)
		} else {
			m.SetSize(32, m.group/2)
		}
	}
}

// of is the part of a group that a value fills.
func (m *laner) of(v *lane.Value, r riscv.Vec) riscv.Vec {
	if m.program.Doubles && !v.Double {
		return r.First(2)
	}
	return r
}

// lanes loads the number of lanes.
func (m *laner) lanes() riscv.GP {
	if n := m.program.Number; n != "" {
		return m.Load(m.Param(n))
	}
	return m.Load(m.Len(m.program.Lanes))
}

// loadScalar loads a constant or a parameter into the scalar registers that instructions take it
// from.
func (m *laner) loadScalar(v *lane.Value) {
	switch v.Op {
	case lane.Param:
		if m.uses(v, whole) {
			m.ints[v] = m.loadWord(v.Name)
		} else {
			m.floats[v] = m.loadFloat(v.Name)
		}
	case lane.Element:
		if m.element == nil {
			r := m.GP()
			m.element, m.bases = &r, map[string]riscv.GP{}
		}
		if _, ok := m.bases[v.Name]; !ok {
			m.bases[v.Name] = m.Load(m.Base(v.Name))
		}
	case lane.Counter:
		m.ints[v] = m.GP()
	case lane.Const:
		if m.uses(v, func(n *lane.Value, i int) bool { return whole(n, i) }) {
			m.ints[v] = m.GP()
			m.Op("MOV", int(int32(v.Bits)), m.ints[v])
		}
		if m.uses(v, func(n *lane.Value, i int) bool { return !whole(n, i) }) {
			m.floats[v] = m.Float(v.Bits)
		}
	}
}

// stay loads the tables and the constants that stay in vectors.
func (m *laner) stay(plan lane.Plan, got riscv.GP) {
	if len(plan.Stay) == 0 {
		m.ForgetLanes()
		return
	}
	for _, v := range plan.Stay {
		m.frame.Home[v] = m.Vec(m.group)
		if v.Op == lane.Table {
			m.Op("MOV", len(v.Words), got)
			m.SetLanes(got, m.group, got)
			m.Scope(func() { m.Op("VLE32V", riscv.At(m.Address(m.table(v)), 0), m.frame.Home[v]) })
		}
	}
	m.SetLanes(riscv.Zero, m.group, got)
	for _, v := range plan.Stay {
		if v.Op == lane.Const {
			m.spread(v, m.frame.Home[v])
		}
	}
	m.ForgetLanes()
}

// table is the name of a table of the file.
func (m *laner) table(v *lane.Value) string {
	name := v.Name + isa
	if !m.tables[name] {
		m.tables[name] = true
		m.file.Table(name, v.Words...)
	}
	return name
}

// rows emits the loop over rows.
func (m *laner) rows(w lane.Width, strides map[string]riscv.GP) {
	p, lanes := m.program, m.pointers
	m.pointers = map[*lane.Stream]riscv.GP{}
	for _, s := range p.Streams {
		if m.pointers[s] = lanes[s]; s.Rows {
			m.pointers[s] = m.GP()
			m.Op("MOV", lanes[s], m.pointers[s])
		}
	}
	for _, v := range p.Shared {
		if v.Op == lane.Counter {
			m.Op("MOV", m.Param(v.Name), m.ints[v])
		}
	}
	m.elements(true) // at each label
	count := m.Load(m.Param(p.Count))
	m.Jump("BEQZ", "rows", count)
	m.Label("row")
	m.frame.Run(lane.Row, w)
	m.elements(true)
	for _, s := range p.Streams {
		switch {
		case s.Rows && s.Chains > 0:
			m.Op("ADD", 4*s.Chains, m.pointers[s], m.pointers[s])
		case s.Rows && s.Stride != "" && !s.Across:
			m.add(strides[s.Stride], m.pointers[s])
		case s.Rows && s.Bytes:
			m.Op("ADD", 1, m.pointers[s], m.pointers[s])
		case s.Rows && s.Double:
			m.Op("ADD", 8, m.pointers[s], m.pointers[s])
		case s.Rows:
			m.Op("ADD", 4, m.pointers[s], m.pointers[s])
		}
	}
	for _, v := range p.Shared {
		if v.Op == lane.Counter {
			m.Op("ADD", 1, m.ints[v], m.ints[v])
		}
	}
	m.Op("ADD", -1, count, count)
	m.Jump("BNEZ", "row", count)
	m.Label("rows")
	m.pointers = lanes
}

// spread emits a vector of a number.
func (m *laner) spread(v *lane.Value, to riscv.Vec) {
	if f, ok := m.floats[v]; ok && !v.Is(0) {
		m.Op("VFMVVF", f, to)
	} else if x, ok := m.ints[v]; ok {
		m.Op("VMVVX", x, to)
	} else {
		m.Op("VMVVI", 0, to)
	}
}

// reg is the vector of an operand.
func (m *laner) reg(v *lane.Value, vector int) riscv.Vec {
	if r, ok := m.frame.Reg(v, vector); ok && !spread(v) {
		return m.of(v, r)
	}
	r := m.Vec(m.group)
	m.scratch = append(m.scratch, r)
	m.spread(v, m.of(v, r))
	return m.of(v, r)
}

// operand is a vector or a number.
func (m *laner) operand(v *lane.Value, vector int, integer bool) any {
	if v.Op == lane.Element {
		m.Op("MOVWU", riscv.At(m.bases[v.Name], 4*int(v.Bits)), *m.element)
		return *m.element
	}
	if x, ok := m.ints[v]; ok && integer {
		return x
	}
	if f, ok := m.floats[v]; ok && !integer {
		return f
	}
	return m.reg(v, vector)
}

// suffix is what the name of an instruction has for an operand.
func suffix(operand any) string {
	switch operand.(type) {
	case riscv.FP:
		return "VF"
	case riscv.GP:
		return "VX"
	}
	return "VV"
}

// move emits dst = v.
func (m *laner) move(v *lane.Value, vector int, dst riscv.Vec) {
	if r, ok := m.frame.Reg(v, vector); !ok || spread(v) {
		m.spread(v, dst)
	} else if m.of(v, r) != dst {
		m.Op("VMVVV", m.of(v, r), dst)
	}
}

// Emit emits an instruction of a program.
func (m *laner) Emit(_ *lane.Frame[riscv.Vec], n *lane.Value, dst riscv.Vec, vector int) {
	defer func() {
		for _, r := range m.scratch {
			m.Func.Free(r)
		}
		m.scratch = nil
	}()
	m.elements(n.Double && n.Op != lane.Widen)
	if n.Op != lane.Store && n.Op != lane.Set {
		dst = m.of(n, dst)
	}
	x := func(i int) riscv.Vec { return m.reg(n.Args[i], vector) }
	switch n.Op {
	case lane.Load:
		m.load(n.Stream, dst)
	case lane.Store:
		name := "VSE32V"
		if n.Stream.Double {
			name = "VSE64V"
		}
		m.Op(name, x(0), riscv.At(m.pointers[n.Stream], 0))
	case lane.Spread, lane.Same:
		if _, ok := m.floats[n]; !ok {
			m.floats[n] = m.FP()
		}
		name := "MOVF"
		if n.Double {
			name = "MOVD"
		}
		m.Op(name, riscv.At(m.pointers[n.Stream], 0), m.floats[n])
	case lane.Widen:
		m.Op("VFWCVTFFV", x(0), dst)
	case lane.Gather:
		m.gather(n.Stream, x(0), dst)
	case lane.Narrow:
		m.Op("VFNCVTFFW", x(0), dst)
	case lane.Swap:
		i := m.Vec(m.group)
		m.scratch = append(m.scratch, i)
		m.Op("VIDV", i)
		m.Op("VXORVI", 1, i, i)
		m.Op("VRGATHERVV", i, x(0), dst)
	case lane.Var:
		m.move(n.Args[0], vector, dst)
	case lane.Set:
		m.move(n.Args[1], vector, x(0))
	case lane.Sqrt:
		m.Op("VFSQRTV", x(0), dst)
	case lane.Abs:
		m.Op("VFABSV", x(0), dst)
	case lane.ToFloat:
		m.Op("VFCVTFXV", x(0), dst)
	case lane.AbsInt:
		t := m.Vec(m.group)
		m.scratch = append(m.scratch, t)
		m.Op("VRSUBVX", riscv.Zero, x(0), t)
		m.Op("VMAXVV", t, x(0), dst)
	case lane.ShiftLeft:
		m.Op("VSLLVI", int(n.Bits), x(0), dst)
	case lane.ShiftRight:
		m.Op("VSRLVI", int(n.Bits), x(0), dst)
	case lane.Lookup:
		m.Op("VRGATHERVV", x(1), x(0), dst)
	case lane.CopySign:
		m.Op("VFSGNJVV", x(1), x(0), dst)
	case lane.MulAdd, lane.NegMulAdd:
		m.multiply(n, dst, vector)
	case lane.AtLeast, lane.AtMost:
		m.limit(n, dst, vector)
	case lane.Select:
		m.choose(n, dst, vector)
	default:
		m.binary(n, dst, vector)
	}
}

// gather loads elements at distances.
func (m *laner) gather(s *lane.Stream, distances, dst riscv.Vec) {
	if !s.Bytes {
		m.Op("VLUXEI64V", riscv.At(m.pointers[s], 0), distances, dst)
		return
	}
	t := m.Vec(m.group)
	m.scratch = append(m.scratch, t)
	m.GatherBytes(m.pointers[s], distances, t.First(2), dst)
}

// loadWord loads a parameter that is a bool or of 32 bits.
func (m *laner) loadWord(name string) riscv.GP {
	p := m.Param(name)
	if p.Type == "bool" {
		return m.Load(p)
	}
	r := m.GP()
	m.Op("MOVWU", p, r)
	return r
}

// load loads elements. Elements of rows that lie in lanes are as far apart as the rows.
func (m *laner) load(s *lane.Stream, dst riscv.Vec) {
	p := riscv.At(m.pointers[s], 0)
	switch {
	case s.Across:
		m.Scope(func() { m.Op("VLSE32V", p, m.stride(s.Stride), dst) })
	case s.Double:
		m.Op("VLE64V", p, dst)
	default:
		m.Op("VLE32V", p, dst)
	}
}

// operations have two operands, which are as they are or exchanged.
var operations = map[lane.Op][2]string{
	lane.Add: {"VFADD", "VFADD"}, lane.Sub: {"VFSUB", "VFRSUB"}, lane.Mul: {"VFMUL", "VFMUL"}, lane.Div: {"VFDIV"},
	lane.And: {"VAND", "VAND"}, lane.Or: {"VOR", "VOR"}, lane.Xor: {"VXOR", "VXOR"},
	lane.AddInt: {"VADD", "VADD"}, lane.SubInt: {"VSUB", "VRSUB"}, lane.MulInt: {"VMUL", "VMUL"}, lane.MulHigh: {"VMULHU", "VMULHU"},
}

// binary emits operations of two operands. The first operand of an instruction may be a number.
func (m *laner) binary(n *lane.Value, dst riscv.Vec, vector int) {
	a, b, name := n.Args[0], n.Args[1], operations[n.Op]
	if a.Shared() && scalar(n, 0) {
		a, b, name[0] = b, a, name[1]
	}
	y := m.operand(b, vector, whole(n, 1))
	m.Op(name[0]+suffix(y), y, m.reg(a, vector), dst)
}

// multiply emits fused operations. One that takes the place of a factor has its addend in a vector.
func (m *laner) multiply(n *lane.Value, dst riscv.Vec, vector int) {
	a, b := n.Args[0], n.Args[1]
	if b.Shared() {
		a, b = b, a
	}
	for _, f := range [][2]*lane.Value{{a, b}, {b, a}} {
		if r, ok := m.frame.Reg(f[0], vector); ok && m.of(f[0], r) == dst {
			m.Op("VFMADDVV", m.reg(n.Args[2], vector), m.reg(f[1], vector), dst)
			return
		}
	}
	m.move(n.Args[2], vector, dst)
	name := map[lane.Op]string{lane.MulAdd: "VFMACC", lane.NegMulAdd: "VFNMSAC"}[n.Op]
	y := m.operand(a, vector, false)
	m.Op(name+suffix(y), m.reg(b, vector), y, dst)
}

// limit emits AtLeast and AtMost by a comparison: VFMAX and VFMIN prefer a number to a NaN.
func (m *laner) limit(n *lane.Value, dst riscv.Vec, vector int) {
	x, y := m.reg(n.Args[0], vector), m.operand(n.Args[1], vector, false)
	less, more := "VMFLT", "VMFGT"
	if n.Op == lane.AtMost {
		less, more = more, less
	}
	if r, ok := y.(riscv.Vec); ok {
		if n.Op == lane.AtLeast { // x < y
			m.Op("VMFLTVV", r, x, riscv.V0)
		} else {
			m.Op("VMFLTVV", x, r, riscv.V0)
		}
		m.Op("VMERGEVVM", r, x, riscv.V0, dst)
		return
	}
	m.Op(less+"VF", y, x, riscv.V0)
	m.Op("VFMERGEVFM", y, x, riscv.V0, dst)
}

// choose emits a Select.
func (m *laner) choose(n *lane.Value, dst riscv.Vec, vector int) {
	z, w := n.Args[2], n.Args[3]
	swap := w.Op == lane.Const && n.Args[0].Op == lane.Counter // the opposite takes the number from a register
	m.compare(n, vector, swap)
	if swap {
		z, w = w, z
	}
	if n.Double && !z.Is(0) {
		m.Op("VMERGEVVM", m.reg(z, vector), m.reg(w, vector), riscv.V0, dst)
		return
	}
	switch y := m.operand(z, vector, false).(type) {
	case riscv.FP:
		if z.Is(0) {
			m.Op("VMERGEVXM", riscv.Zero, m.reg(w, vector), riscv.V0, dst)
		} else {
			m.Op("VFMERGEVFM", y, m.reg(w, vector), riscv.V0, dst)
		}
	default:
		m.Op("VMERGEVVM", y, m.reg(w, vector), riscv.V0, dst)
	}
}

// compare emits the mask of a condition, or of its opposite.
func (m *laner) compare(n *lane.Value, vector int, opposite bool) {
	x, y := n.Args[0], n.Args[1]
	switch {
	case x.Double:
		if n.Cond != lane.Equal || !y.Is(0) {
			panic("rvv: no such Select of float64")
		}
		zero := m.Vec(m.group)
		m.scratch = append(m.scratch, zero)
		m.Op("VMVVI", 0, zero)
		m.Op("VMFEQVV", zero, m.reg(x, vector), riscv.V0)
	case n.Cond == lane.LessInt && x.Op == lane.Counter && opposite: // y ≤ x
		m.Op("VMSLEVX", m.ints[x], m.reg(y, vector), riscv.V0)
	case n.Cond == lane.LessInt && x.Op == lane.Counter:
		m.Op("VMSGTVX", m.ints[x], m.reg(y, vector), riscv.V0)
	case n.Cond == lane.LessInt:
		m.Op("VMSLTVX", m.ints[y], m.reg(x, vector), riscv.V0)
	case n.Cond == lane.LessUint:
		m.Op("VMSLTUVX", m.ints[y], m.reg(x, vector), riscv.V0)
	case n.Cond == lane.Unordered: // where x is no number
		m.Op("VMFNEVV", m.reg(x, vector), m.reg(x, vector), riscv.V0)
	case n.Cond == lane.Equal:
		f := m.operand(y, vector, false)
		m.Op("VMFEQ"+suffix(f), f, m.reg(x, vector), riscv.V0)
	default:
		f := m.operand(y, vector, false)
		m.Op("VMFLT"+suffix(f), f, m.reg(x, vector), riscv.V0)
	}
}
