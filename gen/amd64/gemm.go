package amd64

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Gemm does nearly all the work of attention:
//
//	C[i][lane] = Σ A[i·rs + x·cs] · B[x·ldb + lane], x ascending, one fma each
//
// The steps x are cut into segments. The sum of each starts from +0 and is added to those
// before it, which wait in C meanwhile.
//
// It is computed as an outer product: every step of x takes a row of B, some vectors wide,
// multiplies it with one number from each row of A, and adds the products to the
// accumulators, rows × vectors of them, which stay in registers:
//
//	          B[x]      b0   b1
//	A[0][x]  a ───►   acc00 acc01
//	A[1][x]  a ───►   acc10 acc11
//	  ...                ...
//
// A step takes rows·vectors FMAs and rows + vectors loads, so larger register tiles save
// loads. There must be enough accumulators to hide the latency of an FMA (2 units · 4
// cycles = 8), and few enough to leave registers for b and a. The shapes are data of the
// ISA.
//
// Addresses: the rows of A lie rs bytes apart. From one moving pointer p, rows 0, 1, 2, 4,
// 8 are p + rs·{0, 1, 2, 4, 8}. The others need odd multiples of rs, which are kept in
// registers: 3 (rows 3, 6, 12), 5 (5, 10), 7, 9, 11.
//
// Register tiles of full height and of few rows have an inner loop of their own; those between
// share one or two, see emit.Heights. All else is there once: what follows the inner loop goes over
// all rows, and lower tiles leave it earlier, see gemm_store.go.
//
// General registers in the inner loop: p, cs, rs and its odd multiples (5), b, ldb, iterations
// left of the segment. Around it: a, c and rows left. That is 14 of 15. All else is in memory,
// in the place of arguments, see gemmer. A call for a single segment writes as little there as
// it can: on Zen 3, one with a single row of A takes 5 to 10% longer if it writes all of that.
//
// Gemm, GemmMax and GemmMerge of a tile differ in what they do with the sums, and in the arguments
// after k. So each sets mode and the pointers of its own, and jumps to one function, which has all
// else.

func (g *gen) Gemm(s spec.TileShape, e spec.Epilogue) {
	name := fmt.Sprintf("tileProduct%d", s.Vectors)
	fn := spec.Gemm(s.Vectors, s.Vectors*g.Lanes(), e)
	if e == spec.Store {
		g.Shared(name, fn, "is Gemm, GemmMax or GemmMerge, which jump to it.")
		t := &gemmer{g: g, vectors: s.Vectors}
		if s.Prefetch {
			t.prefetched = s.Rows
		}
		t.emit(s.Rows)
	}
	g.Kernel(fn)
	t := &gemmer{g: g}
	t.memory()
	switch e {
	case spec.Store:
		g.MOVQ(operand.U32(storeOne), t.mode)
	case spec.StoreMax:
		g.MOVQ(operand.U32(maxOne), t.mode)
		g.Move(g.Memory(g.Param("max").Base()), t.maxima)
	case spec.StoreMerge:
		g.MOVQ(operand.U32(merge), t.mode)
		g.Move(g.Memory(g.Param("alpha").Base()), t.alphas)
		g.Move(g.Memory(g.Param("beta").Base()), t.betas)
	}
	g.TailJump(name)
}

func (g *gen) WeightGemm(s spec.TileShape, b spec.Element) {
	t := &gemmer{g: g, vectors: s.Vectors, weights: true, element: b, segment: spec.InputSegment, variants: g.WeightVariants()}
	switch {
	case b == spec.BF16Pairs:
		s.Rows /= 2
		t.evenOdd, t.segment = true, spec.BF16Segment
	case s.Prefetch:
		t.prefetched = s.Rows
	}
	fn := spec.WeightGemm(b)
	if t.variants == nil {
		g.Kernel(fn)
		t.emit(s.Rows)
		return
	}
	name := "panelProduct" + strings.TrimPrefix(fn.Name, "WeightGemm")
	g.Shared(name, fn, "is "+fn.Name+" in all variants, which jump to it.")
	t.emit(s.Rows)
	for _, v := range t.variants {
		g.Kernel(v.Function(b))
		t.memory()
		g.MOVQ(operand.U32(v.Prefetch), t.panels)
		g.TailJump(name)
	}
}

// A gemmer emits one product.
type gemmer struct {
	g       *gen
	vectors int
	weights bool
	element spec.Element // of B
	segment int          // steps of one, if that is no argument: then sums are stored, and nothing else is done with them
	evenOdd bool         // a product in bfloat16, see gemm_evenodd.go
	holds   bool         // and its sums of segments stay in registers
	waits   bool         // or wait in C, and tiles have their own ends

	variants []spec.WeightVariant // of a product with a packed panel

	a, c, m     reg.GPVirtual // row of A after the tile's, row of C, rows left after the tile's
	rs, cs, ldb reg.GPVirtual // in bytes
	odd         map[int]reg.GPVirtual
	p, b, k     reg.GPVirtual      // of the step, and steps or iterations left of the segment
	acc         [][]reg.VecVirtual // a tile has its rows in the first ones
	odds        [][]reg.VecVirtual // the same for the chains of odd steps
	sums        [][]reg.VecVirtual // and for the sums of segments

	spans   []emit.Span // of heights, that have an inner loop together
	heights *emit.Heights

	prefetched int             // rows of the register tiles that prefetch A, 0 for none; see gemm_prefetch.go
	ahead      reg.Register    // distance of the columns to prefetch, in bytes, if there are any
	nextRows   []reg.GPVirtual // distances of the next register tile's rows, for packed panels

	next    reg.GPVirtual // next line to prefetch of the next part of the panel, see gemm_weights.go
	nextEnd operand.Mem   // the part's end
	lines   int           // that an iteration prefetches

	ldc operand.Mem // in bytes

	// first is the argument k, which becomes the steps of the first segment. With a single
	// segment a tile needs first and mode alone.
	first  operand.Mem
	mode   operand.Mem // what to do with the sums
	rest   operand.Mem // steps after the first segment
	left   operand.Mem // steps after the current segment
	begins operand.Mem // not 0 if the first segment is added to C
	adds   operand.Mem // not 0 if the current segment is added to C
	height operand.Mem // rows of the tile
	code   operand.Mem // of heights: their byte
	start  operand.Mem // its first row of C

	maxima, alphas, betas operand.Mem // pointers

	panels operand.Mem // WeightVariant.Prefetch
}

// memory gives these the places of arguments that are not needed, or not any more.
func (t *gemmer) memory() {
	c, a, b := t.g.Param("c"), t.g.Param("a"), t.g.Param("b")
	t.first, t.mode, t.left = t.g.Argument("k"), t.g.Memory(c.Len()), t.g.Memory(a.Len())
	t.adds, t.height, t.start = t.g.Memory(a.Cap()), t.g.Memory(b.Len()), t.g.Memory(b.Cap())
	t.rest, t.begins = t.g.Memory(a.Base()), t.g.Argument("m") // which are in registers
	t.maxima, t.alphas, t.betas = t.g.Memory(c.Cap()), t.g.Memory(c.Cap()), t.g.Memory(a.Cap())
	t.panels, t.code = t.g.Memory(c.Cap()), t.g.Argument("rs")
}

// spansOf parts the heights up to a number of rows. Low tiles, see gemm_weights.go, share none with
// others.
func (t *gemmer) spansOf(rows int) []emit.Span {
	spans := []emit.Span{{Least: rows, Most: rows}}
	for most := rows - 1; most > 0; {
		least := min(most, max(t.alone(rows)+1, most-emit.MostHeights+1))
		for t.isLow(least) != t.isLow(most) {
			least++
		}
		spans = append(spans, emit.Span{Least: least, Most: most})
		most = least - 1
	}
	return spans
}

// alone is the largest height up to which each has an inner loop of its own, in a product with
// tiles of so many rows. A call with 2 or 3 rows of A, as short calls of attention make, takes so
// little time that it feels the way into a shared loop. Rows of packed panels take longer. With one
// vector of AVX2 the instructions of a row take the time, not its FMA, so that jumps are not free.
func (t *gemmer) alone(rows int) int {
	switch {
	case t.weights:
		return 1
	case t.waits || t.vectors == 1 && !t.g.EVEX():
		return rows
	}
	return 3
}

// The modes: first for one segment, then for several.
const (
	storeOne  = iota // a single segment is stored
	storeMore        // there are several, or C is the first summand
	merge            // C = fma(sum, beta, C·alpha)
	maxOne           // a single segment is stored, and the maxima are raised to it
	maxMore
)

// emit emits the loop over the rows. All register tiles but the last two have full height.
// The last two share the remaining rows evenly, as very low tiles are slow: their few
// accumulators wait for each other.
func (t *gemmer) emit(rows int) {
	t.memory()
	t.a, t.c, t.m = t.g.Slice("a"), t.g.Slice("c"), t.g.Num("m")
	if !t.holds && !t.waits {
		t.single()
		defer t.cut()
	}
	t.ldc = t.g.Argument("ldc")
	t.g.SHLQ(operand.Imm(2), t.ldc)
	t.rs, t.cs, t.ldb = t.g.Stride("rs"), t.g.Stride("cs"), t.g.Num("ldb")
	t.g.SHLQ(operand.U8(t.element.Shift()), t.ldb)
	t.oddMultiples(rows)
	if t.weights {
		t.lookAtNextRows()
		t.prepareNext(rows)
	}

	height := t.toTile(rows)
	t.g.Label("done")
	t.g.Return()

	t.p, t.b, t.k = t.g.GP64(), t.g.GP64(), t.g.GP64()
	t.acc = make([][]reg.VecVirtual, rows)
	for i := range t.acc {
		t.acc[i] = t.g.Vecs(t.vectors)
		if t.evenOdd {
			t.odds = append(t.odds, t.g.Vecs(t.vectors))
		}
		if t.holds {
			t.sums = append(t.sums, t.g.Vecs(t.vectors))
		}
	}
	for _, s := range t.spans {
		t.tile(s, height)
	}
	switch {
	case t.holds:
		t.held()
	case !t.waits:
		t.store()
	}
}

// toTile emits the jump to a register tile for the rows that are left, and returns its height.
func (t *gemmer) toTile(rows int) (height reg.GPVirtual) {
	t.spans = t.spansOf(rows)
	if rows == 1 {
		t.g.Comment("Tiles of one row.")
		t.g.Label("rows")
		t.g.TESTQ(t.m, t.m)
		t.g.JNZ(operand.LabelRef(tileLabel(1)))
		return nil
	}
	t.g.Commentf("Tiles of %d rows while that many are left for another one after; the last two share the rest.", rows)
	t.g.Label("rows")
	t.g.CMPQ(t.m, operand.U32(2*rows))
	t.g.JGE(operand.LabelRef(tileLabel(rows)))
	t.g.CMPQ(t.m, operand.U32(rows))
	t.g.JE(operand.LabelRef(tileLabel(rows)))
	height = t.g.GP64()
	t.g.MOVQ(t.m, height)
	t.g.JL(operand.LabelRef("last"))
	t.g.INCQ(height)
	t.g.SHRQ(operand.Imm(1), height)
	t.g.Label("last")
	t.g.TESTQ(height, height)
	t.g.JZ(operand.LabelRef("done"))
	for _, s := range slices.Backward(t.spans) { // one row first: some calls have no more
		t.g.CMPQ(height, operand.U32(s.Most))
		t.g.JLE(operand.LabelRef(tileLabel(s.Most)))
	}
	return height
}

// tile emits register tiles of a span, up to where their sums are stored. height is their number of
// rows, if the span has several.
func (t *gemmer) tile(s emit.Span, height reg.GPVirtual) {
	name, rows := tileLabel(s.Most), s.Most
	t.g.Commentf("Tile of %v × %d vectors.", s, t.vectors)
	t.g.Label(name)
	acc := t.acc[:rows]
	t.heights = t.g.NewHeights(name, s, t.code)
	t.g.MOVQ(t.a, t.p)
	if s.Single() {
		t.g.SUBQ(operand.U32(rows), t.m)
		t.skip(t.a, rows)
	} else {
		t.skipHeight(height)
	}
	t.g.MOVQ(t.g.Memory(t.g.Param("b").Base()), t.b)
	switch {
	case t.holds:
		t.hold(s, name)
		return
	case t.waits:
		t.wait(s, name)
		return
	}
	t.lookAhead(rows, t.p)
	t.fetchSums(acc, name)
	t.g.MOVQ(t.first, t.k)
	t.g.Label(name + "segment")
	t.zeros(acc)
	t.prefetchRows(rows, name)
	if t.evenOdd {
		t.bothChains(acc, name)
	} else {
		t.steps(acc, name)
	}
	t.toStore(s)
}

// skipHeight moves a over the rows of a tile of a span.
func (t *gemmer) skipHeight(height reg.GPVirtual) {
	bytes := t.copyOf(height)
	t.g.MOVQ(height, t.height)
	t.g.SUBQ(height, t.m)
	t.g.IMULQ(t.rs, bytes)
	t.g.ADDQ(bytes, t.a)
	t.heights.Set(height)
}

func tileLabel(rows int) string { return fmt.Sprintf("tile%d", rows) }

// oddMultiples computes the odd multiples of rs that the addresses of rows need.
func (t *gemmer) oddMultiples(rows int) {
	t.odd = map[int]reg.GPVirtual{1: t.rs}
	for o := 3; o < rows; o += 2 {
		r := t.g.GP64()
		t.g.LEAQ(emit.Indexed(t.odd[o-2], t.rs, 2), r)
		t.odd[o] = r
	}
}

// address returns the address of the number of row i at p.
func (t *gemmer) address(p reg.Register, i int) operand.Mem {
	if i == 0 {
		return emit.At(p, 0)
	}
	scale := uint8(1)
	for i%2 == 0 && scale < 8 {
		i, scale = i/2, scale*2
	}
	return emit.Indexed(p, t.odd[i], scale)
}

// skip moves p over a number of rows of A, in powers of two.
func (t *gemmer) skip(p reg.GPVirtual, rows int) {
	for rows > 0 {
		n := 8
		for n > rows {
			n /= 2
		}
		t.g.LEAQ(emit.Indexed(p, t.rs, uint8(n)), p)
		rows -= n
	}
}

// zeros clears the accumulators.
func (t *gemmer) zeros(acc [][]reg.VecVirtual) {
	for i := range acc {
		for _, v := range acc[i] {
			t.g.Zero(t.g.Context, v)
		}
	}
}

func (t *gemmer) copyOf(r reg.GPVirtual) reg.GPVirtual {
	x := t.g.GP64()
	t.g.MOVQ(r, x)
	return x
}
