package amd64

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The back end of package lane: avo allocates the registers; the plan sees to it that there are
// enough. Slices are addressed by one index. What is left of a vector at the end is loaded and
// stored under a mask. Constants that do not stay in registers are memory operands where an
// instruction has one.

// A laner emits one kernel.
type laner struct {
	*gen
	frame   *lane.Frame[reg.VecVirtual]
	doubles bool                           // the program has values of float64
	taken   int                            // registers of the code around a function in line
	at      reg.GPVirtual                  // of the current lanes, in bytes
	count   reg.GPVirtual                  // of lanes, if slices have several parts
	bases   map[string]reg.GPVirtual       // of slices, if there is no loop over rows
	rows    map[*lane.Stream]reg.GPVirtual // their pointers, if there is one
	strides map[string]reg.GPVirtual
	chained map[string]reg.GPVirtual // places in matrices whose rows are chains, by strides
	first   reg.GPVirtual            // the number of the first of these rows
	rares   map[*lane.Value]*rare
	mask    reg.Register // of the last lanes, nil for whole vectors
	wide    reg.Register // the same for float64, if that differs

	across map[*lane.Stream]*across
	ld     [4]reg.GPVirtual // 1, 3, 5 and 7 times the distance of rows in lanes
}

// A rare is what the steps after a Rare need of it.
type rare struct {
	label int           // the number in its labels
	lanes reg.GPVirtual // in which its condition holds
	short bool          // there is a Short
}

// An across has the pointers to rows that lie in lanes: to the first one, and, in the loop, to each
// eighth one.
type across struct {
	base reg.GPVirtual
	rows []reg.GPVirtual
}

// laneKernels emits the kernels of package lane.
func (g *gen) laneKernels() error {
	for _, k := range lane.KernelsFor((&laner{gen: g}).Traits()) {
		m := &laner{gen: g}
		p := lane.Build(k, m.Traits())
		m.doubles = p.Doubles
		if m.EVEX() && p.Any(func(n *lane.Value) bool { return n.Op == lane.Rare }) {
			m.taken = 2 // where there are branches, avo does not find the best allocation
		}
		plan, err := lane.NewPlan(p, m)
		if err != nil {
			return err
		}
		m.frame = lane.NewFrame(p, m)
		m.kernel(p, plan)
	}
	return nil
}

// inline prepares a function for so many vectors at a time, in code that takes some registers
// beside them. What stays in registers is loaded here.
func (g *gen) inline(f lane.Function, vectors, taken int) *lane.Frame[reg.VecVirtual] {
	m := &laner{gen: g, taken: taken}
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
	if m.EVEX() {
		return lane.Traits{Exp2: lane.ByScaling, Masked: true, Halves: true, Fused: true, Skips: true, Prefetch: true, Wide: true, Wides: 8}
	}
	return lane.Traits{Exp2: lane.ByConversion, Halves: true, Fused: true, Skips: true, Prefetch: true, Wides: 4}
}

// Size leaves registers for the masks of the last lanes.
func (m *laner) Size() int {
	if m.EVEX() {
		return 32 - m.taken
	}
	if m.doubles {
		return 14 - m.taken
	}
	return 15 - m.taken
}

func (m *laner) Widths() []int {
	if m.EVEX() {
		return []int{4, 2, 1}
	}
	return []int{2, 1}
}

func (m *laner) Reorders() bool        { return true }
func (m *laner) Alloc() reg.VecVirtual { return m.Vec() }
func (m *laner) Free(reg.VecVirtual)   {}

func (m *laner) Home(v *lane.Value) (registers int, must bool) {
	if v.Is(0) {
		return 0, false
	}
	return 1, v.Op == lane.Param || v.Op == lane.Counter
}

// folds reports whether an operand may be in memory.
func folds(n *lane.Value, i int) bool {
	switch n.Op {
	case lane.Add, lane.Mul, lane.And, lane.Or, lane.Xor, lane.AddInt:
		return true // the other one is not, see commute
	case lane.Sub, lane.SubInt, lane.Div:
		return i == 1
	case lane.Select:
		return i == 1 || i == 2 || i == 4
	case lane.ScaleBy:
		return i == 3
	case lane.Rare, lane.Short:
		return i == 1
	case lane.AtLeast, lane.AtMost:
		return i == 0
	case lane.MulAdd, lane.NegMulAdd, lane.Lookup, lane.Var, lane.Widen:
		return true
	}
	return false
}

func (m *laner) Worth(n *lane.Value, i int) int {
	if folds(n, i) {
		return 1
	}
	return 3
}

func (m *laner) InPlace(n *lane.Value) []int {
	switch n.Op {
	case lane.MulAdd, lane.NegMulAdd:
		return []int{2, 0, 1}
	case lane.CopySign:
		return []int{0}
	}
	all := make([]int, len(n.Args))
	for i := range all {
		all[i] = i
	}
	return all
}

func (m *laner) Scratch(n *lane.Value) (registers int) {
	for i, a := range n.Args {
		if a.Shared() && !folds(n, i) {
			registers++
		}
	}
	switch {
	case (n.Op == lane.Select || n.Op == lane.Rare || n.Op == lane.Short) && !m.EVEX(), n.Op == lane.CopySign:
		registers++
	case (n.Op == lane.MulAdd || n.Op == lane.NegMulAdd) && (n.Args[0].Shared() || n.Args[1].Shared()):
		registers++
	}
	return registers
}

// kernel emits a function: its loops over some vectors at a time, and what is left.
func (m *laner) kernel(p *lane.Program, plan lane.Plan) {
	m.Kernel(p.Function)
	m.at = m.GP64()
	left := m.lanes(p)
	m.prepareAcross(p)
	m.bases = map[string]reg.GPVirtual{}
	for _, s := range p.Streams {
		if p.Count == "" && m.bases[s.Slice] == nil {
			m.bases[s.Slice] = m.Slice(s.Slice)
		}
		if s.Part > 0 && m.count == nil {
			m.count = m.lanes(p)
		}
	}
	m.stay(plan)
	if m.count == nil {
		m.XORQ(m.at, m.at)
	}
	m.chained = map[string]reg.GPVirtual{}
	for _, s := range p.Streams {
		if s.Chains > 0 && !s.Spread && m.chained[s.Stride] == nil {
			m.chained[s.Stride] = m.GP64()
			m.XORQ(m.chained[s.Stride], m.chained[s.Stride])
		}
	}
	if p.Count != "" && len(m.across) == 0 {
		m.columns(p, p.Needed(plan.Widths, m.width()), left)
		return
	}
	before := 0
	for i, w := range plan.Widths {
		if m.tooWide(w) {
			continue
		}
		name := lanesLabel(w)
		if w.Vectors == 1 && len(m.across) > 0 {
			m.lastRows(p, left, name)
			return
		}
		lanes, repeats := operand.U32(w.Vectors*m.width()), lane.Repeats(w.Vectors, before)
		before = w.Vectors
		if p.Phases && w.Vectors == 1 {
			m.phases(p, left, name, repeats)
			return
		}
		m.SUBQ(lanes, left)
		m.JL(operand.LabelRef(name + "end"))
		if p.Count == "" && repeats {
			m.AlignLoop()
		}
		m.Label(name)
		m.body(p, name, w)
		m.advance(p, w.Vectors*m.width())
		m.SUBQ(lanes, left)
		if repeats {
			m.JGE(operand.LabelRef(name))
		}
		m.Label(name + "end")
		if !p.Tile || i < len(plan.Widths)-1 {
			m.ADDQ(lanes, left)
		}
	}
	if !p.Tile {
		m.JZ(operand.LabelRef("end"))
		m.Comment("Less than a vector is left.")
		m.last(left)
		m.body(p, "last", single)
		m.Label("end")
	}
	m.Return()
}

// columns emits the loop over lanes of a program with rows: what is before the rows stands once for
// all widths. With AVX-512 single vectors are computed as what is left of one, if there may be more
// lanes than a vector has: stores under a mask are slow on some CPUs.
func (m *laner) columns(p *lane.Program, widths []lane.Width, left reg.GPVirtual) {
	least := len(widths) - 1
	masked := least > 0 && m.EVEX() && p.Chains == 0 && widths[0].Vectors*m.width() <= maskedLanes
	m.Label("columns")
	m.JumpIfZero(left, "end")
	m.startRows(p)
	for i, w := range widths {
		if i < least || !p.Tile && !masked {
			m.CMPQ(left, operand.U32(w.Vectors*m.width()))
			m.JGE(operand.LabelRef(lanesLabel(w)))
		}
	}
	next := func(w lane.Width) {
		m.advance(p, w.Vectors*m.width())
		m.SUBQ(operand.U32(w.Vectors*m.width()), left)
	}
	if p.Tile {
		m.overRows(p, lanesLabel(widths[least]), widths[least])
		next(widths[least])
		m.JMP(operand.LabelRef("columns"))
	} else {
		m.Comment("What is left of a vector.")
		m.last(left)
		m.overRows(p, "last", single)
		if masked {
			next(single)
			m.JG(operand.LabelRef("columns"))
		}
		m.Label("end")
		m.Return()
		m.mask = nil
	}
	for i, w := range widths {
		if i < least || !p.Tile && !masked {
			m.Label(lanesLabel(w))
			m.overRows(p, lanesLabel(w), w)
			next(w)
			m.JMP(operand.LabelRef("columns"))
		}
	}
	if p.Tile {
		m.Label("end")
		m.Return()
	}
}

// maskedLanes is the number of lanes up to which there is a mask for more than a vector has.
const maskedLanes = 64

func lanesLabel(w lane.Width) string { return fmt.Sprint("lanes", w.Vectors) }

// width is the number of lanes in a vector, and half of the register if there are values of
// float64.
func (m *laner) width() int {
	if m.doubles {
		return m.Lanes() / 2
	}
	return m.Lanes()
}

// of is the part of a register that a value fills.
func (m *laner) of(v *lane.Value, r reg.VecVirtual) reg.Register {
	switch {
	case !m.doubles || v.Double:
		return r
	case m.EVEX():
		return r.AsY()
	}
	return r.AsX()
}

// phases emits the loop over single vectors, and the rest of the function. What is less
// than a vector enters the loop behind the loads, and leaves it before the stores; for it
// left is negative.
func (m *laner) phases(p *lane.Program, left reg.GPVirtual, name string, repeats bool) {
	lanes := operand.U32(m.Lanes())
	m.SUBQ(lanes, left)
	m.JGE(operand.LabelRef(name))
	m.Label("last")
	m.ADDQ(lanes, left)
	m.JZ(operand.LabelRef("end"))
	m.Comment("Less than a vector is left.")
	m.last(left)
	mask := m.mask
	m.NEGQ(left)
	m.frame.Run(lane.Before, single)
	m.JMP(operand.LabelRef("enter"))
	if repeats {
		m.AlignLoop()
	}
	m.Label(name)
	m.mask = nil
	m.frame.Again(lane.Before)
	m.Label("enter")
	m.frame.Run(lane.Row, single)
	m.TESTQ(left, left)
	m.JL(operand.LabelRef("leave"))
	m.frame.Again(lane.After)
	m.advance(p, m.width())
	m.SUBQ(lanes, left)
	if repeats {
		m.JGE(operand.LabelRef(name))
	}
	m.JMP(operand.LabelRef("last"))
	m.Label("leave")
	m.mask = mask
	m.frame.Run(lane.After, single)
	m.Label("end")
	m.Return()
}

// single is the width of one vector.
var single = lane.Width{Vectors: 1, Turns: true}

// stay loads the values that stay in registers.
func (m *laner) stay(plan lane.Plan) {
	for _, v := range plan.Stay {
		r := m.Vec()
		switch v.Op {
		case lane.Param:
			m.VBROADCASTSS(m.Argument(v.Name), r)
		case lane.Const, lane.Table:
			m.VMOVUPS(m.constant(v), r)
		}
		m.frame.Home[v] = r
	}
}

// lanes loads the number of lanes.
func (m *laner) lanes(p *lane.Program) reg.GPVirtual {
	if p.Number != "" {
		return m.Num(p.Number)
	}
	return m.SliceLen(p.Lanes)
}

// advance goes on by some lanes. An address has one index only, so with several parts the pointers
// go on.
func (m *laner) advance(p *lane.Program, lanes int) {
	bytes := 4 * lanes
	for _, s := range p.Across() {
		for n := lanes; n > 0; n -= pointedRows {
			m.LEAQ(emit.Indexed(m.across[s].base, m.ld[0], uint8(min(n, pointedRows))), m.across[s].base)
		}
	}
	for _, stride := range slices.Sorted(maps.Keys(m.chained)) {
		if at := m.chained[stride]; lanes < p.Chains {
			m.ADDQ(operand.U32(bytes), at)
		} else if stride != "" {
			for range lanes / p.Chains {
				m.ADDQ(m.strides[stride], at)
			}
		}
	}
	if m.count == nil {
		m.ADDQ(operand.U32(bytes), m.at)
		return
	}
	done := map[string]bool{}
	for _, s := range p.Streams {
		if !done[s.Slice] {
			m.ADDQ(operand.U32(bytes), m.bases[s.Slice])
			done[s.Slice] = true
		}
	}
}

// last makes the mask of the last lanes.
func (m *laner) last(left reg.GPVirtual) {
	v := m.Vec()
	m.VMOVUPS(emit.At(m.Masks(left), 0), v)
	m.mask, m.wide = v, nil
	switch {
	case m.EVEX():
		k := m.K()
		m.VPMOVD2M(v, k)
		m.mask, m.wide = k, k
	case m.doubles:
		wide := m.Vec()
		m.VPMOVSXDQ(v.AsX(), wide)
		m.mask, m.wide = v.AsX(), wide
	}
}

// body emits the program for some vectors.
func (m *laner) body(p *lane.Program, name string, w lane.Width) {
	if p.Count == "" {
		m.frame.Run(lane.Before, w)
		m.frame.Run(lane.Row, w)
		m.frame.Run(lane.After, w)
		return
	}
	m.startRows(p)
	m.beginAcross(p, w)
	m.overRows(p, name, w)
}

// startRows goes to the first row of the current lanes.
func (m *laner) startRows(p *lane.Program) {
	m.rows = map[*lane.Stream]reg.GPVirtual{}
	m.strides = map[string]reg.GPVirtual{}
	for _, s := range p.Streams {
		if !s.Rows || s.Across {
			continue
		}
		m.rows[s] = m.Slice(s.Slice)
		switch {
		case s.Chains > 0:
			m.ADDQ(m.chained[s.Stride], m.rows[s])
		case s.Stride != "" && !s.Spread:
			m.ADDQ(m.at, m.rows[s])
		}
		if s.Stride != "" && m.strides[s.Stride] == nil {
			m.strides[s.Stride] = m.Stride(s.Stride)
		}
	}
	if p.Chains > 0 {
		m.first = m.GP64()
		m.MOVQ(m.at, m.first)
		m.SHRQ(operand.U8(bits.TrailingZeros(uint(4*p.Chains))), m.first)
	}
	for _, v := range p.Shared {
		if v.Op == lane.Counter {
			m.VPBROADCASTD(m.Argument(v.Name), m.frame.Home[v])
		}
	}
}

// overRows emits the program for some vectors from the first row on.
func (m *laner) overRows(p *lane.Program, name string, w lane.Width) {
	m.frame.Run(lane.Before, w)
	count := m.Num(p.Count)
	if len(m.across) > 0 {
		m.someColumns(p, name, w, count)
	}
	m.JumpIfZero(count, name+"rows")
	m.AlignLoop()
	m.Label(name + "row")
	m.frame.Run(lane.Row, w)
	m.nextRow(p)
	for _, s := range p.Across() {
		m.across[s].advance(m, 1)
	}
	m.DECQ(count)
	m.JNZ(operand.LabelRef(name + "row"))
	m.Label(name + "rows")
	m.frame.Run(lane.After, w)
}

// nextRow goes on by a row, but for streams whose rows lie in lanes.
func (m *laner) nextRow(p *lane.Program) {
	for _, s := range p.Streams {
		if r := m.rows[s]; r != nil && s.Chains > 0 {
			m.ADDQ(operand.U32(4*s.Chains), r)
		} else if r != nil && s.Stride != "" {
			m.ADDQ(m.strides[s.Stride], r)
		} else if r != nil {
			m.ADDQ(operand.U32(elementBytes(s)), r)
		}
	}
	for _, v := range p.Shared {
		if v.Op == lane.Counter {
			m.VPADDD(m.constant(v.Args[0]), m.frame.Home[v], m.frame.Home[v])
		}
	}
}

// address is the address of a vector of a stream.
func (m *laner) address(s *lane.Stream, vector int) operand.Mem {
	bytes := vector * m.width() * elementBytes(s)
	if row := 4 * s.Chains; row > 0 {
		switch r := m.rows[s]; {
		case s.Spread:
			a := emit.Indexed(m.Slice(s.Slice), m.first, 4)
			a.Disp = bytes / row * 4
			return a
		case bytes >= row && s.Stride != "":
			return emit.Indexed(r, m.strides[s.Stride], uint8(bytes/row))
		default:
			return emit.At(r, bytes%row)
		}
	}
	if r := m.rows[s]; r != nil {
		return emit.At(r, bytes)
	}
	base := m.bases[s.Slice]
	if base == nil {
		base = m.Slice(s.Slice)
	}
	a := emit.Indexed(base, m.at, uint8(elementBytes(s)/4))
	switch {
	case m.count != nil && s.Part > 0:
		a = emit.Indexed(base, m.count, uint8(4*s.Part))
	case m.count != nil:
		a = emit.At(base, 0)
	}
	a.Disp = bytes
	return a
}

func elementBytes(s *lane.Stream) int {
	if s.Double {
		return 8
	}
	return 4
}

// constant is a constant or a table in memory.
func (m *laner) constant(v *lane.Value) operand.Mem {
	if v.Op == lane.Table {
		return m.Repeated(v.Name, v.Words...)
	}
	return m.Constant(v.Bits)
}

// folded reports whether a load is a memory operand of the only instruction that uses it.
func (m *laner) folded(v *lane.Value) bool {
	if v.Op != lane.Load || m.mask != nil || v.Stream.Across {
		return false
	}
	n, i := m.frame.Once(v)
	return n != nil && n.Op == lane.Widen || n != nil && len(n.Args) == 2 && n.Op != lane.Set && folds(n, i) && !m.inMemory(n.Args[1-i], 0)
}

// op is an operand in a register or in memory, and reg one in a register.
func (m *laner) op(v *lane.Value, vector int) operand.Op {
	if m.folded(v) {
		return m.address(v.Stream, vector)
	}
	if r, ok := m.frame.Reg(v, vector); ok {
		return m.of(v, r)
	}
	return m.constant(v)
}

func (m *laner) reg(v *lane.Value, vector int) reg.Register {
	r, ok := m.frame.Reg(v, vector)
	if !ok {
		r = m.Vec()
		m.move(v, vector, m.of(v, r))
	}
	return m.of(v, r)
}

// move emits dst = v.
func (m *laner) move(v *lane.Value, vector int, dst reg.Register) {
	if r, ok := m.frame.Reg(v, vector); ok {
		if m.of(v, r) != dst {
			m.VMOVAPS(m.of(v, r), dst)
		}
	} else if v.Is(0) {
		m.Zero(m.Context, dst)
	} else {
		m.VMOVUPS(m.constant(v), dst)
	}
}

// inMemory reports whether an operand is in memory.
func (m *laner) inMemory(v *lane.Value, vector int) bool {
	if m.folded(v) {
		return true
	}
	_, ok := m.frame.Reg(v, vector)
	return !ok
}

// Emit emits an instruction of a program.
func (m *laner) Emit(_ *lane.Frame[reg.VecVirtual], n *lane.Value, to reg.VecVirtual, vector int) {
	var dst reg.Register
	if to != nil {
		dst = m.of(n, to)
	}
	x := func(i int) reg.Register { return m.reg(n.Args[i], vector) }
	y := func(i int) operand.Op { return m.op(n.Args[i], vector) }
	switch n.Op {
	case lane.Load:
		switch {
		case n.Stream.Across:
			m.loadAcross(m.across[n.Stream], vector, to)
		case !m.folded(n):
			m.load(n.Stream, m.address(n.Stream, vector), dst)
		}
	case lane.Store:
		m.store(n.Stream, x(0), m.address(n.Stream, vector))
	case lane.Soon:
		at := vector * m.width() * elementBytes(n.Stream)
		if c := n.Stream.Chains; c > 0 {
			at %= 4 * c
		}
		if m.mask == nil && at%spec.LineBytes == 0 {
			m.PREFETCHT1(m.address(n.Stream, vector).Offset(lane.Ahead))
		}
	case lane.Same:
		m.VBROADCASTSS(m.address(n.Stream, vector), dst)
	case lane.Spread:
		if n.Double {
			m.VBROADCASTSD(m.address(n.Stream, 0), dst)
		} else {
			m.VBROADCASTSS(m.address(n.Stream, 0), dst)
		}
	case lane.Widen:
		from := y(0)
		if a := n.Args[0]; a.Op == lane.Load && !a.Stream.Across && m.mask == nil {
			from = m.address(a.Stream, vector) // takes no shuffle; programs store to it afterwards only
		}
		m.VCVTPS2PD(from, dst)
	case lane.Narrow:
		if m.EVEX() {
			m.VCVTPD2PS(x(0), dst)
		} else {
			m.VCVTPD2PSY(x(0), dst)
		}
	case lane.Swap:
		m.VPERMILPS(operand.U8(0xb1), x(0), dst)
	case lane.Var:
		m.move(n.Args[0], vector, dst)
	case lane.Set:
		r, _ := m.frame.Reg(n.Args[0], vector)
		m.move(n.Args[1], vector, m.of(n.Args[0], r))
	case lane.Sqrt:
		m.VSQRTPS(y(0), dst)
	case lane.AbsInt:
		m.VPABSD(y(0), dst)
	case lane.ToInt:
		m.VCVTPS2DQ(y(0), dst)
	case lane.ToFloat:
		m.VCVTDQ2PS(y(0), dst)
	case lane.Fraction:
		m.VREDUCEPS(operand.Imm(0), y(0), dst)
	case lane.ScaleBy:
		k := m.K()
		m.VCMPPS(predicates[lane.Less][1], y(3), x(2), k)
		m.VSCALEFPS_Z(y(1), x(0), k, dst)
	case lane.AtLeast:
		m.VMAXPS(y(0), x(1), dst) // the second operand, x, where they are equal or one is NaN
	case lane.AtMost:
		m.VMINPS(y(0), x(1), dst)
	case lane.ShiftLeft:
		m.VPSLLD(operand.Imm(uint64(n.Bits)), x(0), dst)
	case lane.ShiftRight:
		m.VPSRLD(operand.Imm(uint64(n.Bits)), x(0), dst)
	case lane.Lookup:
		m.VPERMPS(y(0), x(1), dst)
	case lane.MulAdd:
		if n.Double {
			m.multiply(n, dst, vector, m.VFMADD231PD, m.VFMADD213PD)
		} else {
			m.multiply(n, dst, vector, m.VFMADD231PS, m.VFMADD213PS)
		}
	case lane.NegMulAdd:
		if n.Double {
			m.multiply(n, dst, vector, m.VFNMADD231PD, m.VFNMADD213PD)
		} else {
			m.multiply(n, dst, vector, m.VFNMADD231PS, m.VFNMADD213PS)
		}
	case lane.CopySign:
		m.copySign(y(0), x(1), y(2), dst)
	case lane.Select:
		m.choose(n, dst, vector)
	case lane.Blank:
	case lane.Rare, lane.Short, lane.Usual, lane.Whole, lane.Done:
		m.way(n, vector)
	default:
		m.binary(n, dst, vector)
	}
}

// binary emits operations of two operands. A constant in memory is the second one if it may.
func (m *laner) binary(n *lane.Value, dst reg.Register, vector int) {
	op, ok := map[lane.Op]func(...operand.Op){
		lane.Add: m.VADDPS, lane.Sub: m.VSUBPS, lane.Mul: m.VMULPS, lane.Div: m.VDIVPS, lane.And: m.VANDPS, lane.Or: m.VORPS, lane.Xor: m.VXORPS,
		lane.AddInt: m.VPADDD, lane.SubInt: m.VPSUBD, lane.MulInt: m.VPMULLD,
	}[n.Op]
	if n.Double {
		op, ok = map[lane.Op]func(...operand.Op){lane.Add: m.VADDPD, lane.Sub: m.VSUBPD, lane.Mul: m.VMULPD}[n.Op]
	}
	if !ok {
		panic(fmt.Sprintf("amd64: %s: operation %d", m.frame.Name, n.Op))
	}
	a, b := n.Args[0], n.Args[1]
	if folds(n, 0) && m.inMemory(a, vector) {
		a, b = b, a
	}
	op(m.op(b, vector), m.reg(a, vector), dst)
}

// multiply emits dst = ±x·y + z, by the instruction whose result takes the place of an operand that
// is no longer used.
func (m *laner) multiply(n *lane.Value, dst reg.Register, vector int, toSum, toFactor func(...operand.Op)) {
	factors, z := n.Args[:2], n.Args[2]
	if m.inMemory(factors[1], vector) {
		factors = []*lane.Value{factors[1], factors[0]}
	}
	i := slices.IndexFunc(factors, func(a *lane.Value) bool {
		r, ok := m.frame.Reg(a, vector)
		return ok && m.of(a, r) == dst
	})
	if i >= 0 {
		toFactor(m.op(z, vector), m.reg(factors[1-i], vector), dst)
		return
	}
	m.move(z, vector, dst)
	toSum(m.op(factors[0], vector), m.reg(factors[1], vector), dst)
}

// copySign emits dst = y with the sign of x.
func (m *laner) copySign(y operand.Op, x reg.Register, sign operand.Op, dst reg.Register) {
	if m.EVEX() {
		const aOrBAndC = 0xf8
		if y != dst {
			m.VMOVAPS(y, dst)
		}
		m.VPTERNLOGD(operand.U8(aOrBAndC), sign, x, dst)
		return
	}
	t := m.Vec()
	m.VANDPS(sign, x, t)
	m.VORPS(y, t, dst)
}

// predicates are the predicates of comparisons, and their opposites.
var predicates = map[lane.Cond][2]operand.Constant{
	lane.Less: {operand.Imm(0x11), operand.Imm(0x15)}, lane.Equal: {operand.Imm(0), operand.Imm(4)}, lane.Unordered: {operand.Imm(3), operand.Imm(7)},
	lane.LessInt: {operand.Imm(1), operand.Imm(5)}, lane.LessUint: {operand.Imm(1), operand.Imm(5)}, lane.Within: {operand.Imm(1)},
}

// choose emits a Select. With AVX-512 the opposite condition clears the lanes of zeros as it moves.
func (m *laner) choose(n *lane.Value, dst reg.Register, vector int) {
	if n.Args[0].Double {
		m.chooseDouble(n, dst, vector)
		return
	}
	x, zero := m.reg(n.Args[0], vector), n.Args[2].Is(0)
	negative := n.Cond == lane.LessInt && n.Args[1].Is(0)
	orZero := n.Args[3].Is(0) && !negative && !m.EVEX() // by an AND
	var other reg.Register
	if !orZero {
		other = m.reg(n.Args[3], vector)
	}
	if !m.EVEX() {
		t := m.of(n, m.Vec())
		switch {
		case negative:
			t = x // a blend reads signs
		case n.Cond == lane.LessInt:
			m.VPCMPGTD(x, m.reg(n.Args[1], vector), t)
		case n.Cond == lane.LessUint || n.Cond == lane.Within:
			panic("AVX2 has no such comparison of integers")
		default:
			m.VCMPPS(predicates[n.Cond][0], m.op(n.Args[1], vector), x, t)
		}
		switch {
		case zero:
			m.VANDNPS(other, t, dst)
		case orZero:
			m.VANDPS(m.op(n.Args[2], vector), t, dst)
		default:
			m.VBLENDVPS(t, m.op(n.Args[2], vector), other, dst)
		}
		return
	}
	k, predicate := m.K(), predicates[n.Cond][0]
	if zero {
		predicate = predicates[n.Cond][1]
	}
	switch {
	case negative && !zero:
		m.VPMOVD2M(x, k)
	case n.Cond == lane.Within:
		m.VPCMPD(predicates[lane.LessInt][1], m.op(n.Args[1], vector), x, k)
		inside := m.K()
		m.VPCMPD(predicate, m.op(n.Args[4], vector), x, k, inside)
		k = inside
	case n.Cond == lane.LessInt:
		m.VPCMPD(predicate, m.op(n.Args[1], vector), x, k)
	case n.Cond == lane.LessUint:
		m.VPCMPUD(predicate, m.op(n.Args[1], vector), x, k)
	default:
		m.VCMPPS(predicate, m.op(n.Args[1], vector), x, k)
	}
	if zero {
		m.VMOVAPS_Z(other, k, dst)
	} else {
		m.VBLENDMPS(m.op(n.Args[2], vector), other, k, dst)
	}
}

// way emits the steps of a Rare: comparisons, jumps and labels.
func (m *laner) way(n *lane.Value, vector int) {
	if n.Op == lane.Rare {
		if m.rares == nil {
			m.rares = map[*lane.Value]*rare{}
		}
		m.rares[n] = &rare{label: len(m.rares) + 1, lanes: m.lanesLess(n, vector)}
	}
	r := m.rares[n]
	if n.Op != lane.Rare {
		r = m.rares[n.Args[len(n.Args)-1]]
	}
	label := func(name string) string { return fmt.Sprint(name, r.label) }
	switch n.Op {
	case lane.Rare:
		m.TESTL(r.lanes, r.lanes)
		if r.short = n.Bits != 0; !r.short {
			m.JNZ(operand.LabelRef(label(emit.BehindLabel)))
			break
		}
		m.JNZ(operand.LabelRef(label(emit.BehindLabel + "short")))
		m.Label(label(emit.BehindLabel + "short"))
	case lane.Short:
		m.TESTL(r.lanes, m.lanesLess(n, vector))
		m.JNZ(operand.LabelRef(label(emit.BehindLabel)))
	case lane.Usual:
		if r.short {
			m.JMP(operand.LabelRef(label("enter")))
			m.Label(label(emit.EndBehindLabel))
			m.Label(label("enter"))
		}
	case lane.Whole:
		m.Label(label(emit.BehindLabel))
	case lane.Done:
		m.JMP(operand.LabelRef(label("done")))
		m.Label(label(emit.EndBehindLabel))
		m.Label(label("done"))
	}
}

// lanesLess are the lanes in which the second operand is less than the first, as int32.
func (m *laner) lanesLess(n *lane.Value, vector int) reg.GPVirtual {
	const greater = 6
	x, limit, less := m.reg(n.Args[0], vector), m.op(n.Args[1], vector), m.GP32()
	if m.EVEX() {
		k := m.K()
		m.VPCMPD(operand.Imm(greater), limit, x, k)
		m.KMOVW(k, less)
	} else {
		t := m.Vec()
		m.VPCMPGTD(limit, x, t)
		m.VMOVMSKPS(t, less)
	}
	return less
}

// chooseDouble emits a Select of float64.
func (m *laner) chooseDouble(n *lane.Value, dst reg.Register, vector int) {
	x, other := m.reg(n.Args[0], vector), m.reg(n.Args[3], vector)
	if !n.Args[1].Is(0) || n.Cond != lane.Equal {
		panic("amd64: no such Select of float64")
	}
	zero, clears := m.Vec(), n.Args[2].Is(0)
	m.Zero(m.Context, zero)
	switch {
	case m.EVEX() && clears:
		k := m.K()
		m.VCMPPD(predicates[n.Cond][1], zero, x, k)
		m.VMOVAPD_Z(other, k, dst)
	case m.EVEX():
		k := m.K()
		m.VCMPPD(predicates[n.Cond][0], zero, x, k)
		m.VBLENDMPD(m.op(n.Args[2], vector), other, k, dst)
	case clears:
		m.VCMPPD(predicates[n.Cond][0], zero, x, zero)
		m.VANDNPD(other, zero, dst)
	default:
		m.VCMPPD(predicates[n.Cond][0], zero, x, zero)
		m.VBLENDVPD(zero, m.op(n.Args[2], vector), other, dst)
	}
}

func (m *laner) load(s *lane.Stream, from operand.Mem, v reg.Register) {
	switch {
	case m.mask == nil:
		m.VMOVUPS(from, v)
	case s.Double && m.EVEX():
		m.VMOVUPD_Z(from, m.wide, v)
	case s.Double:
		m.VMASKMOVPD(from, m.wide, v)
	case m.EVEX():
		m.VMOVUPS_Z(from, m.mask, v)
	default:
		m.VMASKMOVPS(from, m.mask, v)
	}
}

func (m *laner) store(s *lane.Stream, v reg.Register, to operand.Mem) {
	switch {
	case m.mask == nil:
		m.VMOVUPS(v, to)
	case s.Double && m.EVEX():
		m.VMOVUPD(v, m.wide, to)
	case s.Double:
		m.VMASKMOVPD(v, m.wide, to)
	case m.EVEX():
		m.VMOVUPS(v, m.mask, to)
	default:
		m.VMASKMOVPS(v, m.mask, to)
	}
}
