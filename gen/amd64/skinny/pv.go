package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// SkinnyPV is the product of the weights and V for few queries, with an output in rows: the
// columns of V are in the lanes, and V is read as it lies. A pass takes 16 rows of V, or
// lineKeys, which stay in L1, one column of cache lines after the other:
//
//	o[query][line] ──► acc     acc[query] += p[j][query], a broadcast, · v[j][line]     acc ──► o
//
// A line has few accumulators, which wait for each other. But it takes so little time that
// the processor works on the next lines meanwhile. The prefetches of some keys come
// before their products. The remaining columns of a row are computed at once, one vector under a
// mask. For narrow types a line has 16 columns, too. They
// are widened when they are loaded.
//
// With 32 registers, up to 6 queries first take 4 lines at a time: a weight is then loaded once
// for 4 FMAs instead of once for each, and even one query has 4 chains. From L1, Emerald Rapids
// takes 40% less time with 1 query, 30% less with 4. They take the last columns of a row, too, if
// these have a part of each line. What widens takes a mask at no cost. So lines of narrow types
// take fewer columns as well. Loads of float32 would take one more instruction.
//
// General registers in the inner loop: v and p with their strides, the prefetch (3), steps left,
// perhaps the scale, and with int4 the distance of another one. Around it: v and p of the pass, the
// column, the columns left and lane. That is 15 of 15. These are in memory, in the place of
// arguments: the keys left, the keys of the pass, the rows' stride of o in bytes, where the group's
// first row is stored, the scales' stride in bytes, the starts of the pass's and of the current
// columns' scales, and the columns left that have these.
//
// A loop serves several numbers of queries, see emit.Heights.
func (g *gen) SkinnyPV(v spec.Element) {
	if v != spec.Float32 {
		g.Kernel(spec.SkinnyPV(v))
		g.newPV(v).strided(1).passes()
		return
	}
	_, variants := g.SkinnyVariants()
	for _, x := range variants {
		g.Kernel(x.Function())
		g.newPV(v).strided(x.Near).passes()
	}
}

func (g *gen) newPV(v spec.Element) *pvEmitter {
	return &pvEmitter{g: g, element: v, begun: g.Argument("load"), keys: g.Memory(g.Param("v").Len()), ldo: g.Argument("ldo"), to: g.Memory(g.Param("o").Cap())}
}

// strided takes rows of V at equal distances and prefetches them into a level of the cache.
func (f *pvEmitter) strided(near int) *pvEmitter {
	ldv := f.g.StrideOf("ldv", f.element)
	f.way, f.left = stridedValues{f, ldv}, f.g.Argument("m")
	f.prefetch = f.g.NewPrefetch(ldv, "dv", f.element, f.prefetchBytes(), near)
	f.v = f.g.Slice("v")
	return f
}

// prefetchBytes are the bytes of a row that are prefetched at once.
func (f *pvEmitter) prefetchBytes() int { return f.element.Bytes(f.unrolled() * spec.SkinnyKeys) }

// begin prepares what all passes need.
func (f *pvEmitter) begin() {
	g, v := f.g, f.element
	g.SHLQ(operand.Imm(2), f.ldo)
	f.height, f.count = g.Frame(8), g.Frame(8)
	f.p, f.ldp = g.Slice("p"), g.Stride("ldp")
	f.vj, f.pj, f.steps = g.GP64(), g.GP64(), g.GP64()
	f.column, f.columns, f.lane = g.GP64(), g.GP64(), g.GP64()
	f.wide = g.newValueWidener(v)
	if v.IsScaled() {
		f.sj = g.GP64()
		if v == spec.Int4 {
			f.other = g.GP64()
		}
		f.lsc, f.perScale = g.Argument("lsc"), g.Argument("group")
		f.scales, f.scale, f.ofScale = g.Memory(g.Param("scales").Base()), g.Memory(g.Param("scales").Len()), g.Memory(g.Param("scales").Cap())
		g.SHLQ(operand.Imm(2), f.lsc)
	}
}

type pvEmitter struct {
	g        *gen
	element  spec.Element
	prefetch *emit.Prefetch

	way     valueWay
	v, p    reg.GPVirtual // of the pass; if rows lie anywhere, v is the place of their offsets
	ldp     reg.GPVirtual // in bytes
	vj, pj  reg.GPVirtual // of the step
	sj      reg.GPVirtual // its scale
	other   reg.GPVirtual // bytes from there to the scale of the second half of a quad of int4
	steps   reg.GPVirtual // left
	column  reg.GPVirtual
	columns reg.GPVirtual // left
	lane    reg.GPVirtual // first query of the current group
	rows    *emit.Heights // of the group
	acc     []reg.VecVirtual
	height  operand.Mem // for rows
	count   operand.Mem // queries of the group, if there are several
	begun   operand.Mem // whether to start from o
	wide    *valueWidener
	tables  []reg.VecVirtual    // of a quad of int4
	order   operand.Op          // of a line's bytes, see orderOf
	mask    reg.VecVirtual      // of the columns that are less than a line
	second  reg.GPVirtual       // columns from the first vector of rest2 to the second
	where   []reg.OpmaskVirtual // the masks of a block's vectors
	left    operand.Mem         // keys, from the pass on
	keys    operand.Mem         // in the pass
	ldo, to operand.Mem         // of o: bytes from row to row, the group's first row

	lsc, perScale operand.Mem
	scales, scale operand.Mem // of the pass, and of the current columns
	ofScale       operand.Mem // columns left that have these
}

// lineKeys are the keys of a pass over rows of two lines or less: so few columns take little time
// beside what a pass takes. With AVX-512, rows of int4 of one line have twice as many.
const lineKeys = 4 * spec.SkinnyKeys

// keysOfPass sets the number of keys of a pass, not more than are left.
func (f *pvEmitter) keysOfPass(keys reg.GPVirtual) {
	columns, short := 2*8*spec.LineBytes/f.element.Bytes(8), f.g.GP64()
	f.g.MOVQ(operand.U32(spec.SkinnyKeys), keys)
	upTo := func(most, n int) { // rows of up to most columns have n keys
		f.g.MOVQ(operand.U32(n), short)
		f.g.CMPQ(f.g.Argument("dv"), operand.I32(most))
		f.g.CMOVQLE(short, keys)
	}
	upTo(columns, lineKeys)
	if f.hasTables(f.quad()) {
		upTo(columns/2, 2*lineKeys)
	}
	f.g.CMPQ(keys, f.left)
	f.g.CMOVQGT(f.left, keys)
}

// passes emits the loop over passes. All but the first start from o.
func (f *pvEmitter) passes() {
	f.begin()
	f.g.Label("turn")
	keys := f.g.GP64()
	f.keysOfPass(keys)
	f.g.MOVQ(keys, f.keys)
	f.prefetch.Start()
	f.startScales()
	f.g.MOVQ(f.g.Num("dv"), f.columns)
	f.g.XORQ(f.column, f.column)
	if f.g.EVEX() {
		f.block(f.quad())
	}
	f.block(f.line())
	for _, s := range f.rests() {
		f.block(s)
	}
	f.g.MOVB(operand.Imm(1), f.begun)
	pass := f.g.GP64()
	f.g.MOVQ(f.keys, pass)
	f.g.SUBQ(pass, f.left)
	f.g.JLE(operand.LabelRef("done"))
	f.way.nextPass()
	f.forward(f.ldp, f.p)
	if f.element.IsScaled() {
		lsc := f.g.GP64()
		f.g.MOVQ(f.lsc, lsc)
		f.forward(lsc, f.scales)
	}
	f.g.JMP(operand.LabelRef("turn"))
	f.g.Label("done")
	f.g.Return()
}

// A valueWay is the way from row to row of V.
type valueWay interface {
	start()           // goes to the first row of a pass, at the current columns
	row() operand.Mem // of the step
	nextRow()
	nextPass()
}

// stridedValues are rows at equal distances, in bytes.
type stridedValues struct {
	*pvEmitter
	ldv reg.GPVirtual
}

func (f stridedValues) start() {
	f.g.LEAQ(f.g.OfColumns(f.v, f.column, f.element), f.vj)
}
func (f stridedValues) row() operand.Mem { return emit.At(f.vj, 0) }
func (f stridedValues) nextRow()         { f.g.ADDQ(f.ldv, f.vj) }
func (f stridedValues) nextPass()        { f.forward(f.ldv, f.v, f.prefetch.Base) }

// forward moves pointers by the rows of a pass.
func (f *pvEmitter) forward(stride reg.GPVirtual, pointers ...operand.Op) {
	bytes := f.g.GP64()
	f.g.MOVQ(stride, bytes)
	f.g.IMULQ(f.keys, bytes)
	for _, p := range pointers {
		f.g.ADDQ(bytes, p)
	}
}

// startScales goes to the scales of a pass's first columns, nextScales from a block's scales to the
// next block's.
func (f *pvEmitter) startScales() {
	if f.element.IsScaled() {
		f.g.Move(f.scales, f.scale)
		f.g.Move(f.perScale, f.ofScale)
	}
}

func (f *pvEmitter) nextScales(s columnBlock) {
	if f.element.IsScaled() {
		f.g.SUBQ(operand.Imm(uint64(s.columns)), f.ofScale)
		f.g.JG(operand.LabelRef(s.name))
		f.g.ADDQ(operand.Imm(4), f.scale)
		if f.element == spec.Int4 && s.lines > 1 { // a quad may end within the next scale's columns
			group := f.g.GP64()
			f.g.MOVQ(f.perScale, group)
			f.g.ADDQ(group, f.ofScale)
			f.g.JG(operand.LabelRef(s.name))
			f.g.ADDQ(operand.Imm(4), f.scale)
		}
		f.g.Move(f.perScale, f.ofScale)
	}
}

// A columnBlock is a number of columns that are computed at once.
type columnBlock struct {
	name    string
	columns int
	groups  []emit.Span // numbers of queries in a group, from 1 on
	lines   int         // in a row, 0 for less than a line
	vectors int         // of the columns
	masked  int         // which vector has columns under a mask, -1: none
	parts   bool        // it takes fewer columns, too: vectors that may lack some are under masks
	least   int         // columns
}

// isMasked tells whether a vector of a block with parts is under a mask.
func (s columnBlock) isMasked(vector int) bool {
	return s.parts && (vector+1)*spec.SkinnyKeys > s.least
}

// line is the block of a cache line's columns.
func (f *pvEmitter) line() columnBlock {
	s := columnBlock{"line", spec.SkinnyKeys, f.lineGroups(), 1, spec.LineBytes / f.g.VecBytes(), -1, false, spec.SkinnyKeys}
	if f.widensUnderMasks() {
		s.parts, s.least = true, 1
	}
	return s
}

// lineGroups has a loop for each number of queries up to 4: on Zen 4 one for all takes up to half
// as long again with AVX2, as the fewer instructions a line has, the more of the next ones the
// processor works on meanwhile.
func (f *pvEmitter) lineGroups() (groups []emit.Span) {
	for n := 1; n <= fewRows.Most; n++ {
		groups = append(groups, emit.Span{Least: n, Most: n})
	}
	if f.g.SkinnyRows() > fewRows.Most {
		groups = append(groups, emit.Span{Least: fewRows.Most + 1, Most: f.g.SkinnyRows()})
	}
	return groups
}

var fewRows = emit.Span{Least: 1, Most: 4}

// quadLines are the lines of a quad.
const quadLines = 4

// quad is the block of 4 lines. 6 queries take 24 accumulators, 4 vectors of V and a weight, 4
// leave registers for tables.
func (f *pvEmitter) quad() columnBlock {
	queries := emit.Span{Least: 1, Most: 6}
	if f.element == spec.Int4 || f.element.IsFloat8() {
		queries = fewRows
	}
	s := columnBlock{"quad", quadLines * spec.SkinnyKeys, []emit.Span{queries}, quadLines, quadLines, -1, true, (quadLines-1)*spec.SkinnyKeys + 1}
	switch {
	case f.element == spec.Int4:
		s.parts, s.least = false, s.columns
	case f.element.IsFloat8(): // lines take fewer instructions than their parts
		s.least -= spec.SkinnyKeys
	}
	return s
}

// widensUnderMasks tells whether loads that widen take masks.
func (f *pvEmitter) widensUnderMasks() bool {
	return f.g.EVEX() && f.element != spec.Float32 && f.element != spec.Int4
}

func groupLabel(most int) string { return fmt.Sprintf("group%d", most) }

// upTo lists the numbers from 0 to n-1.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// rests are the blocks of less than a line, of which one takes all columns that are left. Vectors
// one after the other would take twice as long: 4 chains leave FMA units idle.
func (f *pvEmitter) rests() (list []columnBlock) {
	if f.widensUnderMasks() {
		return nil
	}
	for n := spec.LineBytes / f.g.VecBytes(); n > 0; n-- {
		s := columnBlock{fmt.Sprintf("rest%d", n), n * f.g.Lanes(), []emit.Span{fewRows}, 0, n, n - 1, f.element == spec.Float32 && f.g.EVEX(), 1}
		if f.reachesBack() {
			s.masked = 0
		}
		list = append(list, s)
	}
	return list
}

// load loads a block's columns of a row, and emits what before does before the load of each vector.
func (f *pvEmitter) load(s columnBlock, row operand.Mem, v []reg.VecVirtual, before func(i int)) {
	if f.element.IsFloat8() && s.lines == quadLines {
		for i := range v {
			before(i)
		}
		f.loadLine(row, v)
		return
	}
	for i := range v {
		before(i)
		switch m := row.Offset(f.element.Bytes(i * f.g.Lanes())); {
		case f.element == spec.Float32:
			f.loadSum(s, row, i, v[i])
		case f.endsRow(s, i):
			f.wide.load(f.atEnd(row, f.element), v[i])
		case s.isMasked(i):
			f.wide.loadWhere(m, f.where[i], v[i])
		default:
			f.wide.load(m, v[i])
		}
	}
}

// hasTables tells whether the numbers of a block are looked up in tables of their products with
// scales. The tables are made before the FMAs of the step before, which take the same ports.
func (f *pvEmitter) hasTables(s columnBlock) bool {
	return f.g.EVEX() && f.element == spec.Int4 && s.lines > 1
}

// makeTables makes the tables of a quad, one for each half.
func (f *pvEmitter) makeTables() {
	f.wide.nibbles.Scale(emit.At(f.sj, 0), f.tables[0])
	f.wide.nibbles.Scale(emit.Indexed(f.sj, f.other, 1), f.tables[1])
}

// loadNibbles loads the columns of a quad of int4, and makes the tables of the next step, or the
// same ones once more.
func (f *pvEmitter) loadNibbles(row operand.Mem, v []reg.VecVirtual, before func(i int)) {
	for i := range v {
		before(i)
		f.wide.nibbles.LoadScaled(row.Offset(f.element.Bytes(i*f.g.Lanes())), f.tables[2*i/len(v)], v[i])
	}
	next := f.g.GP64()
	f.g.MOVQ(f.sj, next)
	f.g.ADDQ(f.lsc, next)
	f.g.CMPQ(f.steps, operand.Imm(1))
	f.g.CMOVQNE(next, f.sj)
	f.makeTables()
}

// loadLine loads the columns of a line of fp8: the first half of a line, and another one that ends
// with them.
func (f *pvEmitter) loadLine(row operand.Mem, v []reg.VecVirtual) {
	emit.LoadFirst(f.g.Context, row, v[0], v[0].AsY())
	f.g.ADDQ(f.columns, row.Index)
	f.g.VINSERTI64X4(operand.Imm(1), row.Offset(-spec.LineBytes/2), v[0], v[0])
	f.wide.float8.LoadLine(v[0], f.order, v)
}

// endsRow tells whether a vector comes second in rest2. It may overlap the first.
func (f *pvEmitter) endsRow(s columnBlock, vector int) bool {
	return s.lines == 0 && vector == 1 && f.reachesBack() && f.shortRows()
}

// atEnd is where that vector begins in a row.
func (f *pvEmitter) atEnd(row operand.Mem, e spec.Element) operand.Mem {
	if row.Index == nil {
		return f.g.OfColumns(row.Base.(reg.GPVirtual), f.second, e)
	}
	at := row.Index.(reg.GPVirtual)
	f.g.LEAQ(f.g.OfColumns(at, f.second, e), at)
	return row
}

// sum is where vector x of a row of sums begins.
func (f *pvEmitter) sum(s columnBlock, row operand.Mem, x int) operand.Mem {
	if f.endsRow(s, x) {
		return f.atEnd(row, spec.Float32)
	}
	return row.Offset(x * f.g.VecBytes())
}

// loadSum and store move vector x of a row of sums.
func (f *pvEmitter) loadSum(s columnBlock, row operand.Mem, x int, v reg.VecVirtual) {
	switch m := f.sum(s, row, x); {
	case s.isMasked(x):
		f.g.VMOVUPS_Z(m, f.where[x], v)
	case x == s.masked:
		f.g.LoadWhere(f.g.Context, m, f.mask, v)
	default:
		f.g.VMOVUPS(m, v)
	}
	if f.element == spec.Int4 && f.g.EVEX() {
		f.g.ToNibbles(v)
	}
}

func (f *pvEmitter) store(s columnBlock, row operand.Mem, x int, v reg.VecVirtual) {
	if f.element == spec.Int4 && f.g.EVEX() {
		f.g.FromNibbles(v)
	}
	switch m := f.sum(s, row, x); {
	case s.isMasked(x):
		f.g.VMOVUPS(v, f.where[x], m)
	case x == s.masked:
		f.g.StoreWhere(f.g.Context, v, f.mask, m)
	default:
		f.g.VMOVUPS(v, m)
	}
}

// block emits the loop over blocks, while there are enough columns for one, and in it the
// loop over groups of queries.
func (f *pvEmitter) block(s columnBlock) {
	f.g.Label(s.name)
	switch {
	case s.parts:
		f.g.CMPQ(f.columns, operand.Imm(uint64(s.least)))
		f.g.JL(operand.LabelRef(s.name + "end"))
		f.masks(s)
	case s.lines == 0:
		others := s.columns - f.g.Lanes()
		f.g.CMPQ(f.columns, operand.Imm(uint64(others)))
		f.g.JLE(operand.LabelRef(s.name + "end"))
		f.mask = f.g.Vec()
		if f.reachesBack() {
			f.reachBack(s)
		} else {
			f.g.VMOVUPS(emit.At(f.g.Masks(f.columns), 4*others), f.mask)
		}
		f.g.SUBQ(operand.Imm(uint64(s.columns)), f.columns)
	default:
		f.g.SUBQ(operand.Imm(uint64(s.columns)), f.columns)
		f.g.JL(operand.LabelRef(s.name + "end"))
	}
	if s.lines > 1 {
		f.fits(s)
	}
	f.g.XORQ(f.lane, f.lane)
	f.g.Label(s.name + "group")
	n := f.g.Num("n")
	f.g.SUBQ(f.lane, n)
	acc, groups := f.accumulators(s), s.groups
	if groups[0].Single() {
		f.g.CMPQ(n, operand.Imm(1))
		f.g.JG(operand.LabelRef(s.name + "several"))
		f.one(s, acc[0])
		f.g.JMP(operand.LabelRef(s.name + "next"))
		groups = groups[1:]
		f.g.Label(s.name + "several")
	}
	f.several(s, groups, acc, n)
	if groups[0] != s.groups[0] {
		f.g.Label(s.name + "next")
	}
	if s.lines <= 1 || f.element.IsFloat8() { // else there is one group, see fits
		f.g.CMPQ(f.lane, f.g.Argument("n"))
		f.g.JL(operand.LabelRef(s.name + "group"))
	}
	f.g.ADDQ(operand.Imm(uint64(s.columns)), f.column)
	if s.parts {
		f.countColumns()
	}
	if s.lines > 0 {
		f.nextScales(s)
	}
	f.g.JMP(operand.LabelRef(s.name))
	f.g.Label(s.name + "end")
	switch {
	case s.parts && s.lines > 1:
		f.countColumns()
	case s.lines > 0 && !s.parts:
		f.g.ADDQ(operand.Imm(uint64(s.columns)), f.columns)
	}
}

// masks makes the masks of a block, and has columns count the block's alone.
func (f *pvEmitter) masks(s columnBlock) {
	const above = 6
	f.where = make([]reg.OpmaskVirtual, s.vectors)
	each := func(do func(i int)) {
		for i := range f.where {
			if s.isMasked(i) {
				do(i)
			}
		}
	}
	each(func(i int) { f.where[i] = f.g.K() })
	if s.lines > 0 {
		f.g.CMPQ(f.columns, operand.Imm(uint64(s.columns)))
		f.g.JL(operand.LabelRef(s.name + "part"))
		f.g.MOVQ(operand.U32(s.columns), f.columns)
		each(func(i int) {
			f.g.KXORW(f.where[i], f.where[i], f.where[i])
			f.g.KNOTW(f.where[i], f.where[i])
		})
		f.g.JMP(operand.LabelRef(s.name + "masked"))
		f.g.Label(s.name + "part")
	}
	count := f.g.Vec()
	f.g.VPBROADCASTD(f.columns.As32(), count)
	each(func(i int) {
		f.g.VPCMPUD(operand.Imm(above), f.g.Places().Offset(i*f.g.VecBytes()), count, f.where[i])
	})
	if s.lines > 0 {
		f.g.Label(s.name + "masked")
	}
	if f.element.IsFloat8() && s.lines == quadLines {
		f.order = f.wide.orderOf(f.columns)
	}
}

// countColumns counts the columns that are left.
func (f *pvEmitter) countColumns() {
	f.g.MOVQ(f.g.Num("dv"), f.columns)
	f.g.SUBQ(f.column, f.columns)
}

// reachesBack tells whether the columns that are left end a block that begins before them. Loads
// that widen without masks do.
func (f *pvEmitter) reachesBack() bool { return f.element != spec.Float32 }

// shortRows tells whether rows may have fewer columns than a line.
func (f *pvEmitter) shortRows() bool { return f.element != spec.Int4 }

// reachBack goes back so far that the columns that are left end a block, and masks those before
// them. A row of less than two vectors has nothing before it: its second vector overlaps the
// first.
func (f *pvEmitter) reachBack(s columnBlock) {
	back := f.g.GP64()
	f.g.MOVQ(operand.U32(s.columns), back)
	f.g.SUBQ(f.columns, back)
	if f.endsRow(s, s.vectors-1) {
		f.second = f.g.GP64()
		f.g.MOVQ(operand.U32(f.g.Lanes()), f.second)
		f.g.SUBQ(back, f.second)
		f.g.CMPQ(f.column, operand.Imm(0))
		f.g.CMOVQEQ(f.column, back)
		f.g.JE(operand.LabelRef(s.name + "back"))
		f.g.MOVQ(operand.U32(f.g.Lanes()), f.second)
		f.g.Label(s.name + "back")
	}
	f.g.SUBQ(back, f.column)
	f.g.VMOVUPS(f.g.Constant(1<<32-1), f.mask)
	f.g.VXORPS(emit.At(f.g.Masks(back), 0), f.mask, f.mask)
}

// accumulators returns the accumulators of a block. All blocks have the same: where rows may be
// missing, avo keeps registers from the start of the function on.
func (f *pvEmitter) accumulators(s columnBlock) [][]reg.VecVirtual {
	each := s.vectors
	if len(f.acc) == 0 {
		f.acc = f.g.Vecs(max(s.most()*each, f.line().most()*f.line().vectors))
	}
	acc := make([][]reg.VecVirtual, s.most())
	for i := range acc {
		acc[i] = f.acc[i*each:][:each]
	}
	return acc
}

// fits skips the blocks of several lines if the queries are more than one group, which would read
// V more than once, or if the columns of a block of int8 have more than one scale. A whole line of
// fp8 takes fewer instructions a column than its parts, so that further queries read V again. The
// columns of a block of int4 have one scale or two, each for half of them: blocks begin at
// multiples of their columns, and scales are for multiples of half as many, or all. So other is 0
// or the distance of two scales.
func (f *pvEmitter) fits(s columnBlock) {
	if f.element.IsFloat8() {
		return
	}
	f.g.CMPQ(f.g.Argument("n"), operand.Imm(uint64(s.most())))
	f.g.JG(operand.LabelRef(s.name + "end"))
	switch f.element {
	case spec.Int8:
		f.g.CMPQ(f.columns, f.ofScale)
		f.g.JG(operand.LabelRef(s.name + "end"))
	case spec.Int4:
		f.g.XORQ(f.other, f.other)
		f.g.CMPQ(f.ofScale, operand.Imm(uint64(s.columns)))
		f.g.JGE(operand.LabelRef(s.name + "one"))
		f.g.MOVQ(operand.U32(4), f.other)
		f.g.Label(s.name + "one")
	}
}

// most is the largest number of queries of a group.
func (s columnBlock) most() int { return s.groups[len(s.groups)-1].Most }

// one emits the keys of a pass for a block and a single query: the fewer instructions it takes, the
// better.
func (f *pvEmitter) one(s columnBlock, acc []reg.VecVirtual) {
	name := s.name + groupLabel(1)
	f.g.Commentf("%d columns of a query.", s.columns)
	f.rows = f.g.NewHeights(name, emit.Span{Least: 1, Most: 1}, f.height)
	f.startOfO()
	f.g.CMPB(f.begun, operand.Imm(0))
	f.g.JE(operand.LabelRef(name + "zero"))
	o := f.g.GP64()
	f.g.MOVQ(f.to, o)
	for x, v := range acc {
		f.loadSum(s, emit.At(o, 0), x, v)
	}
	f.g.JMP(operand.LabelRef(name + "begin"))
	f.g.Label(name + "zero")
	f.zero(acc)
	f.g.Label(name + "begin")
	f.startKeys()
	f.products(s, f.rows.Span, [][]reg.VecVirtual{acc}, name)
	f.g.Label(name + "store")
	f.g.MOVQ(f.to, o)
	for x, v := range acc {
		f.store(s, emit.At(o, 0), x, v)
	}
	f.g.INCQ(f.lane)
}

func (f *pvEmitter) zero(acc []reg.VecVirtual) {
	for _, v := range acc {
		f.g.VXORPS(v, v, v)
	}
}

// several emits groups of a block, which have what comes before and after their loops in common,
// for some of the n queries from lane on.
func (f *pvEmitter) several(s columnBlock, groups []emit.Span, acc [][]reg.VecVirtual, n reg.GPVirtual) {
	name, most := s.name+"several", f.g.GP64()
	f.g.Commentf("%d columns.", s.columns)
	f.g.MOVQ(operand.U32(s.most()), most)
	f.g.CMPQ(n, most)
	f.g.CMOVQGT(most, n)
	f.g.MOVQ(n, f.count)
	f.startOfO()
	f.g.CMPB(f.begun, operand.Imm(0))
	f.g.JE(operand.LabelRef(name + "zero"))
	f.countedOfO(acc, name+"begin", func(row operand.Mem, x int, v reg.VecVirtual) { f.loadSum(s, row, x, v) })
	f.g.JMP(operand.LabelRef(name + "begin"))
	f.g.Label(name + "zero")
	f.zero(slices.Concat(acc...))
	f.g.Label(name + "begin")
	for _, size := range slices.Backward(groups[1:]) {
		f.g.CMPQ(f.count, operand.Imm(uint64(size.Least)))
		f.g.JGE(operand.LabelRef(s.name + groupLabel(size.Most)))
	}
	for i, size := range groups {
		group := s.name + groupLabel(size.Most)
		f.g.Commentf("%v queries.", size)
		if i > 0 {
			f.g.JMP(operand.LabelRef(name + "store"))
			f.g.Label(group)
		}
		f.rows = f.g.NewHeights(group, size, f.height)
		if !size.Single() {
			rows := f.g.GP64()
			f.g.MOVQ(f.count, rows)
			f.rows.Set(rows)
		}
		f.startKeys()
		f.products(s, size, acc[:size.Most], group)
		f.g.Label(group + "store")
	}
	f.g.Label(name + "store")
	f.countedOfO(acc, name+"stored", func(row operand.Mem, x int, v reg.VecVirtual) { f.store(s, row, x, v) })
	f.g.Label(name + "stored")
	f.g.ADDQ(f.count, f.lane)
}

// startKeys goes to the first key of a pass.
func (f *pvEmitter) startKeys() {
	f.way.start()
	f.g.LEAQ(emit.Indexed(f.p, f.lane, 4), f.pj)
	if f.element.IsScaled() {
		f.g.MOVQ(f.scale, f.sj)
	}
	f.g.MOVQ(f.keys, f.steps)
}

// products emits the loop over the keys of a pass, which ends at the label after it.
func (f *pvEmitter) products(s columnBlock, size emit.Span, acc [][]reg.VecVirtual, name string) {
	switch {
	case s.lines > 1 || s.lines == 0 && f.element != spec.Float32:
		f.keyByKey(s, acc, name)
	case s.lines == 1 && f.g.EVEX() && f.element != spec.Float32 && size.Least > countedQueries:
		f.keysOfLines(s, acc, name)
	default:
		f.someKeys(s, acc, name)
	}
}

// keyByKey emits the loop over the keys of a pass for several lines of a row, or for less than one:
// prefetches of as many lines, each before a load, then the products. Granite Rapids reads less
// from memory if all prefetches come before all loads.
func (f *pvEmitter) keyByKey(s columnBlock, acc [][]reg.VecVirtual, name string) {
	f.g.TESTQ(f.steps, f.steps)
	f.g.JZ(operand.LabelRef(name + "store"))
	if f.hasTables(s) {
		f.tables = f.g.Vecs(2)
		f.makeTables()
	}
	f.g.AlignLoop()
	f.g.Label(name + "turn")
	perLine := f.unrolled() * spec.LineBytes / f.prefetchBytes() // vectors of a line in memory
	if s.lines > 0 && perLine > s.vectors {                      // a line in memory is several rows of the block
		f.g.TESTQ(operand.I32(perLine/s.vectors-1), f.steps)
		f.g.JNZ(operand.LabelRef(name + "near"))
		f.prefetch.Lines(name+"lines", 0)
		f.prefetch.Advance(name + "near")
	}
	f.stepBetween(s, acc, func(i int) {
		if x := i % f.unrolled(); s.lines > 0 && perLine <= s.vectors && x%perLine == 0 {
			f.prefetch.Lines(fmt.Sprintf("%snear%d", name, i), x/perLine)
			if x+perLine == f.unrolled() {
				f.prefetch.Advance(fmt.Sprintf("%sahead%d", name, i))
			}
		}
	})
	f.g.DECQ(f.steps)
	f.g.JNZ(operand.LabelRef(name + "turn"))
}

// countedQueries is the number of queries above which keysOfLines takes no longer than someKeys:
// the FMAs and conversions of a key then take longer than its instructions.
const countedQueries = 4

// keysOfLines emits the loop over the keys of a pass, one by one, for a line of a narrow type with
// AVX-512: the prefetches of some lines, then the keys until their number is a multiple of that
// again. (Go's assembler does not end if the label after the prefetches is aligned.)
func (f *pvEmitter) keysOfLines(s columnBlock, acc [][]reg.VecVirtual, name string) {
	unrolled := f.unrolled()
	f.g.TESTQ(f.steps, f.steps)
	f.g.JZ(operand.LabelRef(name + "store"))
	f.g.TESTQ(operand.I32(unrolled-1), f.steps)
	f.g.JNZ(operand.LabelRef(name + "step"))
	f.g.Label(name + "turn")
	f.prefetch.Lines(name+"near", upTo(unrolled)...)
	f.prefetch.Advance(name + "ahead")
	f.g.Label(name + "step")
	f.step(s, acc)
	f.g.DECQ(f.steps)
	f.g.TESTQ(operand.I32(unrolled-1), f.steps)
	f.g.JNZ(operand.LabelRef(name + "step"))
	f.g.TESTQ(f.steps, f.steps)
	f.g.JNZ(operand.LabelRef(name + "turn"))
}

// someKeys emits the loop over the keys of a pass, some at a time, for a line or less of a row. The
// keys that this does not divide come first, one by one.
func (f *pvEmitter) someKeys(s columnBlock, acc [][]reg.VecVirtual, name string) {
	keys, unrolled := 2, f.unrolled()
	if len(acc) == 1 && !f.g.EVEX() && f.element.PerWord() == 2 { // its steps are short beside a test every two keys
		keys = unrolled
	}
	f.g.TESTQ(operand.I32(keys-1), f.steps)
	f.g.JZ(operand.LabelRef(name + "keys"))
	f.g.Label(name + "step")
	f.step(s, acc)
	f.g.DECQ(f.steps)
	if keys > 2 {
		f.g.TESTQ(operand.I32(keys-1), f.steps)
		f.g.JNZ(operand.LabelRef(name + "step"))
	}
	f.g.Label(name + "keys")
	f.g.TESTQ(f.steps, f.steps)
	f.g.JZ(operand.LabelRef(name + "store"))
	f.g.AlignLoop()
	f.g.Label(name + "turn")
	if s.lines > 0 {
		if keys < unrolled {
			f.g.TESTQ(operand.I32(unrolled-1), f.steps)
			f.g.JNZ(operand.LabelRef(name + "ahead"))
		}
		f.prefetch.Lines(name+"near", upTo(unrolled)...)
		f.prefetch.Advance(name + "ahead")
	}
	for range keys {
		f.step(s, acc)
	}
	f.g.SUBQ(operand.Imm(uint64(keys)), f.steps)
	f.g.JNZ(operand.LabelRef(name + "turn"))
}

// unrolled is the number of keys that are prefetched at once: their part of a block takes a cache
// line or more.
func (f *pvEmitter) unrolled() int {
	switch f.element {
	case spec.Float32:
		return 2
	case spec.Int4:
		return 8
	}
	return 4
}

func (f *pvEmitter) step(s columnBlock, acc [][]reg.VecVirtual) { f.stepBetween(s, acc, func(int) {}) }

// stepBetween is step with what before emits before the load of each vector.
func (f *pvEmitter) stepBetween(s columnBlock, acc [][]reg.VecVirtual, before func(i int)) {
	v, row := f.g.Vecs(s.vectors), f.way.row()
	if f.hasTables(s) {
		f.loadNibbles(row, v, before)
	} else {
		f.load(s, row, v, before)
		if f.element.IsScaled() {
			f.g.MulBroadcast(f.g.Context, emit.At(f.sj, 0), v)
			f.g.ADDQ(f.lsc, f.sj)
		}
	}
	f.rows.Compare()
	f.rows.Rows(func(i int) { f.g.fmaVectors(emit.At(f.pj, 4*i), v, acc[i]) })
	f.way.nextRow()
	f.g.ADDQ(f.ldp, f.pj)
}

// startOfO finds the group's first row of o.
func (f *pvEmitter) startOfO() {
	o := f.g.GP64()
	f.g.MOVQ(f.ldo, o)
	f.g.IMULQ(f.lane, o)
	f.g.ADDQ(f.g.Memory(f.g.Param("o").Base()), o)
	f.g.LEAQ(emit.Indexed(o, f.column, 4), o)
	f.g.MOVQ(o, f.to)
}

// countedOfO calls do for the accumulators of as many rows as are counted, and their places in o.
// After the last one it jumps to end.
func (f *pvEmitter) countedOfO(acc [][]reg.VecVirtual, end string, do func(row operand.Mem, x int, v reg.VecVirtual)) {
	o, ldo, left := f.g.GP64(), f.g.GP64(), f.g.GP64()
	f.g.MOVQ(f.to, o)
	f.g.MOVQ(f.ldo, ldo)
	f.g.MOVQ(f.count, left)
	for i := range acc {
		for x, v := range acc[i] {
			do(emit.At(o, 0), x, v)
		}
		if i < len(acc)-1 {
			f.g.ADDQ(ldo, o)
			f.g.DECQ(left)
			f.g.JZ(operand.LabelRef(end))
		}
	}
}
