package amd64

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products of quantized rows with quantized weights. A tile has some rows of x and some vectors of
// a panel. It goes through the panel block by block, and in a block through all lanes, one group of
// vectors after the other: so weights come from memory in their order. The sums of a block are
// integers in registers, of 16 or 32 bits. The sums over the blocks are float32 and stay in C,
// which is in L1: for a vector and a row a block takes one load and one store of C, two with minima
// of groups, beside 8 to 34 instructions on integers. AVX-512 has registers for C, too, if few rows
// take whole panels, see keepsC.
//
// How integers are multiplied is in int8_avx2.go, int8_grouped.go and int8_vnni.go. Two products
// have another order, with the blocks in the outer loop and the rows in the inner loop: many rows
// with 8-bit weights with AVX2, see int8_words.go, and grouped formats with VNNI, see int8_many.go
// and int8_bytes.go. Other whole panels of these are in int8_whole.go.
//
// Formats that differ in offsets and minima, in little else, are one function: see int8Formats.
//
// General registers: x, ldx, c, ldc, the block, twice the lanes; in a group of vectors twice its
// first lane, the numbers, the first row of x, the fourth and the seventh, a count; at its end as
// many rows of C. m, k and x are in memory, in the place of arguments.

// An int8Gemmer emits one product.
type int8Gemmer struct {
	g             *gen
	format        ukernel.PackedFormat // whose code is emitted
	floats        bool                 // accumulators are float32
	scaled        bool                 // and so they are, times the scales of the weights
	rows, vectors int                  // of a tile, the most rows of its loop
	heights       *emit.Heights        // of its loop
	height        operand.Mem          // on the stack, for heights
	acc           [][]reg.VecVirtual
	kept          [][]reg.VecVirtual // C, if the tile keeps it in registers

	x, ldx, c, ldc, block    reg.GPVirtual // of the tile; distances in bytes
	near, far, again         operand.Mem   // what to prefetch, the others as distances from near
	ahead                    operand.Mem   // near and far of the call, on the stack
	lanes2, lane2, numbers   reg.GPVirtual
	xArg, kArg, mArg, blocks operand.Mem // x of the tile, inputs left, rows left, the first block
	size, left               operand.Mem // of a block, in bytes; inputs left of the tile
	frame                    operand.Mem // on the stack, see prepare

	// heads is where the scales and minima of integers lie. What follows is the block.
	heads operand.Mem

	// Of several formats: which one it is, the bytes of the headers of all lanes and of 16. several
	// says that they have single scales.
	several       bool
	which         operand.Op // with AVX2, where tiles have fewer rows, in a register
	headers, some operand.Mem
	formats       []ukernel.PackedFormat
	looksUp       bool     // which is E2M1 or IQ4
	apart         []func() // emit at the end what formats but the first do alone
}

// int8Formats lists the formats that share a function with q, in their order: grouped ones that
// differ in their scales alone.
func (g *gen) int8Formats(q ukernel.PackedFormat) (list []ukernel.PackedFormat) {
	all := spec.SingleFormats
	if q.Grouped() {
		all = spec.GroupedFormats
	}
	for _, x := range all {
		shares := g.vnni || x.Bits() < 8 && q.Bits() < 8 // see int8Words
		switch {
		case q.Grouped():
			shares = x.Bits() == q.Bits() && x.Offset() == q.Offset()
		case x.Values() != nil || q.Values() != nil:
			shares = g.vnni && x.Values() != nil && q.Values() != nil
		}
		if shares || x == q {
			list = append(list, x)
		}
	}
	return list
}

// An int8Dot is what an ISA does with the numbers of a block.
type int8Dot interface {
	// tiles returns groups of tiles with one number of vectors each. The last group goes through
	// all lanes, and its last tile has 1 row; a group with more vectors is for whole panels alone.
	tiles(ukernel.PackedFormat) [][]spec.TileShape

	frameBytes(q ukernel.PackedFormat) int // on the stack

	// manyRows emits products of many rows that go another way, and returns after them. For what
	// follows it clears C.
	manyRows(t *int8Gemmer)

	// prepare emits what is done once for a block of the rows.
	prepare(t *int8Gemmer)

	// sums emits the sums of a block: of 32 bits, and without the offset if that is left to it.
	sums(t *int8Gemmer, name string)
}

// someLanes is the number of lanes of a group of vectors that is no whole panel, of several
// formats.
const someLanes = 16

// int8Function names the function of several formats, or of one with AVX-512.
func int8Function(q ukernel.PackedFormat) string {
	switch {
	case q.Grouped() && q.Offset() == 0:
		return fmt.Sprint("weightGemmInt8Minima", q.Bits())
	case q.Grouped():
		return fmt.Sprint("weightGemmInt8Grouped", q.Bits())
	case q.Values() != nil:
		return "weightGemmInt8Values"
	}
	return "weightGemmInt8Blocks"
}

func (g *gen) WeightGemmInt8(q ukernel.PackedFormat) {
	g.formatInt8(spec.WeightGemmInt8(q), q, int8Function(q))
	switch {
	case g.EVEX():
	case !q.Grouped():
		g.vnni = true
		g.formatInt8(spec.WeightGemmInt8Dot(q), q, int8Function(q)+"Dot")
		g.vnni = false
	case slices.Contains(bytesFormats, q):
		g.bytesInt8(q)
	}
}

// formatInt8 emits the product with a format, whose function has that name if it is of several.
func (g *gen) formatInt8(f spec.Function, q ukernel.PackedFormat, name string) {
	formats := g.int8Formats(q)
	if len(formats) == 1 && !g.EVEX() {
		g.Kernel(f)
		g.productInt8(q)
		return
	}
	if q == formats[0] {
		g.Shared(name, f, "is a product with quantized weights, to which kernels jump.")
		g.productInt8(formats...)
	}
	g.eachBlockVariant(f, func(v spec.BlockVariant) {
		g.jumpInt8(q, name, prefetching{far: v.Ahead << 10, near: v.Ahead << 10})
	})
}

// eachBlockVariant begins a kernel for each variant of f that the ISA has, or one for all.
func (g *gen) eachBlockVariant(f spec.Function, jump func(v spec.BlockVariant)) {
	if g.BlockVariants() == nil {
		g.Kernel(f)
		jump(spec.BlockVariant{})
	}
	for _, v := range g.BlockVariants() {
		g.Kernel(v.Function(f))
		jump(v)
	}
}

// jumpInt8 goes on in the function of several formats. With AVX-512 all tiles prefetch as p says,
// unless that is zero.
func (g *gen) jumpInt8(q ukernel.PackedFormat, name string, p prefetching) {
	t := &int8Gemmer{g: g}
	t.memory()
	g.MOVQ(operand.U32(uint32(q)), t.which)
	header, size := t.sizes(q)
	g.MOVQ(operand.U32(size), t.size)
	g.MOVQ(operand.U32(header), t.headers)
	g.MOVQ(operand.U32(header*someLanes), t.some)
	if g.EVEX() {
		g.MOVQ(operand.U32(p.word()), t.near)
	}
	g.TailJump(name)
}

// WeightGemmInt8Grouped is WeightGemmInt8 for grouped formats.
func (g *gen) WeightGemmInt8Grouped(q ukernel.PackedFormat) { g.WeightGemmInt8(q) }

// productInt8 emits the product with formats.
func (g *gen) productInt8(formats ...ukernel.PackedFormat) {
	t := g.beginInt8(formats...)
	switch {
	case t.format.Grouped() && g.EVEX():
		g.gemmInt8(t, &vnniGrouped{})
	case t.format.Grouped():
		g.gemmInt8(t, groupedDot(t.format))
	case g.EVEX():
		g.gemmInt8(t, vnniDot{})
	case g.vnni:
		g.gemmInt8(t, vexDot{})
	default:
		g.gemmInt8(t, avx2Dot{})
	}
}

// memory gives these the places of arguments that are not needed, or not any more.
func (t *int8Gemmer) memory() {
	b, x, c := t.g.Param("b"), t.g.Param("x"), t.g.Param("c")
	t.xArg, t.kArg, t.mArg, t.blocks = t.g.Memory(x.Base()), t.g.Argument("k"), t.g.Argument("m"), t.g.Memory(b.Base())
	t.size, t.left, t.near = t.g.Memory(b.Len()), t.g.Memory(x.Len()), t.g.Memory(x.Cap())
	t.which, t.headers, t.some = t.g.Memory(c.Len()), t.g.Memory(b.Cap()), t.g.Memory(c.Cap())
	t.heads, t.far, t.again = t.g.Memory(c.Base()), t.g.Argument("ldx"), t.g.Argument("lanes")
}

// sizes returns the bytes of a lane before its numbers, and of all of a block, without its head.
func (t *int8Gemmer) sizes(q ukernel.PackedFormat) (header, size int) {
	header = q.HeaderBytes()
	if q.Grouped() {
		header = q.IntegerBytes()
	}
	return header, header + q.BlockBytes(1) - q.HeaderBytes()
}

// hasHeads tells whether scales and minima are at heads.
func (t *int8Gemmer) hasHeads() bool { return t.format.Grouped() && t.format.HeadBytes() > 0 }

// passHead goes past the head before a block, at which some inputs are left, if there is one, and
// does something then.
func (t *int8Gemmer) passHead(name string, left operand.Mem, block reg.GPVirtual, do func()) {
	if !t.hasHeads() {
		return
	}
	g := t.g
	if slices.ContainsFunc(t.formats, ukernel.PackedFormat.Segmented) {
		some := g.GP64()
		for _, q := range t.formats {
			if !q.Segmented() {
				g.CMPQ(t.which, operand.Imm(uint64(q)))
				g.JE(operand.LabelRef(name + "head"))
			}
		}
		g.MOVQ(left, some)
		g.TESTQ(operand.U32(spec.InputSegment-1), some)
		g.JNZ(operand.LabelRef(name + "passed"))
		g.Label(name + "head")
	}
	g.MOVQ(block, t.heads)
	for range t.format.Halves() {
		g.ADDQ(t.lanes2, block)
	}
	do()
	g.Label(name + "passed")
}

// beginInt8 emits the start of a product with formats: what is the same for all ways through it.
func (g *gen) beginInt8(formats ...ukernel.PackedFormat) *int8Gemmer {
	t := &int8Gemmer{g: g, formats: formats, format: formats[len(formats)-1], several: len(formats) > 1 && !formats[0].Grouped()}
	if formats[0].Values() != nil && g.vnni { // E2M1 and IQ4 have the same sizes
		t.formats, t.format, t.several, t.looksUp = formats[:1], formats[0], false, true
	}
	t.memory()
	t.c, t.ldc, t.ldx, t.lanes2 = g.Slice("c"), g.Stride("ldc"), g.Stride("ldx"), g.Num("lanes")
	if g.EVEX() {
		t.distances()
	}
	size := g.GP64()
	if len(formats) > 1 {
		for _, m := range []operand.Mem{t.size, t.headers} {
			g.MOVQ(t.lanes2, size)
			g.IMULQ(m, size)
			g.MOVQ(size, m)
		}
	} else {
		_, bytes := t.sizes(t.format)
		g.IMUL3Q(operand.I32(bytes), t.lanes2, size)
		g.MOVQ(size, t.size)
	}
	g.SHLQ(operand.Imm(1), t.lanes2)
	if t.several && !g.EVEX() {
		which := g.GP64()
		g.MOVQ(t.which, which)
		t.which = which
	}
	return t
}

func (g *gen) gemmInt8(t *int8Gemmer, dot int8Dot) {
	if n := dot.frameBytes(t.format); n > 0 {
		t.frame = g.Frame(n)
	}
	t.height = g.Frame(8)
	dot.manyRows(t)
	groups := dot.tiles(t.format)
	for _, shapes := range groups {
		name := fmt.Sprintf("vectors%d", shapes[0].Vectors)
		whole := shapes[0].Vectors > groups[len(groups)-1][0].Vectors
		if whole {
			g.CMPQ(t.lanes2, operand.U32(2*shapes[0].Vectors*g.Lanes()))
			g.JNE(operand.LabelRef(name + "done"))
		}
		t.eachTile(dot, shapes, name)
		if whole {
			g.Label(name + "done")
		}
	}
	t.finish()
}

// wholeTiles are tiles of whole panels with up to so many rows.
func wholeTiles(most int) (list []spec.TileShape) {
	for rows := most; rows > 0; rows-- {
		list = append(list, spec.TileShape{Vectors: manyVectors, Rows: rows})
	}
	return list
}

// eachTile emits the loops over tiles of shapes with the same vectors. Four rows and three may
// share a loop, see emit.Heights. With one or two rows, or one vector, jumps over rows take more
// time than they save.
func (t *int8Gemmer) eachTile(dot int8Dot, shapes []spec.TileShape, name string) {
	for ; len(shapes) > 0; shapes = shapes[1:] {
		s, least := shapes[0], shapes[0].Rows
		if s.Vectors > 1 && s.Rows == manyRows && shapes[1].Rows == manyRows-1 && t.sharesRows(dot) {
			shapes, least = shapes[1:], manyRows-1
		}
		t.tile(dot, emit.Span{Least: least, Most: s.Rows}, s.Vectors, name)
	}
}

// sharesRows tells whether four rows and three share a loop. They do not where a row takes so few
// instructions on a word that the jumps over rows take more time than they save.
func (t *int8Gemmer) sharesRows(dot int8Dot) bool {
	switch dot.(type) {
	case vnniDot:
		return false
	case vexDot:
		return !t.looksUp // as addWhole compares
	case *vnniWhole:
		return t.format.Bits() > 4
	}
	return t.format != ukernel.IQ4
}

// eachRow emits what the rows of the tile have each. That must not change flags.
func (t *int8Gemmer) eachRow(row func(i int)) {
	t.heights.Compare()
	t.heights.Rows(row)
}

// clearOthers clears the vectors of rows that the tile may lack, before those that it has are set.
func (t *int8Gemmer) clearOthers(rows [][]reg.VecVirtual) {
	for _, row := range rows[t.heights.Least:] {
		for _, v := range row {
			t.g.Zero(t.g.Context, v)
		}
	}
}

// finish emits the end of the function.
func (t *int8Gemmer) finish() {
	t.g.Return()
	for _, emit := range t.apart {
		emit()
	}
}

// clear sets C to zeros unless it is loaded.
func (t *int8Gemmer) clear() {
	load, m, c, zero := t.g.GP64(), t.g.GP64(), t.g.GP64(), t.g.Vec()
	t.g.MOVBQZX(t.g.Argument("load"), load)
	t.g.TESTQ(load, load)
	t.g.JNZ(operand.LabelRef("cleared"))
	t.g.Zero(t.g.Context, zero)
	t.g.MOVQ(t.mArg, m)
	t.g.JumpIfZero(m, "cleared")
	t.g.MOVQ(t.c, c)
	t.g.Label("clear")
	lane := t.g.GP64()
	t.g.XORQ(lane, lane)
	t.g.Label("clearlanes")
	t.g.VMOVUPS(zero, emit.Indexed(c, lane, 2))
	t.g.ADDQ(operand.U32(2*t.g.Lanes()), lane)
	t.g.CMPQ(lane, t.lanes2)
	t.g.JL(operand.LabelRef("clearlanes"))
	t.g.ADDQ(t.ldc, c)
	t.g.DECQ(m)
	t.g.JNZ(operand.LabelRef("clear"))
	t.g.Label("cleared")
}

// tile emits the loop over tiles of some rows and vectors.
func (t *int8Gemmer) tile(dot int8Dot, rows emit.Span, vectors int, group string) {
	name := func(part string) string { return fmt.Sprintf("%srows%d%s", group, rows.Most, part) }
	label := func(part string) operand.LabelRef { return operand.LabelRef(name(part)) }
	t.rows, t.vectors = rows.Most, vectors
	t.heights = t.g.NewHeights(name(""), rows, t.height)
	t.g.Commentf("Tiles of %v × %d vectors.", rows, vectors)
	t.g.Label(name(""))
	least := rows.Least
	if t.hasSpare() {
		least--
	}
	t.g.CMPQ(t.mArg, operand.I32(least))
	t.g.JL(label("done"))
	if !rows.Single() {
		count := t.g.GP64()
		t.g.MOVQ(t.mArg, count)
		t.heights.Set(count)
	}
	t.x, t.block = t.g.GP64(), t.g.GP64()
	t.g.MOVQ(t.xArg, t.x)
	t.g.MOVQ(t.blocks, t.block)
	t.startPrefetching(name("ahead"))
	t.g.Move(t.kArg, t.left)
	t.loadC(dot)

	t.g.Label(name("block"))
	t.passHead(name("block"), t.left, t.block, t.prefetchHead)
	dot.prepare(t)
	if !t.whole() {
		t.lane2 = t.g.GP64()
		t.g.XORQ(t.lane2, t.lane2)
		t.g.Label(name("lanes"))
	}
	t.numbers = t.g.GP64()
	t.g.MOVQ(t.block, t.numbers)
	if header, _ := t.sizes(t.format); len(t.formats) > 1 {
		t.g.ADDQ(t.headers, t.numbers)
	} else {
		for range header / 2 {
			t.g.ADDQ(t.lanes2, t.numbers)
		}
	}
	if !t.whole() {
		t.g.LEAQ(emit.Indexed(t.numbers, t.lane2, 2), t.numbers)
	}
	t.acc = make([][]reg.VecVirtual, rows.Most)
	for i := range t.acc {
		t.acc[i] = t.g.Vecs(vectors)
	}
	dot.sums(t, name("word"))
	t.addToC(vectors, name("store"))
	if !t.whole() {
		t.g.ADDQ(operand.U32(2*vectors*t.g.Lanes()), t.lane2)
		t.g.CMPQ(t.lane2, t.lanes2)
		t.g.JL(label("lanes"))
	}
	t.g.ADDQ(t.size, t.block)
	t.g.ADDQ(operand.U32(spec.RowBytes), t.x)
	t.g.SUBQ(operand.I32(spec.BlockSteps), t.left)
	t.g.JNZ(label("block"))

	t.g.Comment("Go on to the next rows.")
	t.storeC()
	for range rows.Most {
		t.g.ADDQ(t.ldc, t.c)
	}
	next := t.g.GP64()
	t.g.IMUL3Q(operand.I32(rows.Most), t.ldx, next)
	t.g.ADDQ(next, t.xArg)
	t.g.SUBQ(operand.I32(rows.Most), t.mArg)
	t.g.JMP(label(""))
	t.g.Label(name("done"))
}

// whole tells whether the tile has all lanes of whole panels, which need no loop over lanes.
func (t *int8Gemmer) whole() bool { return t.vectors*t.g.Lanes() == spec.PanelLanes }

// keepsC is how many rows of C the tiles of whole panels keep in registers.
func (t *int8Gemmer) keepsC(dot int8Dot) int {
	switch dot.(type) {
	case *vnniHalves:
		if t.format.Bits() > 4 {
			return 2
		}
	case *vnniWhole:
		if t.format.Bits() > 4 {
			return 3
		}
	case *vnniGrouped:
		return 0
	}
	if !t.g.EVEX() {
		return 0
	}
	return 4
}

// loadC loads C if the tile keeps it, and storeC stores it then.
func (t *int8Gemmer) loadC(dot int8Dot) {
	t.kept = nil
	if !t.whole() || t.rows > t.keepsC(dot) {
		return
	}
	for range t.rows {
		t.kept = append(t.kept, t.g.Vecs(t.vectors))
	}
	c := t.g.rowsFrom(t.c, t.ldc, t.rows)
	t.clearOthers(t.kept)
	t.eachOf(t.kept, func(i, v int, sum reg.VecVirtual) { t.g.VMOVUPS(c.at(i, v*t.g.VecBytes()), sum) })
}

func (t *int8Gemmer) storeC() {
	if t.kept != nil {
		c := t.g.rowsFrom(t.c, t.ldc, len(t.kept))
		t.eachOf(t.kept, func(i, v int, sum reg.VecVirtual) { t.g.VMOVUPS(sum, c.at(i, v*t.g.VecBytes())) })
	}
}

// hasSpare tells whether the tile may lack a row: it computes and stores another one twice then,
// which takes less time than lower tiles.
func (t *int8Gemmer) hasSpare() bool { return t.rows == 8 && t.several }

// A rowPointers addresses some rows of a stride in bytes: every third has a register.
type rowPointers struct {
	bases  []reg.GPVirtual
	stride reg.GPVirtual
}

// rowsFrom returns pointers to n rows, the first of which begins at p.
func (g *gen) rowsFrom(p, stride reg.GPVirtual, n int) (r rowPointers) {
	r.stride = stride
	for i := 0; i < n; i += 3 {
		base := g.GP64()
		if i == 0 {
			g.MOVQ(p, base)
		} else {
			g.LEAQ(emit.Indexed(r.bases[len(r.bases)-1], stride, 2), base)
			g.ADDQ(stride, base)
		}
		r.bases = append(r.bases, base)
	}
	return r
}

// tileRows returns pointers to the rows of the tile. If it lacks a row, the last two rows are the
// ones before them.
func (t *int8Gemmer) tileRows(p, stride reg.GPVirtual) rowPointers {
	r := t.g.rowsFrom(p, stride, t.rows)
	if t.hasSpare() {
		last, back := r.bases[len(r.bases)-1], t.g.GP64()
		t.g.MOVQ(last, back)
		t.g.SUBQ(stride, back)
		t.g.CMPQ(t.mArg, operand.I32(t.rows))
		t.g.CMOVQLT(back, last)
	}
	return r
}

// at is the memory some bytes from the start of row i.
func (r rowPointers) at(i, disp int) operand.Mem {
	m := emit.At(r.bases[i/3], disp)
	if i%3 > 0 {
		m = emit.Indexed(r.bases[i/3], r.stride, uint8(i%3))
		m.Disp = disp
	}
	return m
}

// advance moves all rows on.
func (r rowPointers) advance(g *gen, bytes int) { g.Advance(bytes, r.bases...) }

// addToC emits the rest of a block: the sums are scaled and added to C. name is the name of a
// label.
func (t *int8Gemmer) addToC(vectors int, name string) {
	g := t.g
	x := t.tileRows(t.x, t.ldx)
	var c rowPointers
	if t.kept == nil {
		first := t.c
		if !t.whole() {
			first = g.GP64()
			g.LEAQ(emit.Indexed(t.c, t.lane2, 2), first)
		}
		c = t.tileRows(first, t.ldc)
	}
	if t.scaled {
		t.addScaled(x, c)
		return
	}
	scales := t.g.Vecs(vectors)
	header := t.header(0)
	t.eachOfValues(name+"scales", func(q ukernel.PackedFormat) { t.widen(q, header, scales) })
	groupMinima := t.format.Grouped() && t.format.Offset() == 0
	t.eachRow(func(i int) {
		row := t.acc[i]
		d, sums, products := g.Vec(), row, []reg.VecVirtual{}
		if t.kept != nil {
			sums = t.kept[i]
		}
		g.VBROADCASTSS(x.at(i, spec.RowScale), d)
		store := func(v int) {
			if t.kept == nil && !t.several && !(groupMinima && g.EVEX()) { // with AVX2 there are no registers for all of them
				g.VMOVUPS(sums[v], c.at(i, v*g.VecBytes()))
			}
		}
		for v, acc := range row {
			p := g.Vec()
			g.VMULPS(d, scales[v], p)
			if !t.floats {
				g.VCVTDQ2PS(acc, acc)
			}
			if t.kept != nil {
				g.VFMADD231PS(acc, p, sums[v])
			} else {
				g.VFMADD213PS(c.at(i, v*g.VecBytes()), p, acc)
			}
			if products = append(products, p); !t.format.BFloat16Scales() {
				store(v)
			}
		}
		if t.format.BFloat16Scales() {
			t.addWhole(x, i, products, sums, fmt.Sprint(name, "whole", i))
			for v := range row {
				store(v)
			}
		}
	})
	switch {
	case t.several:
		g.CMPQ(t.which, operand.Imm(uint64(ukernel.U4)))
		g.JNE(operand.LabelRef(name))
		t.prefetchMinima()
		t.addMinima(x, vectors)
		g.Label(name)
		if t.kept == nil {
			t.eachOf(t.acc, func(i, v int, acc reg.VecVirtual) { g.VMOVUPS(acc, c.at(i, v*g.VecBytes())) })
		}
	case groupMinima:
		t.addGroupMinima(x, c, vectors, name+"integers")
	}
}

// eachOfValues emits what E2M1 and IQ4 do each, if the function is of both, else what the format
// does.
func (t *int8Gemmer) eachOfValues(name string, emit func(q ukernel.PackedFormat)) {
	if !t.looksUp {
		emit(t.format)
		return
	}
	t.g.CMPQ(t.which, operand.Imm(uint64(ukernel.E2M1)))
	t.g.JNE(operand.LabelRef(name + "iq4"))
	emit(ukernel.E2M1)
	t.g.Goto(name + "done")
	t.g.Label(name + "iq4")
	emit(ukernel.IQ4)
	t.g.Label(name + "done")
}

// addWhole adds what makes up for the offset of a format with bfloat16 scales in row i.
func (t *int8Gemmer) addWhole(x rowPointers, i int, products, sums []reg.VecVirtual, name string) {
	if t.looksUp {
		t.g.CMPQ(t.which, operand.Imm(uint64(ukernel.E2M1)))
		t.g.JNE(operand.LabelRef(name))
	}
	whole := t.g.Vec()
	t.broadcastOffset(ukernel.E2M1, x, i, whole)
	t.g.VCVTDQ2PS(whole, whole)
	for v, p := range products {
		t.g.VFMADD231PS(whole, p, sums[v])
	}
	if t.looksUp {
		t.g.Label(name)
	}
}

// widen loads scales or minima of a format.
func (t *int8Gemmer) widen(q ukernel.PackedFormat, from operand.Mem, to []reg.VecVirtual) {
	for v, d := range to {
		t.g.widenScales(q, from.Offset(v*t.g.VecBytes()/2), d)
	}
}

// header is where the lanes begin in part n of a block's header or head, which has 2 bytes of each
// lane.
func (t *int8Gemmer) header(n int) operand.Mem {
	from := t.block
	if t.hasHeads() {
		from = t.g.GP64()
		t.g.MOVQ(t.heads, from)
	}
	if t.whole() {
		return emit.At(from, n*2*spec.PanelLanes)
	}
	m := emit.Indexed(from, t.lane2, 1)
	if n > 0 {
		p := t.g.GP64()
		t.g.LEAQ(m, p)
		for range n - 1 {
			t.g.ADDQ(t.lanes2, p)
		}
		m = emit.Indexed(p, t.lanes2, 1)
	}
	return m
}

// eachAcc calls f for every accumulator, also of rows that the tile may lack.
func (t *int8Gemmer) eachAcc(f func(row, vector int, acc reg.VecVirtual)) {
	for i, row := range t.acc {
		for v, x := range row {
			f(i, v, x)
		}
	}
}

// eachOf emits what the vectors of rows have each, of those that the tile has. That must not change
// flags.
func (t *int8Gemmer) eachOf(rows [][]reg.VecVirtual, f func(row, vector int, x reg.VecVirtual)) {
	t.eachRow(func(i int) {
		for v, x := range rows[i] {
			f(i, v, x)
		}
	})
}

// addMinima adds the minima to the accumulators, which become C.
func (t *int8Gemmer) addMinima(x rowPointers, vectors int) {
	g, from, minima := t.g, t.header(1), t.g.Vecs(vectors)
	for v, m := range minima {
		g.VCVTPH2PS(from.Offset(v*g.VecBytes()/2), m)
	}
	sums := t.acc
	if t.kept != nil {
		sums = t.kept
	}
	t.eachRow(func(i int) {
		s := g.Vec()
		g.VBROADCASTSS(x.at(i, spec.RowSum), s)
		for v, acc := range sums[i] {
			g.VFMADD231PS(s, minima[v], acc)
		}
	})
}

// eachProduct emits the products of a word. part makes a vector of weights from the word in memory,
// number is where the word of a row is, and multiply adds a product to its sum.
func (t *int8Gemmer) eachProduct(part func(from operand.Mem, w reg.VecVirtual), number func(i int) operand.Mem, multiply func(number, w, acc reg.VecVirtual)) {
	ws := t.g.Vecs(len(t.acc[0]))
	for v, w := range ws {
		part(emit.At(t.numbers, v*t.g.VecBytes()), w)
	}
	t.eachRow(func(i int) {
		x := t.g.Vec()
		t.g.VPBROADCASTD(number(i), x)
		for v, acc := range t.acc[i] {
			multiply(x, ws[v], acc)
		}
	})
}

// eachWord emits the loop over the words of a lane, with their prefetches.
func (t *int8Gemmer) eachWord(name string, words int, body func()) {
	g, count := t.g, t.g.GP64()
	g.MOVQ(operand.U32(words), count)
	g.AlignLoop()
	g.Label(name)
	body()
	t.prefetch(words)
	g.LEAQ(emit.Indexed(t.numbers, t.lanes2, 2), t.numbers)
	g.DECQ(count)
	g.JNZ(operand.LabelRef(name))
	t.prefetchRest(words)
}

// broadcastOffset sets v to what makes up for the offset of a format's numbers in row i: minus the
// sum of its codes, times the offset, which is a power of two.
func (t *int8Gemmer) broadcastOffset(q ukernel.PackedFormat, x rowPointers, i int, v reg.VecVirtual) {
	t.g.VPBROADCASTD(x.at(i, spec.RowMinusSum), v)
	t.g.VPSLLD(operand.Imm(uint64(bits.TrailingZeros(uint(q.Offset())))), v, v)
}
