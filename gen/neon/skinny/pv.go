package skinny

import (
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// SkinnyPV follows amd64/skinny/pv.go. An FMA takes its number from any lane, so one load
// brings the weights of 4 queries.
//
// Vector registers: 16 accumulators, one for a vector of a line of V and a query, or of half
// a line of a narrow type if there are more than 4 queries; the line, as it lies and
// widened; the weights; up to 5 to widen it.
//
// Cycles for a line of a key, predicted as in qk.go:
//
//	            1 query            4 queries           8 queries
//	FMAs alone   2.0, 1.0            8.0, 4.0            16, 8
//	float32      4.8, 2.5            8.1, 4.1            16, 8
//	bfloat16     4.1, 2.1  (13, 6)  10.1, 5.1  (16, 7)   18, 9   (24, 11)
//	binary16     8.1, 4.1  (17, 7)  14.0, 8.0  (20, 9)   23, 12  (28, 13)
//	int8        10.0, 5.1  (20, 9)  16.0, 8.1  (23, 10)  25, 13  (31, 14)

type pvEmitter struct {
	*neon
	widener  *emit.Widener
	prefetch *emit.Prefetch
	scales   *valueScales

	v, p, ldv, ldp a64.GP // of the pass, distances in bytes
	vj, pj, steps  a64.GP // of the step; scratch outside of steps
	keys, left     a64.GP // in the pass, and from it on
	column         a64.GP
	columns        a64.GP // left
	lane           a64.GP
	queries        a64.GP        // from lane on
	begun          a64.Param     // whether to start from o
	rows           *emit.Heights // of the group
}

func (g *neon) SkinnyPV(v spec.Element) {
	g.Kernel(spec.SkinnyPV(v))
	f := &pvEmitter{neon: g, widener: g.NewWidener(v), v: g.Slice("v"), ldv: g.StrideOf("ldv", v), p: g.Slice("p"), ldp: g.Stride("ldp"),
		left: g.Num("m"), begun: g.Len("o").Local(), vj: g.GP(), pj: g.GP(), steps: g.GP(), keys: g.GP(),
		column: g.GP(), columns: g.GP(), lane: g.GP(), queries: g.GP()}
	g.Load(g.Param("load"), f.steps)
	g.Op("MOVD", f.steps, f.begun)
	f.prefetch = g.NewPrefetch(f.ldv, "dv", v, 1)
	if v == spec.Int8 {
		f.scales = &valueScales{neon: g, pass: g.Slice("scales"), block: g.GP(), step: g.GP(), ld: g.Stride("lsc"), left: g.GP()}
	}
	f.passes()
}

// passes emits the loop over passes of up to 16 keys. All but the first start from o.
func (f *pvEmitter) passes() {
	f.Label("turn")
	f.Op("MOVD", f.left, f.keys)
	f.Op("CMP", spec.SkinnyKeys, f.keys)
	f.Jump("BLE", "short")
	f.Op("MOVD", spec.SkinnyKeys, f.keys)
	f.Label("short")
	f.prefetch.Start()
	f.scales.startPass()
	f.Load(f.Param("dv"), f.columns)
	f.Op("MOVD", 0, f.column)
	f.blocks()
	f.Op("MOVD", 1, f.steps)
	f.Op("MOVD", f.steps, f.begun)
	f.Op("SUBS", f.keys, f.left, f.left)
	f.Jump("BEQ", "done")
	f.Op("ADD", f.ldv.Shl(4), f.v, f.v)
	f.Op("ADD", f.ldp.Shl(4), f.p, f.p)
	f.prefetch.Forward(f.ldv)
	f.scales.nextPass()
	f.Jump("B", "turn")
	f.Label("done")
	f.Ret()
}

// blocks emits the loops over blocks of columns. Narrow types have rows of whole lines. Many
// queries take half a line at a time, so that it is widened for all of them at once. As they are at
// least 5, groups of 2 to 4 are for what 8 leaves over, and there is code for only one such group.
// From 5 on a loop is for two numbers of queries, see emit.Heights.
func (f *pvEmitter) blocks() {
	line := columnBlock{"line", spec.SkinnyKeys, fewSizes, f.widener.Element}
	if f.widener.Element == spec.Float32 {
		f.block(line)
		f.block(columnBlock{"four", emit.VecLanes, fewestSizes, spec.Float32})
		f.block(columnBlock{"single", 1, fewestSizes, spec.Float32})
		return
	}
	f.Load(f.Param("n"), f.steps)
	f.Op("CMP", skinnyRows, f.steps)
	f.Jump("BGT", "half")
	f.block(line)
	f.block(columnBlock{"half", spec.SkinnyKeys / 2, []emit.Span{{Least: 1, Most: 1}, {Least: 5, Most: 6}, {Least: 7, Most: 8}}, f.widener.Element})
}

// fewSizes are groups of up to 4 queries, and fewestSizes those for less than a line: there are few
// such columns, if any.
var (
	fewSizes    = []emit.Span{{Least: 1, Most: 1}, {Least: 2, Most: skinnyRows}}
	fewestSizes = []emit.Span{{Least: 1, Most: 1}, {Least: skinnyRows, Most: skinnyRows}}
)

// A columnBlock is a number of columns that are computed at once, for as many queries as there is
// code for.
type columnBlock struct {
	name    string
	columns int
	sizes   []emit.Span // numbers of queries, from 1 on
	element spec.Element
}

// bytes is the size of the columns in V.
func (s columnBlock) bytes() int { return s.columns << s.element.Shift() }

// unrolled is the number of keys per iteration of the inner loop: a line of memory, or one.
func (s columnBlock) unrolled() int {
	if s.prefetches() {
		return spec.LineBytes / s.bytes()
	}
	return 1
}

// takesAll reports whether a group has all queries: more would take half a line.
func (s columnBlock) takesAll() bool {
	return s.element != spec.Float32 && s.sizes[len(s.sizes)-1].Most <= skinnyRows
}

// prefetches reports whether its loop has prefetches.
func (s columnBlock) prefetches() bool { return s.columns > emit.VecLanes }

// vectorsOf is the number of vectors of a number of bytes, at least 1.
func vectorsOf(bytes int) int { return max(1, bytes/emit.VecBytes) }

// moveOf is the instruction that moves a number of bytes, or a vector.
func moveOf(bytes int) string {
	switch bytes {
	case 4:
		return "FMOVS"
	case 8:
		return "FMOVD"
	}
	return "FMOVQ"
}

// block emits the loop over blocks, while there are enough columns for one, and in it the
// loop over groups of queries.
func (f *pvEmitter) block(s columnBlock) {
	f.Label(s.name)
	f.Op("SUBS", s.columns, f.columns, f.columns)
	f.Jump("BLT", s.name+"end")
	f.Op("MOVD", 0, f.lane)
	f.Commentf("The largest group of queries that there is code for.")
	if !s.takesAll() {
		f.Label(s.name + "group")
	}
	f.Load(f.Param("n"), f.queries)
	f.Op("SUB", f.lane, f.queries, f.queries)
	for _, size := range slices.Backward(s.sizes[1:]) {
		f.Op("CMP", size.Least, f.queries)
		f.Jump("BGE", s.name+groupLabel(size.Most))
	}
	for _, size := range s.sizes {
		f.Scope(func() { f.group(s, size) })
	}
	f.Label(s.name + "next")
	if !s.takesAll() {
		f.Load(f.Param("n"), f.steps)
		f.Op("CMP", f.steps, f.lane)
		f.Jump("BLT", s.name+"group")
	}
	f.Op("ADD", s.columns, f.column, f.column)
	f.scales.nextBlock(s)
	f.Jump("B", s.name)
	f.Label(s.name + "end")
	f.Op("ADD", s.columns, f.columns, f.columns)
}

// group emits the keys of a pass for a block and a span of queries, from lane on.
func (f *pvEmitter) group(s columnBlock, span emit.Span) {
	size := span.Most
	name := s.name + groupLabel(size)
	f.Commentf("%v queries.", span)
	if size > 1 {
		f.Label(name)
	}
	f.rows = f.NewHeights(name, span, func() a64.GP { return f.queries })
	acc := make([][]a64.Vec, size)
	for i := range acc {
		acc[i] = f.Vecs(vectorsOf(4 * s.columns))
		for _, x := range acc[i] {
			f.Zero(x)
		}
	}
	f.Load(f.begun, f.steps)
	f.Jump("CBZ", name+"zero", f.steps)
	move := moveOf(4 * s.columns)
	f.eachRow(acc, func(x a64.Vec, m a64.Mem) { f.Op(move, m, x) })
	f.Label(name + "zero")
	f.Op("ADD", f.column.Shl(f.widener.Element.Shift()), f.v, f.vj)
	f.Op("ADD", f.lane.Shl(2), f.p, f.pj)
	f.scales.startGroup()
	f.Op("MOVD", f.keys, f.steps)
	if s.keyByKey() {
		f.byKeys(s, acc, name)
	} else {
		f.byLines(s, acc, name)
	}
	f.eachRow(acc, func(x a64.Vec, m a64.Mem) { f.Op(move, x, m) })
	f.Op("ADD", size, f.lane, f.lane)
	f.Jump("B", s.name+"next")
}

// keyByKey reports whether the loop over keys is not unrolled to whole lines of memory. To count
// keys takes three instructions for each. Conversions, or products for many queries, keep the
// vector units busy meanwhile: llvm-mca predicts up to 1% more cycles on Neoverse N1 and V2, and
// for 8 queries 3% with int8 and 7% with binary16. Lines of bfloat16 for few queries would take a
// tenth more.
func (s columnBlock) keyByKey() bool {
	return s.unrolled() > 1 && (s.element != spec.BF16 || !s.takesAll())
}

// byKeys emits the loop over keys, one by one, with the prefetches of a line before those that fill
// it. The last of them come first if they fill none.
func (f *pvEmitter) byKeys(s columnBlock, acc [][]a64.Vec, name string) {
	f.Jump("CBZ", name+"end", f.steps)
	f.Op("TST", s.unrolled()-1, f.steps)
	f.Jump("BNE", name+"step")
	f.Label(name + "turn")
	f.prefetch.Step(name + "ahead")
	f.Align(32)
	f.Label(name + "step")
	f.step(s, acc)
	f.Op("SUB", 1, f.steps, f.steps)
	f.Op("TST", s.unrolled()-1, f.steps)
	f.Jump("BNE", name+"step")
	f.Jump("CBNZ", name+"turn", f.steps)
	f.Label(name + "end")
}

// byLines emits the loop over keys, as many at once as fill a line of memory, one or two. Of two, one
// may be left.
func (f *pvEmitter) byLines(s columnBlock, acc [][]a64.Vec, name string) {
	f.loop(name+"turn", s.unrolled(), func() {
		if s.prefetches() {
			f.prefetch.Step(name + "ahead")
		}
		for range s.unrolled() {
			f.step(s, acc)
		}
	})
	if s.unrolled() > 1 {
		f.Jump("CBZ", name+"stepend", f.steps)
		f.step(s, acc)
		f.Label(name + "stepend")
	}
}

// loop emits a loop over steps, steps of them per iteration, and leaves the number of the
// remaining ones.
func (f *pvEmitter) loop(name string, steps int, body func()) {
	f.Op("SUBS", steps, f.steps, f.steps)
	f.Jump("BLT", name+"end")
	f.Align(32)
	f.Label(name)
	body()
	f.Op("SUBS", steps, f.steps, f.steps)
	f.Jump("BGE", name)
	f.Label(name + "end")
	f.Op("ADD", steps, f.steps, f.steps)
}

// step emits the products of a key.
func (f *pvEmitter) step(s columnBlock, acc [][]a64.Vec) {
	f.Scope(func() {
		v, wide, half, scale := f.Vecs(vectorsOf(s.bytes())), f.Vecs(len(acc[0])), f.Vec(), f.Vec()
		p := f.Vecs((len(acc) + emit.VecLanes - 1) / emit.VecLanes)
		for i := range v {
			f.Op(moveOf(s.bytes()), a64.At(f.vj, i*emit.VecBytes), v[i])
		}
		if len(acc) == 1 {
			f.Op("FMOVS", a64.At(f.pj, 0), p[0]) // perhaps the last lane
		} else {
			for i := range p {
				f.LoadFrom(a64.At(f.pj, i*emit.VecBytes), p[i])
			}
		}
		f.scales.load(scale)
		f.Op("ADD", f.ldv, f.vj, f.vj)
		f.Op("ADD", f.ldp, f.pj, f.pj)
		f.widener.Prepare(v...)
		groups := f.widener.Groups()
		for x := range wide {
			wide[x] = f.widener.Widen(v[x/groups], x%groups, half, wide[x], scale)
		}
		f.rows.Compare()
		f.rows.Rows(func(i int) {
			for x := range wide {
				f.FMLALane(acc[i][x], wide[x], p[i/emit.VecLanes].S(i%emit.VecLanes))
			}
		})
	})
}

// eachRow calls do for every accumulator and its place in o.
func (f *pvEmitter) eachRow(acc [][]a64.Vec, do func(x a64.Vec, m a64.Mem)) {
	row, ldo := f.vj, f.pj
	f.Load(f.Param("ldo"), ldo)
	f.Op("MUL", ldo, f.lane, row)
	f.Op("ADD", f.column, row, row)
	f.Load(f.Base("o"), f.steps)
	f.Op("ADD", row.Shl(2), f.steps, row)
	f.rows.Compare()
	f.rows.Rows(func(i int) {
		for x, v := range acc[i] {
			do(v, a64.At(row, x*emit.VecBytes))
		}
		if i+1 < len(acc) {
			f.Op("ADD", ldo.Shl(2), row, row)
		}
	})
}
