package rvv

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// The kernels for few query rows have keys, or columns of V, in the lanes, as many as the CPU has
// in a group. A row of K or V may end anywhere, as the last lanes are fewer. Numbers of q̂ and of
// the weights come from floating-point registers, as in gemm.go. Rows are not prefetched: RVA22 and
// older CPUs have no instruction for it.

// keyGroup is the size of a group of keys: one for a column of K, and two for each query.
const keyGroup = 2

// A narrow has what widens numbers of a type in registers. Numbers of float32 are loaded as they
// are.
type narrow struct {
	halver
	element spec.Element
	bytes   riscv.Vec // of int8, if the last quarter of a group is less than a register
	scale   riscv.Vec // of int8 with a scale for each lane
	factor  riscv.FP  // or one for all
}

// newNarrow allocates the registers for groups of a size. x is scratch.
func (g *gen) newNarrow(e spec.Element, size int, x riscv.GP) narrow {
	w := narrow{halver: halver{gen: g, x: x}, element: e}
	switch e {
	case spec.F16:
		w.halver = g.newHalver(e, x)
		w.t = g.Vec(size)
	case spec.Int8:
		w.bytes = g.Vec(1)
	}
	return w
}

// load emits the load of a group from p on, whose elements are a distance apart, or side by side if
// there is none. Numbers of int8 are not yet multiplied by scales.
func (w *narrow) load(p riscv.GP, distance *riscv.GP, v riscv.Vec) {
	name, to := map[int]string{0: "8V", 1: "16V", 2: "32V"}[w.element.Shift()], v
	switch w.element {
	case spec.F16, spec.BF16:
		to = v.Last(2)
	case spec.Int8:
		to = w.bytes
	}
	if distance != nil {
		w.Op("VLSE"+name, riscv.At(p, 0), *distance, to)
	} else {
		w.Op("VLE"+name, riscv.At(p, 0), to)
	}
	switch w.element {
	case spec.F16, spec.BF16:
		w.widen(w.element, v)
	case spec.Int8:
		w.Op("VSEXTVF4", w.bytes, v)
		w.Op("VFCVTFXV", v, v)
	}
}

// A qkEmitter has the registers of SkinnyQK.
type qkEmitter struct {
	*gen
	narrow
	k, ld, left, got riscv.GP // of the tile: its keys in memory, their stride in bytes, keys from it on, its own
	s, q, w, n       riscv.GP // scores of the tile; q̂; bytes of a row of either; queries
	kx, qx, column   riscv.GP // at the current step; columns after the segment
	sg, qg, queries  riscv.GP // from the group of queries on
	steps, adds, x   riscv.GP

	// Of int8: the scales of the tile and of the columns at hand, the columns left, and how many of
	// them are in steps of SkinnyGroup.
	scales, scale, scaled, run riscv.GP
}

// SkinnyQK takes as many keys as a group has lanes, and up to 4 queries at a time:
//
//	for each column x:  b = K[..][x];  for each query i:  f = q[x][i];  acc[i] = fma(f, b, acc[i])
//
// b is a load with the stride of K. llvm-mca predicts for SiFive's P670, with registers of 128
// bits, that a column of 8 keys takes 6 cycles with 1 to 4 queries, the latency of an FMA. To load
// 8 columns of 4 keys at once (vlsseg8e32.v) takes 44 alone.
//
// Then the queries' scores lie in columns of s. A second loop goes through the rows, with queries
// in the lanes: it fills the idle lanes and raises the maxima.
//
// Numbers of narrow types are widened, which takes longer than the FMAs of a query. So there are
// loops for one query and for 4, of which some repeat others.
func (g *gen) SkinnyQK(e spec.Element) {
	g.kernel(spec.SkinnyQK(e))
	f := &qkEmitter{gen: g, k: g.Load(g.Base("k")), ld: g.Load(g.Param("ldk")), left: g.Load(g.Param("m")), got: g.GP(),
		s: g.Load(g.Base("s")), q: g.Load(g.Base("q")), w: g.Load(g.Len("max")), n: g.Load(g.Param("n")),
		kx: g.GP(), qx: g.GP(), column: g.GP(), sg: g.GP(), qg: g.GP(), queries: g.GP(), steps: g.GP(), adds: g.GP(), x: g.GP()}
	g.Op("SLLI", 2, f.w, f.w)
	if e.Shift() > 0 {
		g.Op("SLLI", e.Shift(), f.ld, f.ld)
	}
	f.narrow = g.newNarrow(e, keyGroup, f.x)
	if e == spec.Int8 {
		f.scales, f.scale, f.scaled, f.run, f.narrow.scale = g.Load(g.Base("scales")), g.GP(), g.GP(), g.GP(), g.Vec(keyGroup)
	}

	g.Label("tile")
	g.SetLanes(f.left, keyGroup, f.got)
	g.Op("MOV", f.s, f.sg)
	g.Op("MOV", f.q, f.qg)
	g.Op("MOV", f.n, f.queries)
	g.Label("group")
	heights := []loop.Span{{Least: 1, Most: 1}, {Least: 2, Most: 2}, {Least: 3, Most: 3}, {Least: 4, Most: 4}}
	if e != spec.Float32 {
		heights = []loop.Span{{Least: 1, Most: 1}, {Least: 2, Most: 4}}
	}
	for _, h := range slices.Backward(heights) {
		g.Op("MOV", h.Least, f.x)
		g.Jump("BGE", fmt.Sprintf("queries%d", h.Most), f.queries, f.x)
	}
	g.Jump("JMP", "rows")
	for _, h := range heights {
		g.Scope(func() { f.group(h.Most) })
	}

	g.Label("rows")
	f.rows()
	g.Op("SUB", f.got, f.left, f.left)
	g.Op("MUL", f.got, f.ld, f.x)
	g.add(f.x, f.k)
	g.Op("MUL", f.got, f.w, f.x)
	g.add(f.x, f.s)
	if e == spec.Int8 {
		g.Op("SLLI", 2, f.got, f.x)
		g.add(f.x, f.scales)
	}
	g.ForgetLanes()
	g.Jump("BNEZ", "tile", f.left)
	g.Ret()
}

// group emits the scores of some queries with the keys of the tile.
func (f *qkEmitter) group(size int) {
	name := func(part string) string { return fmt.Sprintf("%s%d", part, size) }
	f.Commentf("%d queries.", size)
	f.Label(name("queries"))
	b, acc, sums := f.Vec(keyGroup), f.Vecs(size, keyGroup), f.Vecs(size, keyGroup)
	fs := f.fps(size)
	f.Op("MOV", f.k, f.kx)
	f.Op("MOV", f.qg, f.qx)
	f.Op("MOV", f.Param("d"), f.column)
	f.Op("MOV", riscv.Zero, f.adds)
	if f.element == spec.Int8 {
		f.Op("MOV", f.scales, f.scale)
		f.Op("MOV", riscv.Zero, f.scaled)
	}

	f.Label(name("segment"))
	f.Op("MOV", spec.ColumnSegment, f.steps)
	f.Jump("BGE", name("whole"), f.column, f.steps)
	f.Op("MOV", f.column, f.steps)
	f.Label(name("whole"))
	f.Op("SUB", f.steps, f.column, f.column)
	for _, v := range acc {
		f.Op("VMVVI", 0, v)
	}
	if f.element == spec.Int8 {
		f.nextScales(name)
	}
	f.Label(name("step"))
	f.load(f.kx, &f.ld, b)
	if f.element == spec.Int8 {
		f.Op("VFMULVV", f.narrow.scale, b, b)
	}
	f.Op("ADD", 1<<f.element.Shift(), f.kx, f.kx)
	f.products(f.qx, f.w, b, acc, fs)
	f.Op("ADD", -1, f.steps, f.steps)
	if f.element == spec.Int8 {
		f.Op("ADD", -1, f.run, f.run)
		f.Jump("BNEZ", name("step"), f.run)
		f.Jump("BNEZ", name("run"), f.steps)
	} else {
		f.Jump("BNEZ", name("step"), f.steps)
	}

	f.Jump("BEQZ", name("first"), f.adds)
	for i := range acc {
		f.Op("VFADDVV", acc[i], sums[i], sums[i])
	}
	f.Jump("JMP", name("sums"))
	f.Label(name("first"))
	for i := range acc {
		f.Op("VMVVV", acc[i], sums[i])
	}
	f.Label(name("sums"))
	f.Op("MOV", 1, f.adds)
	f.Jump("BNEZ", name("segment"), f.column)
	for _, v := range sums {
		f.Op("VSSE32V", v, f.w, riscv.At(f.sg, 0))
		f.Op("ADD", 4, f.sg, f.sg)
	}
	f.Op("ADD", 4*size, f.qg, f.qg)
	f.Op("ADD", -size, f.queries, f.queries)
	f.Jump("JMP", "group")
}

// nextScales begins the next columns with the same scale.
func (f *qkEmitter) nextScales(name func(part string) string) {
	f.Label(name("run"))
	f.Jump("BNEZ", name("scaled"), f.scaled)
	f.Op("VLE32V", riscv.At(f.scale, 0), f.narrow.scale)
	f.Op("MOV", f.Param("lsc"), f.x)
	f.Op("SLLI", 2, f.x, f.x)
	f.add(f.x, f.scale)
	f.Op("MOV", f.Param("group"), f.scaled)
	f.Label(name("scaled"))
	f.Op("MOV", spec.SkinnyGroup, f.run)
	f.Op("SUB", f.run, f.scaled, f.scaled)
}

// rows emits the loop over the rows of scores of the tile, for some lanes after others. With
// n-1 = 4·g + r lane x has the score of query min(x, 4·g + x%4, n-1).
func (f *qkEmitter) rows() {
	f.Scope(func() {
		index, other, x, top := f.Vec(keyGroup), f.Vec(keyGroup), f.Vec(keyGroup), f.Vec(keyGroup)
		lane, lanes, max, row, to, last, rows := f.kx, f.qx, f.column, f.sg, f.qg, f.queries, f.steps
		f.Op("MOV", riscv.Zero, lane)
		f.Op("MOV", f.Base("max"), max)
		f.Label("lanes")
		f.Op("SRLI", 2, f.w, f.x)
		f.Op("SUB", lane, f.x, f.x)
		f.SetLanes(f.x, keyGroup, lanes)
		f.Op("VIDV", index)
		f.Op("VADDVX", lane, index, index)
		f.Op("VANDVI", 3, index, other)
		f.Op("ADD", -1, f.n, last)
		f.Op("AND", -4, last, f.x)
		f.Op("VADDVX", f.x, other, other)
		f.Op("VMINUVV", other, index, index)
		f.Op("VMINUVX", last, index, index)
		f.Op("VSLLVI", 2, index, index)
		f.Op("VLE32V", riscv.At(max, 0), top)
		f.Op("MOV", f.s, row)
		f.Op("SLLI", 2, lane, to)
		f.add(f.s, to)
		f.Op("MOV", f.got, rows)
		f.Label("row")
		f.Op("VLUXEI32V", riscv.At(row, 0), index, x)
		f.Op("VSE32V", x, riscv.At(to, 0))
		f.raise(top, x)
		f.add(f.w, row)
		f.add(f.w, to)
		f.Op("ADD", -1, rows, rows)
		f.Jump("BNEZ", "row", rows)
		f.Op("VSE32V", top, riscv.At(max, 0))
		f.add(lanes, lane)
		f.Op("SLLI", 2, lanes, lanes)
		f.add(lanes, max)
		f.Op("SRLI", 2, f.w, f.x)
		f.Jump("BLT", "lanes", lane, f.x)
	})
}

// products emits acc[i] = fma(p[i], b, acc[i]) and goes on to the next row at p.
func (g *gen) products(p, ld riscv.GP, b riscv.Vec, acc []riscv.Vec, fs []riscv.FP) {
	for i, x := range fs {
		g.Op("MOVF", riscv.At(p, 4*i), x)
	}
	g.add(ld, p)
	for i, v := range acc {
		g.Op("VFMACCVF", b, fs[i], v)
	}
}

// fps allocates n registers.
func (g *gen) fps(n int) []riscv.FP {
	fs := make([]riscv.FP, n)
	for i := range fs {
		fs[i] = g.FP()
	}
	return fs
}

// valueGroups are numbers of queries that have a loop, and for them the sizes of groups of columns:
// as large as there are registers for, so that there are as many chains of FMAs as possible, and a
// load of V and the numbers for it are for as many columns. llvm-mca predicts for the P670 2 FMAs
// of a register a cycle, its peak, but with 2 and with 3 queries 1.3 and 2.0.
//
// Types that are widened, which takes longer than the FMAs of a query, have a single loop.
type valueGroup struct {
	queries loop.Span
	lanes   int
}

var (
	valueGroups  = []valueGroup{{loop.Span{Least: 1, Most: 1}, 8}, {loop.Span{Least: 2, Most: 2}, 4}, {loop.Span{Least: 3, Most: 6}, 4}, {loop.Span{Least: 7, Most: 8}, 2}}
	narrowGroups = []valueGroup{{loop.Span{Least: 1, Most: 4}, wide}}
)

// A pvEmitter has the registers of SkinnyPV.
type pvEmitter struct {
	*gen
	narrow
	o, ldo, v, ldv, p, ldp riscv.GP // o and p of the group of queries; strides in bytes
	n                      riscv.GP // queries from the group on
	vc, oc, left, got      riscv.GP // at the current columns; columns from them on, their number
	vj, pj, row, steps, x  riscv.GP

	// Of int8: the first scale of the columns at hand, and the current one; the distance of rows of
	// scales in bytes; columns that share a scale from the current ones on.
	scale, sj, lsc, scaled riscv.GP
}

// SkinnyPV takes up to 8 queries at a time, and for them as many columns as a group has lanes, with
// all keys:
//
//	for each key j:  b = V[j][..];  for each query i:  f = p[j][i];  acc[i] = fma(f, b, acc[i])
//
// So V is read once for 8 queries, as it lies.
func (g *gen) SkinnyPV(e spec.Element) {
	g.kernel(spec.SkinnyPV(e))
	f := &pvEmitter{gen: g, o: g.Load(g.Base("o")), ldo: g.stride("ldo"), v: g.Load(g.Base("v")), ldv: g.Load(g.Param("ldv")),
		p: g.Load(g.Base("p")), ldp: g.stride("ldp"), n: g.Load(g.Param("n")),
		vc: g.GP(), oc: g.GP(), left: g.GP(), got: g.GP(), vj: g.GP(), pj: g.GP(), row: g.GP(), steps: g.GP(), x: g.GP()}
	groups := valueGroups
	if e.Shift() > 0 {
		g.Op("SLLI", e.Shift(), f.ldv, f.ldv)
	}
	if e != spec.Float32 {
		groups = narrowGroups
	}
	f.narrow = g.newNarrow(e, wide, f.x)
	if e == spec.Int8 {
		f.scale, f.sj, f.lsc, f.scaled, f.factor = g.GP(), g.GP(), g.stride("lsc"), g.GP(), g.FP()
	}
	g.Label("group")
	for _, v := range slices.Backward(groups) {
		g.Op("MOV", v.queries.Least, f.x)
		g.Jump("BGE", fmt.Sprintf("queries%d", v.queries.Most), f.n, f.x)
	}
	g.Ret()
	for _, v := range groups {
		g.Scope(func() { f.group(v.queries, v.lanes) })
	}
}

// group emits the values of a span of queries. Those that there are not are jumped over.
func (f *pvEmitter) group(span loop.Span, lanes int) {
	size, places := span.Most, 0
	name := func(part string) string { return fmt.Sprintf("%s%d", part, size) }
	f.Commentf("%v queries.", span)
	f.Label(name("queries"))
	b, acc, fs, more := f.Vec(lanes), f.Vecs(size, lanes), f.fps(size), make([]riscv.GP, size)
	for i := span.Least; i < size; i++ {
		more[i] = f.GP()
		f.Op("MOV", i, more[i])
	}
	each := func(do func(i int)) {
		next := fmt.Sprintf("next%d_%d", size, places)
		places++
		for i := range size {
			if i >= span.Least {
				f.Jump("BGE", next, more[i], f.n)
			}
			do(i)
		}
		if !span.Single() {
			f.Label(next)
		}
	}
	eachRow := func(do func(v riscv.Vec)) {
		f.Op("MOV", f.oc, f.row)
		each(func(i int) {
			if i > 0 {
				f.add(f.ldo, f.row)
			}
			do(acc[i])
		})
	}
	f.Op("MOV", f.v, f.vc)
	f.Op("MOV", f.o, f.oc)
	f.Op("MOV", f.Param("dv"), f.left)
	if f.element == spec.Int8 {
		f.Op("MOV", f.Base("scales"), f.scale)
		f.Op("MOV", f.Param("group"), f.scaled)
	}

	f.Label(name("columns"))
	if f.element == spec.Int8 { // columns of one scale
		f.Op("MOV", f.scaled, f.got)
		f.Jump("BGE", name("scaled"), f.left, f.got)
		f.Op("MOV", f.left, f.got)
		f.Label(name("scaled"))
		f.SetLanes(f.got, lanes, f.got)
	} else {
		f.SetLanes(f.left, lanes, f.got)
	}
	f.Op("MOVBU", f.Param("load"), f.x)
	f.Jump("BEQZ", name("zero"), f.x)
	eachRow(func(v riscv.Vec) { f.Op("VLE32V", riscv.At(f.row, 0), v) })
	f.Jump("JMP", name("keys"))
	f.Label(name("zero"))
	for _, v := range acc {
		f.Op("VMVVI", 0, v)
	}
	f.Label(name("keys"))
	f.Op("MOV", f.vc, f.vj)
	f.Op("MOV", f.p, f.pj)
	f.Op("MOV", f.Param("m"), f.steps)
	if f.element == spec.Int8 {
		f.Op("MOV", f.scale, f.sj)
	}
	f.Jump("BEQZ", name("store"), f.steps)
	f.Label(name("key"))
	f.load(f.vj, nil, b)
	if f.element == spec.Int8 {
		f.Op("MOVF", riscv.At(f.sj, 0), f.factor)
		f.Op("VFMULVF", f.factor, b, b)
		f.add(f.lsc, f.sj)
	}
	f.add(f.ldv, f.vj)
	each(func(i int) { f.Op("MOVF", riscv.At(f.pj, 4*i), fs[i]) })
	f.add(f.ldp, f.pj)
	each(func(i int) { f.Op("VFMACCVF", b, fs[i], acc[i]) })
	f.Op("ADD", -1, f.steps, f.steps)
	f.Jump("BNEZ", name("key"), f.steps)
	f.Label(name("store"))
	eachRow(func(v riscv.Vec) { f.Op("VSE32V", v, riscv.At(f.row, 0)) })
	f.Op("SUB", f.got, f.left, f.left)
	if f.element == spec.Int8 {
		f.Op("SUB", f.got, f.scaled, f.scaled)
		f.Jump("BNEZ", name("same"), f.scaled)
		f.Op("ADD", 4, f.scale, f.scale)
		f.Op("MOV", f.Param("group"), f.scaled)
		f.Label(name("same"))
	}
	shift := f.element.Shift()
	f.moveOn(shift, f.vc)
	f.moveOn(2-shift, f.oc)
	f.ForgetLanes()
	f.Jump("BNEZ", name("columns"), f.left)

	f.Op("MOV", size, f.x)
	f.Op("MUL", f.ldo, f.x, f.x)
	f.add(f.x, f.o)
	f.Op("ADD", 4*size, f.p, f.p)
	f.Op("ADD", -size, f.n, f.n)
	f.Jump("JMP", "group")
}

// moveOn multiplies got by 1<<shift, which are bytes then, and moves a pointer on by so many.
func (f *pvEmitter) moveOn(shift int, p riscv.GP) {
	if shift > 0 {
		f.Op("SLLI", shift, f.got, f.got)
	}
	f.add(f.got, p)
}

// SkinnySoftmax is Softmax for 4 lanes.
func (g *gen) SkinnySoftmax() {
	g.kernel(spec.SkinnySoftmax)
	g.TailJump(spec.Softmax.Symbol(isa))
}
