package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// SkinnyQK follows amd64/skinny/qk.go. An FMA takes its number from any lane, so one load
// brings the numbers of 4 queries. A step takes 16 bytes of every row, which are 4, 8 or 16
// columns. Rows of narrow types are transposed as they are, so that a vector has 1, 2 or 4
// columns of 4 keys side by side, and then widened.
//
// Vector registers: 16 accumulators, one for a vector of keys and a query; 4 rows of K; 4
// of scratch to transpose them, and for their columns; up to 5 to widen them; of q̂ all
// columns of a step or, if they are too many, as many as there are registers left, which
// are read again for every vector of keys. Up to 2 queries take two vectors of keys at a
// time.
//
// Cycles for 16 columns of 16 keys, as predicted by llvm-mca, on Neoverse N1 and V2; in
// brackets the cycles to widen K to other memory first and then use the kernel for float32:
//
//	            1 query              4 queries
//	FMAs alone   32, 16              128, 64
//	float32      98, 49              193, 97
//	bfloat16     99, 49  (230, 100)  193, 97   (324, 148)
//	binary16    146, 76  (294, 126)  250, 121  (388, 174)
//	int8        168, 84  (336, 148)  270, 132  (430, 196)

// skinnyRows is the number of queries, or of rows, that are computed at once.
const skinnyRows = 4

type qkEmitter struct {
	*neon
	widener  *emit.Widener
	prefetch *emit.Prefetch
	scales   *keyScales

	s, w        a64.GP    // scores of the tile; bytes of a row of scores, and of q̂
	k           [4]a64.GP // rows 0-3 of the tile, at the current step
	ld          a64.GP    // of K, in bytes
	rows        [4]a64.GP // 4·i rows of K in bytes, but for i = 0
	qx          a64.GP    // q̂ at the current step
	left        a64.GP    // keys, from the tile on
	lane, steps a64.GP
	scratch     a64.GP
	queries     a64.Param     // that are left
	heights     *emit.Heights // of the tile

	columns, adds a64.Param   // columns after the current segment; not 0 if there is a sum of those before it
	sums          []a64.Local // that sum, for every accumulator
	size          a64.Param   // queries of the tile, while the remaining columns are computed

	acc [][]a64.Vec // accumulators, by vector of keys and query
}

func (g *neon) SkinnyQK(k spec.Element) {
	g.Kernel(spec.SkinnyQK(k))
	f := &qkEmitter{neon: g, widener: g.NewWidener(k), ld: g.StrideOf("ldk", k), left: g.Num("m"), s: g.Slice("s"),
		w: g.LoadParam(g.Len("max")), qx: g.GP(), lane: g.GP(), steps: g.GP(), scratch: g.GP(), queries: g.Cap("q").Local(), columns: g.Cap("k").Local(), adds: g.Cap("s").Local(),
		size: g.Len("q").Local(),
		sums: g.Frame(spec.SkinnyKeys / emit.VecLanes * skinnyRows)}
	f.prefetch = g.NewPrefetch(f.ld, "d", k, emit.VecLanes/f.widener.Groups())
	if k == spec.Int8 {
		f.scales = &keyScales{neon: g, first: g.Slice("scales"), at: g.GP(), left: g.GP()}
	}
	g.Op("LSL", 2, f.w, f.w)
	f.k[0] = g.Slice("k")
	for i := 1; i < 4; i++ {
		f.k[i], f.rows[i] = g.GP(), g.GP()
		g.Op("ADD", f.ld, f.k[i-1], f.k[i])
		if i == 1 {
			g.Op("LSL", 2, f.ld, f.rows[1])
		} else {
			g.Op("ADD", f.rows[1], f.rows[i-1], f.rows[i])
		}
	}
	f.tiles()
}

func (f *qkEmitter) tiles() {
	f.Commentf("Tiles of 16 keys. The last one reaches back if less are left.")
	f.Label("tile")
	f.Op("CMP", spec.SkinnyKeys, f.left)
	f.Jump("BGE", "whole")
	f.Jump("CBZ", "done", f.left)
	f.Op("SUB", spec.SkinnyKeys, f.left, f.left) // below 0
	f.Op("MUL", f.w, f.left, f.scratch)
	f.Op("ADD", f.scratch, f.s, f.s)
	f.Op("MUL", f.ld, f.left, f.scratch)
	f.moveRows("ADD", f.scratch)
	f.scales.back(f.left)
	f.Op("MOVD", spec.SkinnyKeys, f.left)
	f.Label("whole")
	f.Op("MOVD", 0, f.lane)

	f.Commentf("A group of up to 4 queries.")
	f.Label("group")
	f.Load(f.Param("n"), f.scratch)
	f.Op("SUB", f.lane, f.scratch, f.scratch)
	f.Op("MOVD", f.scratch, f.queries)
	groups := f.groups()
	for _, g := range slices.Backward(groups[1:]) {
		f.Op("CMP", g.Least, f.scratch)
		f.Jump("BGE", groupLabel(g.Most))
	}
	f.acc = make([][]a64.Vec, spec.SkinnyKeys/emit.VecLanes)
	for v := range f.acc {
		f.acc[v] = f.Vecs(skinnyRows)
	}
	for i, g := range groups {
		f.group(g, i == 0)
	}
	if f.widener.Element == spec.Float32 {
		f.rest()
	}
	f.Scope(f.store)

	f.Label("next")
	f.Load(f.Param("d"), f.scratch)
	f.Op("LSL", f.widener.Element.Shift(), f.scratch, f.scratch)
	f.moveRows("SUB", f.scratch)
	f.Load(f.Param("n"), f.scratch)
	f.Op("CMP", f.scratch, f.lane)
	f.Jump("BLT", "group")
	f.Op("LSL", 4, f.ld, f.scratch)
	f.moveRows("ADD", f.scratch)
	f.Op("ADD", f.w.Shl(4), f.s, f.s)
	f.prefetch.Forward(f.ld)
	f.scales.forward()
	f.Op("SUB", spec.SkinnyKeys, f.left, f.left)
	f.Jump("B", "tile")
	f.Label("done")
	f.Ret()
}

// moveRows moves all rows of K by a number of bytes.
func (f *qkEmitter) moveRows(op string, bytes a64.GP) {
	for _, k := range f.k {
		f.Op(op, bytes, k, k)
	}
}

// groups are loops for two numbers of queries each. llvm-mca predicts 5 to 8% more cycles for
// bfloat16 on some Neoverse cores, as it takes few instructions to widen: it has a loop for each.
func (f *qkEmitter) groups() []emit.Span {
	if f.widener.Element == spec.BF16 {
		return []emit.Span{{Least: 1, Most: 1}, {Least: 2, Most: 2}, {Least: 3, Most: 3}, {Least: 4, Most: skinnyRows}}
	}
	return []emit.Span{{Least: 1, Most: 2}, {Least: 3, Most: skinnyRows}}
}

// group emits a tile for a group of queries, from lane on.
func (f *qkEmitter) group(g emit.Span, first bool) {
	name, size := groupLabel(g.Most), g.Most
	f.Commentf("16 keys by %v queries.", g)
	if !first {
		f.Label(name)
	}
	f.heights = f.NewHeights(name, g, func() a64.GP {
		f.Load(f.queries, f.scratch)
		return f.scratch
	})
	acc := make([][]a64.Vec, len(f.acc))
	f.Scope(func() {
		for v := range acc {
			acc[v] = f.acc[v][:size]
			f.Free(f.acc[v][size:])
		}
		f.Load(f.Base("q"), f.qx)
		f.Op("ADD", f.lane.Shl(2), f.qx, f.qx)
		f.prefetch.Start()
		f.scales.start()
		f.segments(acc, name)
	})
	f.Jump("B", "store")
}

// segments emits the loop over the segments, as in amd64/skinny/qk.go. It leaves the scores
// in the accumulators.
func (f *qkEmitter) segments(acc [][]a64.Vec, name string) {
	f.Load(f.Param("d"), f.scratch)
	f.Op("MOVD", 0, f.steps)
	f.Op("MOVD", f.steps, f.adds)
	f.Label(name + "segment")
	for _, v := range acc {
		for _, x := range v {
			f.Zero(x)
		}
	}
	f.Op("MOVD", spec.ColumnSegment, f.steps)
	f.Op("CMP", f.scratch, f.steps)
	f.Op("CSEL", a64.LT, f.steps, f.scratch, f.steps)
	f.Op("SUB", f.steps, f.scratch, f.scratch)
	f.Op("MOVD", f.scratch, f.columns)
	f.Op("LSR", f.columnsShift(), f.steps, f.steps)
	if f.widener.Element == spec.Float32 {
		f.Jump("CBZ", name+"rest", f.steps)
	}
	f.Align(32)
	f.Label(name + "step")
	for i := range f.widener.Groups() { // 4 lines: rows with gaps are prefetched in units of 64 columns
		f.prefetch.Step(fmt.Sprintf("%sahead%d", name, i))
	}
	f.heights.Compare()
	f.eachColumn(acc, name, func(x int, column func()) { column() })
	f.scales.next(name + "scale")
	f.Op("SUBS", 1, f.steps, f.steps)
	f.Jump("BNE", name+"step")
	if f.widener.Element == spec.Float32 {
		f.Label(name + "rest")
		f.Load(f.columns, f.scratch)
		f.Jump("CBNZ", name+"sum", f.scratch)
		f.Load(f.Param("d"), f.steps)
		f.Op("ANDS", 3, f.steps, f.steps)
		f.Jump("BEQ", name+"sum")
		f.Op("MOVD", len(acc[0]), f.scratch)
		f.Op("MOVD", f.scratch, f.size)
		f.Jump("B", "rest")
		f.Label(name + "sum")
	}
	f.addSums(acc, name)
}

// addSums emits the end of a segment: it is added to the sum of those before it, which goes
// back to the stack unless this was the last one.
func (f *qkEmitter) addSums(acc [][]a64.Vec, name string) {
	each := func(do func(x a64.Vec, sum a64.Local)) {
		f.heights.Compare()
		f.heights.Rows(func(i int) {
			for v := range acc {
				do(acc[v][i], f.sums[v*len(acc[v])+i])
			}
		})
	}
	f.Load(f.adds, f.scratch)
	f.Jump("CBZ", name+"first", f.scratch)
	f.Scope(func() {
		t := f.Vecs(4)
		n := 0
		each(func(x a64.Vec, sum a64.Local) {
			y := t[n%len(t)]
			n++
			f.Op("FMOVQ", sum, y)
			f.FADD(x, y, x)
		})
	})
	f.Label(name + "first")
	f.Load(f.columns, f.scratch)
	f.Jump("CBZ", name+"store", f.scratch)
	each(func(x a64.Vec, sum a64.Local) { f.Op("FMOVQ", x, sum) })
	f.Op("MOVD", 1, f.steps)
	f.Op("MOVD", f.steps, f.adds)
	f.Load(f.columns, f.scratch)
	f.Jump("B", name+"segment")
	f.Label(name + "store")
}

// columnsShift is log2 of the columns in a step.
func (f *qkEmitter) columnsShift() int { return 4 - f.widener.Element.Shift() }

// eachColumn emits the columns of a step, and moves k and qx on. each emits column x of the
// tile by calling column, or code around it. The halves of int8 columns, which differ in how bytes
// become halves of words, go through a loop. name begins its labels.
func (f *qkEmitter) eachColumn(acc [][]a64.Vec, name string, each func(x int, column func())) {
	columns := 1 << f.columnsShift()
	times := 1
	if f.widener.Element == spec.Int8 {
		times = 2
	}
	f.Scope(func() {
		keys := make([]keyVector, together(len(acc[0])))
		for i := range keys {
			keys[i] = f.newKeys()
		}
		q := f.Vecs(min(columns, f.FreeVecs()))
		again := len(q) < columns
		some := 1 // columns at a time: the fewer times, the fewer jumps
		for !f.heights.Single() && 2*some <= min(len(q), len(keys[0].wide)) {
			some *= 2
		}
		for first := 0; first < len(acc); first += len(keys) {
			for i := range keys {
				f.loadKeys(keys[i], first+i)
			}
			if times > 1 {
				f.halve(keys, 0)
				f.Op("MOVD", 1, f.scratch)
				f.Label(fmt.Sprint(name, "half", first))
			}
			for x := 0; x < columns/times; x += some {
				for y := x; y < x+some && (first == 0 || again); y++ {
					f.LoadFrom(a64.At(f.qx, 0), q[y%len(q)])
					f.Op("ADD", f.w, f.qx, f.qx)
				}
				each(4*first+x, func() {
					wide := make([][]a64.Vec, some)
					for y := range wide {
						for k := range keys {
							wide[y] = append(wide[y], f.column(keys[k], x+y))
						}
					}
					f.heights.Rows(func(i int) {
						for y := range wide {
							for k, column := range wide[y] {
								f.FMLALane(acc[first+k][i], column, q[(x+y)%len(q)].S(i))
							}
						}
					})
				})
			}
			if times > 1 {
				done := fmt.Sprint(name, "halved", first)
				f.Jump("CBZ", done, f.scratch)
				f.halve(keys, 1)
				f.Op("MOVD", 0, f.scratch)
				f.Jump("B", fmt.Sprint(name, "half", first))
				f.Label(done)
			}
			if again && first+len(keys) < len(acc) {
				f.Op("SUB", f.w.Shl(f.columnsShift()), f.qx, f.qx)
			}
		}
		f.Advance(emit.VecBytes, f.k[:]...)
	})
}

// together is the number of vectors of keys that go through a step together: for few
// queries, one vector has too few chains.
func together(queries int) int {
	if queries <= 2 {
		return 2
	}
	return 1
}

// A keyVector is a vector of keys in a step.
type keyVector struct {
	rows, t []a64.Vec // t is scratch
	wide    []a64.Vec // its columns, one after the other
	scale   a64.Vec
}

func (f *qkEmitter) newKeys() keyVector {
	k := keyVector{rows: f.Vecs(4), t: f.Vecs(4)}
	k.wide = k.t
	if f.widener.Element == spec.Int8 {
		k.wide, k.scale = f.Vecs(1), f.Vec()
	}
	return k
}

// loadKeys loads 16 bytes of every row of vector v of keys, and transposes them.
func (f *qkEmitter) loadKeys(k keyVector, v int) {
	f.loadRows(k.rows, v)
	f.Transpose(f.widener.Element, k.rows, k.t)
	f.widener.Prepare(k.rows...)
	f.scales.load(k.scale, v)
}

// halve prepares a half of the int8 columns.
func (f *qkEmitter) halve(keys []keyVector, half int) {
	for _, k := range keys {
		for i, row := range k.rows {
			f.widener.Halve(row, half, k.t[i])
		}
	}
}

// column emits column x, of int8 of the half at hand.
func (f *qkEmitter) column(k keyVector, x int) a64.Vec {
	if f.widener.Element == spec.Int8 {
		f.widener.WidenHalf(k.t[x%4], x/4, k.wide[0], k.scale)
		return k.wide[0]
	}
	return f.widener.Widen(k.rows[x%4], x/4, k.t[x%4], k.wide[x%len(k.wide)], k.scale)
}

// loadRows loads the rows of a vector of keys.
func (f *qkEmitter) loadRows(rows []a64.Vec, v int) {
	for i, k := range f.k {
		switch v {
		case 0:
			f.LoadFrom(a64.At(k, 0), rows[i])
		default:
			f.LDRQ(rows[i], k, f.rows[v])
		}
	}
}

// rest emits the remaining columns of the last segment if 4 does not divide them: it loads
// the last 4 and skips the first of them. The products of queries that a tile does not have are
// not used.
func (f *qkEmitter) rest() {
	f.Commentf("The remaining columns.")
	f.Label("rest")
	f.heights = f.NewHeights("rest", emit.Span{Least: skinnyRows, Most: skinnyRows}, nil)
	f.Op("SUB", 4, f.steps, f.steps) // below 0
	for _, k := range f.k {
		f.Op("ADD", f.steps.Shl(2), k, k)
	}
	f.Op("MUL", f.w, f.steps, f.scratch)
	f.Op("ADD", f.scratch, f.qx, f.qx)
	f.eachColumn(f.acc, "rest", func(x int, column func()) {
		if x%4 == 0 {
			return
		}
		skip := fmt.Sprintf("skip%d", x)
		f.Op("CMP", -(x % 4), f.steps) // the columns from -steps on are new
		f.Jump("BLT", skip)
		column()
		f.Label(skip)
	})
	f.Load(f.size, f.scratch)
	f.Op("CMP", 2, f.scratch)
	f.Jump("BEQ", groupLabel(2)+"sum")
	f.Jump("B", groupLabel(skinnyRows)+"sum")
}

// store stores the scores of all tiles as in amd64/skinny/qk.go.
func (f *qkEmitter) store() {
	t := f.Vecs(4)
	f.Label("store")
	f.repeat()
	for _, keys := range f.acc {
		f.Transpose4(keys, t)
	}
	max, larger := t[0], t[1]
	f.Label("lanes")
	f.Op("ADD", f.lane.Shl(2), f.s, f.qx)
	f.Load(f.Base("max"), f.scratch)
	f.Op("ADD", f.lane.Shl(2), f.scratch, f.scratch)
	f.LoadFrom(a64.At(f.scratch, 0), max)
	for _, keys := range f.acc {
		for _, x := range keys {
			f.StoreTo(x, a64.At(f.qx, 0))
			f.Raise(max, x, larger)
			f.Op("ADD", f.w, f.qx, f.qx)
		}
	}
	f.StoreTo(max, a64.At(f.scratch, 0))
	f.Op("ADD", skinnyRows, f.lane, f.lane)
	f.Load(f.Param("n"), f.scratch)
	f.Op("CMP", f.scratch, f.lane)
	f.Jump("BLT", "next")
	f.Op("CMP", f.lane.Shl(2), f.w)
	f.Jump("BGT", "lanes")
}

// repeat emits that the lanes after the last query, up to 4, repeat it.
func (f *qkEmitter) repeat() {
	f.Load(f.queries, f.scratch)
	f.Op("CMP", skinnyRows, f.scratch)
	f.Jump("BGE", "four")
	for i := 1; i < skinnyRows; i++ {
		has := fmt.Sprintf("has%d", i)
		f.Op("CMP", i, f.scratch)
		f.Jump("BGT", has)
		for _, keys := range f.acc {
			f.Op("VORR", keys[i-1].B16(), keys[i-1].B16(), keys[i].B16())
		}
		f.Label(has)
	}
	f.Label("four")
}

func groupLabel(size int) string { return fmt.Sprintf("group%d", size) }
