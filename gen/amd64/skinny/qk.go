package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// SkinnyQK is the product of K and Q̂ᵀ for few queries. With the queries in the lanes most
// lanes would be idle. Here 16 keys are in the lanes, transposed when they are loaded, see
// emit/transpose.go. A tile is 16 keys by up to SkinnyRows queries. A step takes some words of
// 32 bits of them. A word is one column, or 2 or 4 of a narrow type, which are widened at
// this point, see words.go:
//
//	k[0..15][x..] ──► t0 t1 ...     acc[query] += t · q̂[x][query], a broadcast
//
// At the end the same transpose brings the scores into the layout of a query tile, 4
// queries at a time. If 16 does not divide the keys, the last tile computes the last 16,
// some of them a second time, with the same result. The columns that are less than a step are
// those at the end of one that ends with the row.
//
// Up to 4 queries on one vector of keys are not more chains than an FMA has cycles of
// latency, so a delay is never made up for. Therefore, if a vector has 16 keys, a tile of a
// narrow type has two vectors. For float32 that is more rows at once than are read well:
// reading from beyond L2 took a fifth longer on Zen 4, and a tenth less from L2 on Zen 5.
//
// Two forms for more than 4 queries with 16 registers were tried on Zen 3. In cycles for 16 keys
// and a column of 128, float32, 8 queries: two groups of 4 take 14.8. A segment that is transposed
// once into memory takes 13.7, as 4 queries with its columns take 5.2 and not 4: 8 chains leave no
// FMA time to wait. float16 then takes 14.4 instead of 12. Queries in the lanes of one vector, 12
// keys at a time, each number a broadcast, take 10.2 for 5 to 8 queries, and a decoding call from
// L2 up to 15% less; but from memory it takes 1.7 times as long, with the same prefetches between
// the FMAs.
//
// The columns are cut into segments. The sum of the segments before the current one waits on
// the stack. Segments are independent chains, too. So a variant of float32 computes two
// of them side by side, see pair.go, and reads no more rows at once.
//
// General registers in the inner loop: rows 0-3 of K, odd multiples of 4 times its stride (2 or 4),
// q̂ at one or two places, its stride, the prefetch (3): 14 of 15. These are in memory, in the
// place of arguments: the scores (s), the first query of the current group (the length of s),
// whether there is a sum (the capacity of s), the rows left (m), the end of the current segment of
// row 0 (the length of k), the columns after that (the capacity of k), the number of the tile (the
// capacity of q), and for ahead.go the last step (the length of max), what follows it (far), and
// whether words are loaded (ldk). Types with slots, see slots.go, have 2 registers more.
func (g *gen) SkinnyQK(k spec.Element) {
	if k != spec.Float32 {
		g.fromColumns(k, spec.SkinnyQK(k), func() {
			g.newQK(k, spec.QKVariant{Segments: 1, Near: 1, Ahead: g.aheadFrom(k)}).strided().tiles()
		})
		return
	}
	variants, _ := g.SkinnyVariants()
	if len(variants) == 1 {
		g.Kernel(variants[0].Function())
		g.newQK(k, variants[0]).strided().tiles()
		return
	}
	const name = "keyProduct"
	fn := spec.SkinnyQK(k)
	g.Shared(name, fn, "is "+fn.Name+" in all variants, which jump to it.")
	g.newQK(k, variants...).strided().tiles()
	for _, v := range variants {
		g.Kernel(v.Function())
		g.MOVQ(operand.U32(leastOf(v)), g.Memory(g.Param("max").Cap()))
		g.TailJump(name)
	}
}

// fromColumns emits a kernel for keys of a narrow type. With AVX-512 a step of 16 bits has 16
// columns, and AVX2's kernel takes keys with fewer: it has steps of 8.
func (g *gen) fromColumns(k spec.Element, f spec.Function, body func()) {
	if !g.EVEX() || k != spec.F16 && k != spec.BF16 {
		g.Kernel(f)
		body()
		return
	}
	name := "long" + f.Field
	g.Shared(name, f, fmt.Sprintf("is %s of %d columns or more.", f.Name, spec.SkinnyGroup))
	body()
	g.Kernel(f)
	g.CMPQ(g.Argument("d"), operand.Imm(spec.SkinnyGroup))
	g.JL(operand.LabelRef("few"))
	g.TailJump(name)
	g.Label("few")
	if k == spec.F16 {
		g.TailJumpTo(f, emit.AVX2{}, "F16C")
	} else {
		g.TailJumpTo(f, emit.AVX2{})
	}
}

// newQK begins SkinnyQK in some variants. If they are several, the capacity of max has leastOf the
// one at hand, which no other one has.
func (g *gen) newQK(k spec.Element, variants ...spec.QKVariant) *qkEmitter {
	f := &qkEmitter{g: g, variants: variants,
		s: g.Memory(g.Param("s").Base()), lane: g.Memory(g.Param("s").Len()), adds: g.Memory(g.Param("s").Cap()),
		end: g.Memory(g.Param("k").Len()), columns: g.Memory(g.Param("k").Cap()), last: g.Memory(g.Param("max").Len())}
	f.words = g.newKeyWidener(k)
	return f
}

// strided takes rows of K at equal distances.
func (f *qkEmitter) strided() *qkEmitter {
	g := f.g
	f.ld4, f.left, f.jump, f.loaded = g.StrideOf("ldk", f.words.element), g.Argument("m"), g.Argument("far"), g.Argument("ldk")
	f.prefetch = g.NewPrefetch(f.ld4, "d", f.words.element, f.linesAtOnce()*spec.LineBytes, f.variants[0].Near)
	f.k = []reg.GPVirtual{g.Slice("k")}
	for i := 1; i < 4; i++ {
		f.k = append(f.k, g.GP64())
		g.LEAQ(emit.Indexed(f.k[i-1], f.ld4, 1), f.k[i])
	}
	g.SHLQ(operand.Imm(2), f.ld4)
	f.odd[0] = f.ld4
	for i := 1; i < 2*f.most(); i++ {
		f.odd[i] = g.GP64()
		g.LEAQ(emit.Indexed(f.odd[i-1], f.ld4, 2), f.odd[i])
	}
	return f
}

// begin prepares what all tiles need.
func (f *qkEmitter) begin() {
	g := f.g
	if variants := f.variants; len(variants) > 1 {
		f.prefetch.LevelFrom(g.Memory(g.Param("max").Cap()), leastOf(variants[slices.IndexFunc(variants, isSecondLevel)]))
	}
	f.sums = g.Frame(max(g.SkinnyRows(), f.most()*doubledQueries) * spec.SkinnyKeys * 4)
	f.w = g.SliceLen("max")
	g.SHLQ(operand.Imm(2), f.w)
	f.q, f.height = g.GP64(), g.Frame(8)
	f.placeWords()
	if f.looksAhead() {
		g.MOVQ(operand.U32(0), f.loaded)
		if f.slots == nil {
			f.first = g.Vecs(f.words.n)
		}
	}
	f.size = g.Memory(g.Param("q").Cap())
	f.acc[1] = f.accumulators(g.SkinnyRows(), 1)
	if f.most() > 1 {
		g.MOVQ(operand.U32(0), f.size)
		for _, first := range f.acc[1][:doubledQueries] {
			f.acc[2] = append(f.acc[2], []reg.VecVirtual{first[0], g.Vec()})
		}
	}
}

type qkEmitter struct {
	g        *gen
	variants []spec.QKVariant
	words    *keyWidener
	prefetch *emit.Prefetch
	slots    *slots // nil for types without

	s    operand.Mem      // scores of the tile
	w    reg.GPVirtual    // bytes of a row of scores, and of q̂
	k    []reg.GPVirtual  // rows 0-3 of the tile, at the current step; with off what it counts from
	ld4  reg.GPVirtual    // 4 rows of K, in bytes
	odd  [4]reg.GPVirtual // 1, 3, 5 and 7 times that
	off  reg.GPVirtual    // the offsets of the tile's rows if they lie anywhere, see anywhere.go
	q    reg.GPVirtual    // q̂ at the current column
	lane operand.Mem      // first query of the current group
	left operand.Mem      // keys, from the tile on
	end  operand.Mem      // k[0] after the last whole step of the segment; with stepsAhead q̂ there

	second operand.Mem // not 0 in the second pass of rest

	last   operand.Mem      // for stepsAhead: q̂ at the last whole step of the row
	jump   operand.Mem      // what k is moved by before that step's move
	turn   operand.Mem      // and off
	loaded operand.Mem      // not 0 if the words of the next tile's first step are loaded
	first  []reg.VecVirtual // words of the first vector of the next step, without slots

	columns operand.Mem // columns after the segment
	adds    operand.Mem // not 0 if there is a sum of the segments before it
	sums    operand.Mem // that sum, for every accumulator

	acc  [3][][]reg.VecVirtual // accumulators of a tile of 16 keys, and of twice as many, by query
	size operand.Mem           // number of the tile, while the remaining columns are computed; of twice 16 keys, whether half of the scores wait

	queries reg.GPVirtual // that are left, before a tile
	height  operand.Mem   // their number, for rows
	rows    *emit.Heights // of the tile that is emitted
}

// accumulators allocates the accumulators of a tile for a number of queries, and times·16 keys.
func (f *qkEmitter) accumulators(queries, times int) [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, queries)
	for i := range acc {
		acc[i] = f.g.Vecs(times * spec.SkinnyKeys / f.g.Lanes())
	}
	return acc
}

// most is the number of groups of 16 keys in the largest tile.
func (f *qkEmitter) most() int {
	if f.g.Lanes() == spec.SkinnyKeys && f.words.element != spec.Float32 {
		return 2
	}
	return 1
}

// doubledQueries is the largest number of queries for which there are tiles of the most
// keys, or of two segments.
const doubledQueries = 4

// tiles emits the loop over the tiles, and in it the loop over groups of queries.
func (f *qkEmitter) tiles() {
	f.begin()
	f.g.Comment("Tiles of 16 keys. The last one reaches back if less are left.")
	f.g.Label("tile")
	f.g.CMPQ(f.left, operand.Imm(spec.SkinnyKeys))
	f.g.JGE(operand.LabelRef("whole"))
	f.g.CMPQ(f.left, operand.Imm(0))
	f.g.JE(operand.LabelRef("done"))
	back, bytes := f.g.GP64(), f.g.GP64()
	f.g.MOVQ(f.left, back)
	f.g.SUBQ(operand.Imm(spec.SkinnyKeys), back) // below 0
	f.g.MOVQ(f.w, bytes)
	f.g.IMULQ(back, bytes)
	f.g.ADDQ(bytes, f.s)
	if f.off != nil {
		f.offsetsBack(back)
	} else {
		f.g.MOVQ(f.ld4, bytes)
		f.g.SARQ(operand.Imm(2), bytes)
		f.g.IMULQ(back, bytes)
		for i := range f.k {
			f.g.ADDQ(bytes, f.k[i])
		}
	}
	f.words.back(back)
	f.g.MOVQ(operand.I32(spec.SkinnyKeys), f.left)
	f.g.Label("whole")
	f.g.MOVQ(operand.I32(0), f.lane)

	f.g.Label("group")
	f.startGroup()
	tiles := f.tilesOf(f.words.element)
	f.choose(tiles)
	for _, t := range tiles {
		f.tile(t)
	}
	if f.most() > 1 {
		f.halve(tiles)
	}
	f.rest(tiles)
	f.store(tiles)

	if f.most() > 1 {
		f.other()
	}
	if !f.looksAhead() {
		f.rewind()
	}
	lane := f.g.GP64()
	f.g.MOVQ(f.lane, lane)
	f.g.CMPQ(lane, f.g.Argument("n"))
	f.g.JL(operand.LabelRef("group"))
	f.forward("forward")
	f.g.JMP(operand.LabelRef("tile"))
	f.g.Label("done")
	f.g.Return()
}

// rewind goes back from the end of a row to its start.
func (f *qkEmitter) rewind() {
	d := f.g.BytesOf("d", f.words.element)
	for i := range f.k {
		f.g.SUBQ(d, f.k[i])
	}
}

// forward goes on by 16 keys. name is the name of a label.
func (f *qkEmitter) forward(name string) {
	if f.looksAhead() {
		f.g.CMPQ(f.loaded, operand.Imm(0))
		f.g.JNE(operand.LabelRef(name))
	}
	if f.off != nil {
		f.g.ADDQ(operand.Imm(tileOffsets), f.off)
	} else {
		for i := range f.k {
			f.g.LEAQ(emit.Indexed(f.k[i], f.ld4, 4), f.k[i])
		}
	}
	if f.looksAhead() {
		f.g.Label(name)
	}
	bytes := f.g.GP64()
	f.g.MOVQ(f.w, bytes)
	f.g.SHLQ(operand.Imm(4), bytes)
	f.g.ADDQ(bytes, f.s)
	if f.off != nil {
		f.g.ADDQ(operand.I32(tileOffsets), f.prefetch.Base)
	} else {
		f.g.LEAQ(emit.Indexed(f.ld4, f.ld4, 1), bytes)
		f.g.ADDQ(bytes, bytes)
		f.g.ADDQ(bytes, f.prefetch.Base)
	}
	f.words.forward()
	f.g.SUBQ(operand.Imm(spec.SkinnyKeys), f.left)
}

// startGroup goes to the first column of a group of queries.
func (f *qkEmitter) startGroup() {
	f.g.MOVQ(f.lane, f.q)
	f.g.SHLQ(operand.Imm(2), f.q)
	f.g.ADDQ(f.g.Memory(f.g.Param("q").Base()), f.q)
	f.prefetch.Start()
	f.words.start()
	f.g.Move(f.g.Argument("d"), f.columns)
	f.g.MOVQ(operand.U32(0), f.adds)
}

// segments emits the loop over the segments. It leaves the scores in the accumulators.
func (f *qkEmitter) segments(acc [][]reg.VecVirtual, t tile) {
	name := t.label()
	f.g.Label(name + "segment")
	columns := f.g.GP64()
	f.g.MOVQ(f.columns, columns)
	if f.pairs(t) {
		f.ifPairs(t, name+"single")
		f.g.CMPQ(columns, operand.I32(2*spec.ColumnSegment))
		f.g.JL(operand.LabelRef(name + "single"))
		f.pair(acc, name)
		f.g.Label(name + "single")
	}
	f.clear(acc)
	f.g.CMPQ(columns, operand.Imm(spec.ColumnSegment))
	f.g.JLE(operand.LabelRef(name + "columns"))
	f.g.MOVQ(operand.U32(spec.ColumnSegment), columns)
	f.g.Label(name + "columns")
	f.g.SUBQ(columns, f.columns)
	if t.times <= f.most() {
		f.g.ANDQ(operand.I32(-f.words.width()), columns)
		f.g.JZ(operand.LabelRef(name + "rest"))
	}
	if t.ahead {
		f.g.IMULQ(f.w, columns)
		f.g.ADDQ(f.q, columns)
	} else {
		f.g.LEAQ(f.g.OfColumns(f.k[0], columns, f.words.element), columns)
	}
	f.g.MOVQ(columns, f.end)
	f.prefetch.Into(f.level(t))
	if t.ahead {
		f.stepsAhead(acc, name)
	} else {
		f.steps(acc, name)
	}
	if t.times <= f.most() {
		f.g.Label(name + "rest")
		f.toRest(t)
		f.g.Label(name + "sum")
	}
	f.addSums(acc, name)
}

// clear sets the accumulators to +0.
func (f *qkEmitter) clear(acc [][]reg.VecVirtual) {
	for i := range acc {
		for _, v := range acc[i] {
			f.g.Zero(f.g.Context, v)
		}
	}
}

// addSums emits the end of a segment: it is added to the sum of those before it, which goes
// back to the stack unless this was the last one.
func (f *qkEmitter) addSums(acc [][]reg.VecVirtual, name string) {
	f.g.CMPQ(f.adds, operand.Imm(0))
	f.g.JE(operand.LabelRef(name + "added"))
	f.eachSum(acc, func(v reg.VecVirtual, sum operand.Mem) { f.g.VADDPS(sum, v, v) })
	f.g.Label(name + "added")
	f.g.CMPQ(f.columns, operand.Imm(0))
	f.g.JE(operand.LabelRef(name + "store"))
	f.eachSum(acc, func(v reg.VecVirtual, sum operand.Mem) { f.g.VMOVUPS(v, sum) })
	f.g.MOVQ(operand.U32(1), f.adds)
	f.g.JMP(operand.LabelRef(name + "segment"))
	f.g.Label(name + "store")
}

// eachSum calls do for every accumulator and its sum of the segments before.
func (f *qkEmitter) eachSum(acc [][]reg.VecVirtual, do func(v reg.VecVirtual, sum operand.Mem)) {
	f.rows.Compare()
	f.rows.Rows(func(i int) {
		for x, v := range acc[i] {
			do(v, f.sums.Offset((i*len(acc[i])+x)*f.g.VecBytes()))
		}
	})
}

// linesAtOnce is the number of lines that are prefetched at once: 64 columns of a row, or one line.
// Rows with gaps between them are prefetched in such units.
func (f *qkEmitter) linesAtOnce() int {
	return max(1, f.words.element.Bytes(4*spec.SkinnyKeys)/spec.LineBytes)
}

// prefetchStep emits the prefetches of a step that takes as many words of times·16 keys.
func (f *qkEmitter) prefetchStep(words, times int, name string) {
	for x := 0; x < words*times; x += f.linesAtOnce() {
		f.prefetch.Lines(fmt.Sprintf("%snear%d", name, x), upTo(f.linesAtOnce())...)
		f.prefetch.Advance(fmt.Sprintf("%sahead%d", name, x))
	}
}

// times is the number of groups of 16 keys that accumulators are for.
func (f *qkEmitter) times(acc [][]reg.VecVirtual) int {
	return len(acc[0]) * f.g.Lanes() / spec.SkinnyKeys
}

// advance goes on to the next step.
func (f *qkEmitter) advance() {
	for i := range f.k {
		f.g.ADDQ(operand.I32(4*f.words.n), f.k[i])
	}
}

// steps emits the loop over steps of some columns.
func (f *qkEmitter) steps(acc [][]reg.VecVirtual, name string) {
	f.g.AlignLoop()
	f.g.Label(name + "step")
	f.prefetchStep(f.words.n, f.times(acc), name)
	f.rows.Compare()
	f.eachColumn(acc, 0, func(x int, products func(q operand.Mem)) {
		products(column(f.q, f.w, x))
		if x%2 == 1 {
			f.g.LEAQ(emit.Indexed(f.q, f.w, 2), f.q)
		}
	})
	f.advance()
	f.words.next(name + "scale")
	f.g.CMPQ(f.k[0], f.end)
	f.g.JNE(operand.LabelRef(name + "step"))
}

// column returns q̂ at q or, for an odd x, one column on.
func column(q, w reg.GPVirtual, x int) operand.Mem {
	if x%2 == 0 {
		return emit.At(q, 0)
	}
	return emit.Indexed(q, w, 1)
}

// row returns the address of row i of the tile, disp bytes from the current step.
func (f *qkEmitter) row(disp int) func(i int) operand.Mem {
	if f.off != nil {
		return f.rowAnywhere(disp)
	}
	return func(i int) operand.Mem {
		m := emit.At(f.k[i%4], disp)
		if i /= 4; i > 0 {
			m.Scale = 1
			for i%2 == 0 {
				i, m.Scale = i/2, m.Scale*2
			}
			m.Index = f.odd[i/2]
		}
		return m
	}
}

// eachColumn emits the loads of a step, disp bytes from the current one, and calls do for
// every column. products emits its products.
func (f *qkEmitter) eachColumn(acc [][]reg.VecVirtual, disp int, do func(x int, products func(q operand.Mem))) {
	columns := make([][]emit.KeyColumn, len(acc[0]))
	for v := range columns {
		columns[v] = f.words.columns(f.words.load(f.row(disp), v), v)
	}
	for x := range columns[0] {
		do(x, func(q operand.Mem) { f.products(acc, columns, x, q) })
	}
}

// products adds a column times q̂'s to the scores.
func (f *qkEmitter) products(acc [][]reg.VecVirtual, columns [][]emit.KeyColumn, c int, q operand.Mem) {
	column := make([]reg.VecVirtual, len(columns))
	for v := range columns {
		column[v] = columns[v][c]()
	}
	f.rows.Rows(func(i int) { f.g.fmaVectors(q.Offset(4*i), column, acc[i]) })
}

// fmaVectors adds m, a single float32, times the vectors of b to acc's.
func (g *gen) fmaVectors(m operand.Mem, b, acc []reg.VecVirtual) {
	if len(b) == 1 {
		g.FMABroadcast(g.Context, m, b[0], acc[0])
		return
	}
	x := g.Vec()
	g.VBROADCASTSS(m, x)
	for v := range b {
		g.VFMADD231PS(b[v], x, acc[v])
	}
}
