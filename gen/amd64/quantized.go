package amd64

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products with quantized weights, for as few rows of A as wait for memory. Package quantized
// describes their blocks. A weight is made in registers, w = fma(float(q), d, m), and used for all
// rows of a tile. The product of q and d is exact, so each w is rounded at most once, as the
// reference has it, and the product has the bits of a product with widened weights.
//
// A tile has some rows of A and some vectors of a panel. More rows use a weight more often, with
// fewer vectors, as there are only so many registers. If the vectors are not the whole panel, a
// segment is gone through again for the others: it is in L1 then. The numbers of a block are taken
// 3 vectors at a time, so that scales and minima are in registers. With minima in memory and 6
// vectors at a time, a row takes a fifth longer on Zen 3. If the two times 3 vectors of a row take
// turns after every 4 steps, with scales and minima in memory, it takes 6% longer, although 6 sums
// are then under way: a row waits for the units, and as long from L1 as from memory, 1.4 cycles for
// a vector.
//
// General registers: c, cs, rs and 3·rs; the start of the segment in A and in the panel; the
// current places in A, of the scales and of the numbers, and to prefetch from; the steps left
// of the segment. What changes less often is in memory, in the place of arguments.
//
// S4, U4 and U4x32 are one function, with AVX-512 IQ4, too. They differ in the size of a block's
// header, and in where the scales and minima come from.

// A blockGemmer emits one product.
type blockGemmer struct {
	g *gen
	blockShape
	vectors int // of a tile

	c, cs, rs, rs3           reg.GPVirtual // row of C; distances in bytes
	start, block             reg.GPVirtual // of the segment
	p, scales, numbers, left reg.GPVirtual // within the segment, at the start of a block
	x                        reg.GPVirtual // within the block, in the row of A
	far                      reg.GPVirtual // of unpacked blocks: what to prefetch
	distance                 operand.Mem   // of prefetches, in bytes, if there are variants
	shift                    operand.Mem   // of numbers that are looked up

	a, m   operand.Mem // row of A, rows left
	rest   operand.Mem // steps after the segment
	steps  operand.Mem // of the segment
	adds   operand.Mem // not 0 if the sum of the segment is added to C
	lane   operand.Mem // first lane of the tile
	count  operand.Mem // of iterations
	end    operand.Mem // of the words of a position
	ldc    operand.Mem // in bytes
	minima operand.Mem // on the stack, if there are not enough registers

	bytesAt operand.Mem   // values on the stack, see lookUpBytes
	ahead   reg.GPVirtual // where the numbers are that these are of

	height, code operand.Mem // rows of the tile, and their byte

	acc   [][]reg.VecVirtual // by row and vector
	rows  *emit.Heights      // of the tile
	first int                // of the vectors that are taken at a time
	d     []reg.VecVirtual   // their scales
	min   []operand.Op       // and minima
}

// A blockShape is how a product finds its way in blocks.
type blockShape struct {
	format    ukernel.PackedFormat
	unpacked  bool // see ukernel.BlockKernels.Unpack; the format is none
	bits      int  // of a number
	scale     int  // bytes of a scale or minimum of a lane
	header    int  // bytes of a lane before its numbers
	bytes     int  // of all lanes
	positions int  // numbers of a word

	// Several formats have these in memory, and the fields above are the first format's: headers,
	// size and position are the bytes of the headers, of a block and of a position in it, of all
	// lanes.
	several                 bool
	headers, size, position operand.Op
	kind                    operand.Mem // looksUp, hasHead or 0
	head                    operand.Mem // address of the segment's
}

func (g *gen) WeightGemmQ(q ukernel.PackedFormat) {
	const first = ukernel.S4
	s := blockShape{format: q, bits: q.Bits(), scale: 2, header: q.HeaderBytes(), bytes: q.BlockBytes(spec.PanelLanes), positions: q.Positions()}
	f := spec.WeightGemmQ(q)
	name, note := "weightGemm"+q.String(), "is "+f.Name+" in all variants, which jump to it."
	if q.Bits() == first.Bits() && !q.BFloat16Scales() && (g.EVEX() || q.Values() == nil) {
		s.several, name, note = true, "weightGemm4", "is the product with weights of 4 bits, to which the formats' kernels jump."
	} else if g.BlockVariants() == nil {
		g.Kernel(f)
		g.blockGemm(g.BlockTiles(), s)
		return
	}
	if !s.several || q == first {
		g.Shared(name, f, note)
		tiles := g.BlockTiles()
		if q.BFloat16Scales() {
			tiles = tiles[1:]
		}
		g.blockGemm(tiles, s)
	}
	about := q.HeaderBytes() * spec.PanelLanes
	switch {
	case q.Values() != nil:
		about |= looksUp
	case q.Segmented():
		about |= hasHead
	}
	g.eachBlockVariant(f, func(v spec.BlockVariant) {
		c := g.Param("c")
		g.MOVQ(operand.U32(about), g.Memory(c.Len()))
		if g.BlockVariants() != nil {
			g.MOVQ(operand.U32(max(blockAhead, v.Ahead<<10)), g.Memory(c.Cap()))
		}
		g.TailJump(name)
	})
}

// Beside the bytes of headers, looksUp is set if the numbers are IQ4's, and hasHead if the format
// is segmented.
const (
	looksUp = 1 << 16
	hasHead = 1 << 17
)

// blockGemm emits a product with blocks.
func (g *gen) blockGemm(tiles []spec.TileShape, s blockShape) {
	a, b, c := g.Param("a"), g.Param("b"), g.Param("c")
	t := &blockGemmer{g: g, blockShape: s, a: g.Memory(a.Base()), m: g.Argument("m"), ldc: g.Argument("ldc"),
		rest: g.Memory(a.Len()), steps: g.Memory(a.Cap()), adds: g.Memory(b.Len()), lane: g.Memory(b.Cap()), count: g.Memory(c.Cap())}
	t.minima, t.height, t.code, t.end = g.Frame(4*spec.PanelLanes), g.Frame(8), g.Frame(8), g.Frame(8)
	if s.format.Values() != nil && !s.format.BFloat16Scales() {
		t.bytesAt = g.Frame(4 * 8 * spec.PanelLanes)
	}
	g.SHLQ(operand.Imm(2), t.ldc)
	t.c, t.cs, t.rs, t.rs3 = g.Slice("c"), g.Stride("cs"), g.Stride("rs"), g.GP64()
	g.LEAQ(emit.Indexed(t.rs, t.rs, 2), t.rs3)
	t.headers, t.size, t.position = operand.U32(s.header*spec.PanelLanes), operand.U32(s.bytes), operand.U32(s.bytes/s.positions)
	if s.several {
		t.sizes()
	}
	switch {
	case s.unpacked:
		t.far = g.Slice("next")
	case g.BlockVariants() != nil:
		t.distance, t.shift = g.Frame(8), g.Frame(8)
		g.Move(t.count, t.distance)
	}
	for i, s := range tiles {
		least := s.Rows // a tile does for fewer rows, down to the next tile's
		if i+1 < len(tiles) {
			least = tiles[i+1].Rows + 1
		}
		t.tile(s, emit.Span{Least: least, Most: s.Rows})
	}
	g.Return()
}

// sizes sets size and position, in the place of arguments that are in registers.
func (t *blockGemmer) sizes() {
	size := t.g.GP64()
	t.headers, t.size, t.position = t.g.Memory(t.g.Param("c").Len()), t.g.Argument("cs"), t.g.Argument("rs")
	t.g.MOVQ(t.headers, size)
	kind := t.g.GP64()
	t.g.MOVQ(size, kind)
	t.g.ANDQ(operand.U32(looksUp|hasHead), kind)
	t.kind, t.head = t.g.Frame(8), t.g.Frame(8)
	t.g.MOVQ(kind, t.kind)
	t.g.SUBQ(kind, size)
	t.g.MOVQ(size, t.headers)
	t.g.ADDQ(operand.U32(t.bytes-t.header*spec.PanelLanes), size)
	t.g.MOVQ(size, t.size)
	t.g.SHRQ(operand.Imm(uint64(bits.TrailingZeros(uint(t.positions)))), size)
	t.g.MOVQ(size, t.position)
}

// tile emits the loop over tiles of a shape.
func (t *blockGemmer) tile(s spec.TileShape, rows emit.Span) {
	name := func(part string) string { return fmt.Sprintf("rows%d%s", s.Rows, part) }
	label := func(part string) operand.LabelRef { return operand.LabelRef(name(part)) }
	t.vectors = s.Vectors
	t.g.Commentf("Tiles of %v × %d vectors.", rows, s.Vectors)
	t.g.Label(name(""))
	t.g.CMPQ(t.m, operand.I32(rows.Least))
	t.g.JL(label("done"))
	t.rows = t.g.NewHeights(name(""), rows, t.code)
	t.setRows()
	t.block, t.start = t.g.Slice("b"), t.g.GP64()
	t.g.MOVQ(t.a, t.start)
	t.g.Move(t.g.Argument("k"), t.rest)
	adds := t.g.GP64()
	t.g.MOVBQZX(t.g.Argument("load"), adds)
	t.g.MOVQ(adds, t.adds)

	t.g.Label(name("segment"))
	t.nextSegment()
	if t.several {
		t.g.CMPQ(t.kind, operand.U32(hasHead))
		t.g.JNE(label("headless"))
		t.g.MOVQ(t.block, t.head)
		t.g.ADDQ(operand.U32(2*2*spec.PanelLanes), t.block)
		t.g.Label(name("headless"))
	}
	t.g.MOVQ(operand.U32(0), t.lane)
	t.g.Label(name("pass"))
	t.startPass(s)
	t.g.Label(name("block"))
	n := min(3, s.Vectors)
	for t.first = 0; t.first < s.Vectors; t.first += n {
		t.g.MOVQ(t.p, t.x)
		step := name(fmt.Sprintf("step%d", t.first))
		if t.unpacked {
			t.bytesOfWords(step)
			continue
		}
		t.loadScales(s.Rows, n, step)
		switch {
		case t.bits == 4 && t.g.Lanes() == 16:
			t.lookUpBits(step)
		case t.format.BFloat16Scales():
			t.lookUpMagnitudes(step)
		case t.format.Values() != nil:
			t.lookUpBytes(step, n)
		default:
			t.maskBits(step)
		}
	}
	t.g.MOVQ(t.x, t.p)
	t.g.ADDQ(t.size, t.scales)
	t.g.ADDQ(t.size, t.numbers)
	t.g.SUBQ(operand.U32(spec.BlockSteps), t.left)
	t.g.JNZ(label("block"))

	t.g.CMPQ(t.adds, operand.Imm(0))
	t.g.JE(label("store"))
	t.eachOfC(func(v reg.VecVirtual, m operand.Mem) { t.g.VADDPS(m, v, v) })
	t.g.Label(name("store"))
	t.eachOfC(func(v reg.VecVirtual, m operand.Mem) { t.g.VMOVUPS(v, m) })
	if lanes := s.Vectors * t.g.Lanes(); lanes < spec.PanelLanes {
		t.g.ADDQ(operand.U32(lanes), t.lane)
		t.g.CMPQ(t.lane, operand.U32(spec.PanelLanes))
		t.g.JL(label("pass"))
	}
	t.g.Comment("Go on to the next segment, or the next rows.")
	t.g.MOVQ(t.p, t.start)
	t.g.LEAQ(emit.At(t.scales, -t.scale*(spec.PanelLanes-s.Vectors*t.g.Lanes())), t.block)
	t.g.MOVQ(operand.U32(1), t.adds)
	t.g.CMPQ(t.rest, operand.Imm(0))
	t.g.JNE(label("segment"))
	t.nextRows()
	t.g.JMP(label(""))
	t.g.Label(name("done"))
}

// setRows sets how many rows the tile has.
func (t *blockGemmer) setRows() {
	if t.rows.Single() {
		return
	}
	rows, most := t.g.GP64(), t.g.GP64()
	t.g.MOVQ(operand.U32(t.rows.Most), most)
	t.g.MOVQ(t.m, rows)
	t.g.CMPQ(rows, most)
	t.g.CMOVQGT(most, rows)
	t.g.MOVQ(rows, t.height)
	if t.hasSpare() {
		t.g.LEAQ(emit.Indexed(t.rs, t.rs, 2), t.rs3)
		last := t.g.GP64()
		t.g.LEAQ(emit.Indexed(t.rs, t.rs, 1), last)
		t.g.CMPQ(rows, most)
		t.g.CMOVQLT(last, t.rs3)
	}
	t.rows.Set(rows)
}

// hasSpare tells whether the tile computes its last row in any case: if it lacks one, it repeats
// the row before. For a single row that takes less time than jumps in each step. Only rs3, the
// fourth row, is turned to the third.
func (t *blockGemmer) hasSpare() bool { return t.rows.Most == 4 && t.rows.Least == 3 }

// nextRows goes on to the rows after the tile.
func (t *blockGemmer) nextRows() {
	if t.rows.Single() {
		for range t.rows.Most {
			t.g.ADDQ(t.rs, t.a)
			t.g.ADDQ(t.ldc, t.c)
		}
		t.g.SUBQ(operand.U32(t.rows.Most), t.m)
		return
	}
	rows, bytes := t.g.GP64(), t.g.GP64()
	t.g.MOVQ(t.height, rows)
	t.g.SUBQ(rows, t.m)
	t.g.MOVQ(t.rs, bytes)
	t.g.IMULQ(rows, bytes)
	t.g.ADDQ(bytes, t.a)
	t.g.IMULQ(t.ldc, rows)
	t.g.ADDQ(rows, t.c)
}

// nextSegment takes the steps of a segment from the rest.
func (t *blockGemmer) nextSegment() {
	steps, rest := t.g.GP64(), t.g.GP64()
	t.g.MOVQ(operand.U32(spec.InputSegment), steps)
	t.g.MOVQ(t.rest, rest)
	t.g.CMPQ(rest, steps)
	t.g.CMOVQLT(rest, steps)
	t.g.SUBQ(steps, rest)
	t.g.MOVQ(rest, t.rest)
	t.g.MOVQ(steps, t.steps)
}

// startPass goes to the start of the segment for the lanes from lane on.
func (t *blockGemmer) startPass(s spec.TileShape) {
	t.p, t.x, t.scales, t.numbers, t.left = t.g.GP64(), t.g.GP64(), t.g.GP64(), t.g.GP64(), t.g.GP64()
	t.g.MOVQ(t.start, t.p)
	t.g.MOVQ(t.lane, t.left)
	t.g.LEAQ(emit.Indexed(t.block, t.left, uint8(t.scale)), t.scales)
	t.g.LEAQ(emit.Indexed(t.block, t.left, 4), t.numbers)
	t.g.ADDQ(t.headers, t.numbers)
	t.g.MOVQ(t.steps, t.left)
	t.acc = make([][]reg.VecVirtual, s.Rows)
	for i := range t.acc {
		t.acc[i] = t.g.Vecs(s.Vectors)
		for _, v := range t.acc[i] {
			t.g.Zero(t.g.Context, v)
		}
	}
}

// eachOfC calls f for every accumulator and its place in C.
func (t *blockGemmer) eachOfC(f func(v reg.VecVirtual, m operand.Mem)) {
	c, ldc := t.g.GP64(), t.g.GP64()
	t.g.MOVQ(t.lane, c)
	t.g.LEAQ(emit.Indexed(t.c, c, 4), c)
	t.g.MOVQ(t.ldc, ldc)
	t.rows.Compare()
	t.rows.Rows(func(i int) {
		for v, x := range t.acc[i] {
			f(x, emit.At(c, v*t.g.VecBytes()))
		}
		t.g.LEAQ(emit.Indexed(c, ldc, 1), c)
	})
}

// loadScales loads the scales and minima of n vectors, for a tile of some rows. Minima for which
// there are no registers are stored as float32. name begins a label.
func (t *blockGemmer) loadScales(rows, n int, name string) {
	t.d, t.min = t.g.Vecs(n), make([]operand.Op, n)
	registers := 16
	if t.g.EVEX() {
		registers = 32
	}
	const others = 2 // a weight, and a constant
	inRegisters := rows*t.vectors+2*n+min(rows, n)+others <= registers
	at := func(v int) int { return (t.first + v) * t.g.Lanes() * t.scale }
	ms := t.g.Vecs(n)
	if t.several {
		t.g.CMPQ(t.kind, operand.U32(hasHead))
		t.g.JNE(operand.LabelRef(name + "single"))
		t.productScales(ms)
		t.g.Goto(name + "minima")
		t.g.Label(name + "single")
	}
	for v, d := range t.d {
		t.g.widenScales(t.format, emit.At(t.scales, at(v)), d)
	}
	if t.format.BFloat16Scales() {
		return
	}
	minima := func(q ukernel.PackedFormat) {
		for v, d := range t.d {
			t.g.loadMinima(q, emit.At(t.scales, t.scale*spec.PanelLanes+at(v)), d, ms[v])
		}
	}
	if t.several {
		t.g.CMPQ(t.headers, operand.U32(t.header*spec.PanelLanes))
		t.g.JE(operand.LabelRef(name + "offset"))
		minima(ukernel.U4)
		t.g.Goto(name + "minima")
		t.g.Label(name + "offset")
	}
	if t.several && t.g.EVEX() {
		t.g.CMPQ(t.kind, operand.Imm(0))
		t.g.JE(operand.LabelRef(name + "selves"))
		minima(ukernel.IQ4)
		t.g.Goto(name + "minima")
		t.g.Label(name + "selves")
	}
	minima(t.format)
	if t.several {
		t.g.Label(name + "minima")
	}
	for v, m := range ms {
		t.min[v] = m
		if !inRegisters {
			t.min[v] = t.minima.Offset(v * t.g.VecBytes())
			t.g.VMOVUPS(m, t.min[v])
		}
	}
}

// productScales makes scales and minima that are products of the head's and a block's integers.
func (t *blockGemmer) productScales(ms []reg.VecVirtual) {
	g, lane, head, integers := t.g, t.g.GP64(), t.g.GP64(), t.g.GP64()
	g.MOVQ(t.lane, lane)
	g.MOVQ(t.head, head)
	g.LEAQ(emit.Indexed(head, lane, 2), head)
	g.MOVQ(t.scales, integers)
	g.SUBQ(lane, integers)
	for i, list := range [][]reg.VecVirtual{t.d, ms} {
		for v, x := range list {
			at, integer := i*spec.PanelLanes+(t.first+v)*g.Lanes(), g.Vec()
			g.VPMOVSXBD(emit.At(integers, at), integer)
			g.VCVTDQ2PS(integer, integer)
			g.VCVTPH2PS(emit.At(head, 2*at), x)
			g.VMULPS(integer, x, x)
			if i == 1 {
				g.VXORPS(g.Constant(spec.SignBit), x, x)
			}
		}
	}
}

// loadMinima sets m to the minima: from memory, or from the offset of the numbers.
func (g *gen) loadMinima(q ukernel.PackedFormat, from operand.Mem, d, m reg.VecVirtual) {
	if q.Offset() == 0 {
		g.VCVTPH2PS(from, m)
	} else {
		g.VMULPS(g.Constant(math.Float32bits(-float32(q.Offset()))), d, m)
	}
}

// step emits a step: weight makes a vector of weights. Of the numbers of A and the vectors of
// weights, those stay in registers of which there are fewer.
func (t *blockGemmer) step(weight func(v int) reg.VecVirtual) {
	first, fifth := t.x, t.g.GP64()
	number := func(i int) reg.VecVirtual {
		x := t.g.Vec()
		if i >= 4 {
			first = fifth
		}
		t.g.VBROADCASTSS(emit.OfFour(first, t.rs, t.rs3, i%4), x)
		return x
	}
	if n := len(t.d); n < len(t.acc) {
		ws := make([]reg.VecVirtual, n)
		for v := range ws {
			ws[v] = weight(v)
		}
		if len(t.acc) > 4 {
			t.g.LEAQ(emit.Indexed(t.x, t.rs, 4), fifth)
		}
		row := func(i int) {
			x := number(i)
			for v, w := range ws {
				t.g.VFMADD231PS(x, w, t.acc[i][t.first+v])
			}
		}
		if t.hasSpare() {
			for i := range t.acc {
				row(i)
			}
		} else {
			t.rows.Compare()
			t.rows.Rows(row)
		}
		t.g.ADDQ(t.cs, t.x)
		return
	}
	xs := make([]reg.VecVirtual, len(t.acc))
	for i := range xs {
		xs[i] = number(i)
	}
	t.g.ADDQ(t.cs, t.x)
	for v := range t.d {
		w := weight(v)
		for i, x := range xs {
			t.g.VFMADD231PS(x, w, t.acc[i][t.first+v])
		}
	}
}

// times emits a loop, with the count of iterations in memory.
func (t *blockGemmer) times(n int, count operand.Mem, name string, body func()) {
	t.g.MOVQ(operand.U32(n), count)
	t.g.AlignLoop()
	t.g.Label(name)
	body()
	t.g.DECQ(count)
	t.g.JNZ(operand.LabelRef(name))
}

// wordsAtOnce is how many words of a position are taken at a time. With AVX-512, a single row waits
// for memory 5 to 10% longer if it takes them one by one. With AVX2, the instructions of a loop
// take time beside few products, and beside those that look magnitudes up.
func (t *blockGemmer) wordsAtOnce() int {
	switch {
	case t.g.EVEX() && len(t.acc) == 1:
		return 4
	case !t.g.EVEX() && (len(t.acc) == 1 || t.format.BFloat16Scales()):
		return 2
	}
	return 1
}

// eachWord emits the loop over the words of a position. name is the name of a label.
func (t *blockGemmer) eachWord(name string, step func(i int)) {
	words := t.wordsAtOnce()
	some := func() {
		for i := range words {
			step(i)
		}
	}
	if words == t.bits {
		some()
		return
	}
	t.g.AlignLoop()
	t.g.Label(name)
	some()
	t.g.ADDQ(operand.U32(uint32(4*words*spec.PanelLanes)), t.numbers)
	t.g.CMPQ(t.numbers, t.end)
	t.g.JNE(operand.LabelRef(name))
	t.g.SUBQ(operand.U32(4*t.bits*spec.PanelLanes), t.numbers)
}

// setEnd sets the end of the words.
func (t *blockGemmer) setEnd() {
	end := t.g.GP64()
	t.g.LEAQ(emit.At(t.numbers, 4*t.bits*spec.PanelLanes), end)
	t.g.MOVQ(end, t.end)
}

// blockAhead is the distance of prefetches in bytes, unless a variant has another one.
const blockAhead = 4096

// word is the memory of a vector, number v of those at a time, word i from the current one on.
func (t *blockGemmer) word(i, v int) operand.Mem {
	return emit.At(t.numbers, 4*(i*spec.PanelLanes+(t.first+v)*t.g.Lanes()))
}

// prefetch prefetches the part of a block far ahead that is as long as a position of it.
func (t *blockGemmer) prefetch(far reg.GPVirtual) {
	lines := t.bytes / t.positions / spec.LineBytes
	for line := range lines + 1 {
		t.g.PREFETCHT0(emit.At(far, line*spec.LineBytes))
	}
}

// startPrefetching sets far to what a block that begins at from prefetches.
func (t *blockGemmer) startPrefetching(from, far reg.GPVirtual) {
	if t.g.BlockVariants() == nil {
		t.g.LEAQ(emit.At(from, blockAhead), far)
		return
	}
	t.g.MOVQ(from, far)
	t.g.ADDQ(t.distance, far)
}

// nextPosition moves the place that is prefetched on.
func (t *blockGemmer) nextPosition(far reg.GPVirtual) {
	t.g.ADDQ(t.position, far)
}

// maskBits takes the numbers of all positions in a word where they are: masked, number j is
// q·2^(j·bits), and its scale is d·2^(-j·bits), exactly. That saves a shift for each vector of
// weights. AVX2 has no conversion of unsigned numbers: it shifts the numbers of the last position,
// whose upper bit is a sign. name begins the labels.
func (t *blockGemmer) maskBits(name string) {
	mask, far := t.g.Vec(), t.g.GP64()
	bits, positions := t.bits, t.positions
	t.g.VMOVUPS(t.g.Constant(1<<bits-1), mask)
	if t.ahead != nil {
		t.startPrefetching(t.ahead, far)
	} else {
		t.startPrefetching(t.numbers, far)
	}
	t.setEnd()
	position := func(name string, number func(m operand.Mem, w reg.VecVirtual)) {
		t.eachWord(name, func(i int) {
			t.step(func(v int) reg.VecVirtual {
				w := t.g.Vec()
				number(t.word(i, v), w)
				t.g.VFMADD213PS(t.min[v], t.d[v], w)
				return w
			})
		})
		if t.first == 0 {
			t.prefetch(far)
		}
	}
	scale := func(by float32) {
		for _, d := range t.d {
			t.g.VMULPS(t.g.Constant(math.Float32bits(by)), d, d)
		}
	}
	step, masked := float32(int(1)<<bits), positions-1
	if t.g.EVEX() {
		masked = positions
	}
	t.times(masked, t.count, name, func() {
		position(name+"words", func(m operand.Mem, w reg.VecVirtual) {
			t.g.and(m, mask, w)
			t.g.convertUnsigned(w)
		})
		t.nextPosition(far)
		t.g.VPSLLD(operand.Imm(uint64(bits)), mask, mask)
		scale(1 / step)
	})
	if masked == positions {
		return
	}
	scale(float32(math.Pow(float64(step), float64(positions-1))))
	position(name+"last", func(m operand.Mem, w reg.VecVirtual) {
		t.g.VMOVUPS(m, w)
		t.g.VPSRLD(operand.Imm(uint64(32-bits)), w, w)
		t.g.VCVTDQ2PS(w, w)
	})
}

// and is z = x & y, of integers.
func (g *gen) and(x, y operand.Op, z reg.VecVirtual) {
	if g.EVEX() {
		g.VPANDD(x, y, z)
	} else {
		g.VPAND(x, y, z)
	}
}

// lookUpBits looks the numbers up in a vector that holds all 16: VPERMPS takes the last 4 bits of
// each word as an index. The numbers of the first position need no shift. Tiles of 8 rows have the
// shift in memory, and one loop for all positions.
func (t *blockGemmer) lookUpBits(name string) {
	g, table, far := t.g, t.g.Vec(), t.g.GP64()
	g.VMOVUPS(g.numbersOf(t.format), table)
	if t.several {
		g.CMPQ(t.kind, operand.U32(looksUp))
		g.JNE(operand.LabelRef(name + "table"))
		g.VMOVUPS(g.numbersOf(ukernel.IQ4), table)
		g.Label(name + "table")
	}
	t.startPrefetching(t.numbers, far)
	t.setEnd()
	position := func(name string, shift func(w reg.VecVirtual)) {
		t.eachWord(name, func(i int) {
			t.step(func(v int) reg.VecVirtual {
				w := g.Vec()
				g.VMOVDQU32(t.word(i, v), w)
				shift(w)
				g.VPERMPS(table, w, w)
				if t.format.BFloat16Scales() {
					g.VMULPS(t.d[v], w, w)
				} else {
					g.VFMADD213PS(t.min[v], t.d[v], w)
				}
				return w
			})
		})
		t.prefetch(far)
	}
	if len(t.acc) > 4 { // there is no register for the shift
		g.MOVL(operand.U32(0), t.shift)
		t.times(t.positions, t.count, name, func() {
			position(name+"words", func(w reg.VecVirtual) { g.VPSRLVD_BCST(t.shift, w, w) })
			t.nextPosition(far)
			g.ADDL(operand.Imm(uint64(t.bits)), t.shift)
		})
		return
	}
	position(name+"first", func(reg.VecVirtual) {})
	four, shift := g.AtHand(g.Constant(4)), g.Vec()
	g.VMOVDQA32(four, shift)
	t.times(t.positions-1, t.count, name, func() {
		t.nextPosition(far)
		position(name+"words", func(w reg.VecVirtual) { g.VPSRLVD(shift, w, w) })
		g.VPADDD(four, shift, shift)
	})
}

// numbersOf has what numbers of 4 bits stand for: themselves, or values, in formats with bfloat16
// scales without their offset.
func (g *gen) numbersOf(q ukernel.PackedFormat) operand.Mem {
	var words [16]uint32
	for i := range words {
		x := i
		if values := q.Values(); values != nil {
			x = int(values[i])
		}
		if q.BFloat16Scales() {
			x -= q.Offset()
		}
		words[i] = math.Float32bits(float32(x))
	}
	return g.Repeated("numbers16"+q.String(), words[:]...)
}

// lookUpMagnitudes looks up numbers that are a sign above 3 bits: VPERMPS of AVX2 takes the last 3
// bits of each word as an index. The shift is in memory, in the place of minima.
func (t *blockGemmer) lookUpMagnitudes(name string) {
	g, table, shift, far := t.g, t.g.Vec(), t.minima, t.g.GP64()
	g.VMOVUPS(g.numbersOf(t.format), table)
	t.startPrefetching(t.numbers, far)
	by := g.Vec()
	g.Zero(g.Context, by)
	g.VMOVDQU(by, shift)
	t.setEnd()
	t.times(t.positions, t.count, name, func() {
		t.eachWord(name+"words", func(i int) {
			t.step(func(v int) reg.VecVirtual {
				w, sign := g.Vec(), g.Vec()
				g.VMOVDQU(t.word(i, v), w)
				g.VPSRLVD(shift, w, w)
				g.VPSLLD(operand.Imm(28), w, sign)
				g.VPERMPS(table, w, w)
				g.VPAND(g.Constant(spec.SignBit), sign, sign)
				g.VPXOR(sign, w, w)
				g.VMULPS(t.d[v], w, w)
				return w
			})
		})
		if t.first == 0 {
			t.prefetch(far)
		}
		t.nextPosition(far)
		by := g.Vec()
		g.VMOVDQU(shift, by)
		g.VPADDD(g.Constant(4), by, by)
		g.VMOVDQU(by, shift)
	})
}

// lookUpBytes writes the values of n vectors to the stack, a byte each, as the numbers of 8 bits
// lie in a panel, and takes them from there.
func (t *blockGemmer) lookUpBytes(name string, n int) {
	g := t.g
	values, mask, to := g.valueBytes(t.format), g.Vec(), g.GP64()
	g.VMOVDQU(g.Constant(0x0f0f0f0f), mask)
	g.LEAQ(t.bytesAt, to)
	t.setEnd()
	t.eachWord(name+"bytes", func(i int) {
		for v := range n {
			low, high := g.Vec(), g.Vec()
			g.VMOVDQU(t.word(i, v), low)
			g.VPSRLD(operand.Imm(4), low, high)
			for half, w := range []reg.VecVirtual{low, high} {
				g.VPAND(mask, w, w)
				g.VPSHUFB(w, values, w)
				g.VMOVDQU(w, emit.At(to, 4*(i+4*half)*spec.PanelLanes+v*g.VecBytes()))
			}
		}
		if i == t.wordsAtOnce()-1 {
			g.ADDQ(operand.U32(uint32(4*(i+1)*spec.PanelLanes)), to)
		}
	})
	of := *t
	of.bits, of.positions, of.position, of.ahead = 8, 4, operand.U32(t.bytes/4), t.numbers
	of.numbers = g.GP64()
	g.LEAQ(t.bytesAt.Offset(-4*t.first*g.Lanes()), of.numbers)
	of.maskBits(name)
}

// WeightWidenQ converts block by block, and in a block one vector of lanes after the other.
func (g *gen) WeightWidenQ(q ukernel.PackedFormat) {
	g.Kernel(spec.WeightWidenQ(q))
	g.widenBlocks(func(rows, size reg.GPVirtual) {
		g.MOVQ(operand.U32(spec.BlockSteps), rows)
		g.MOVQ(operand.U32(q.BlockBytes(1)), size)
	}, nil, func(r rowCursor) widener { return &blockWidener{rowCursor: r, g: g, format: q, d: g.Vec(), m: g.Vec()} })
}

// A widener converts a vector of lanes of a block.
type widener interface {
	header(block, lane reg.GPVirtual) // loads the scales and minima of some lanes, and sets numbers to theirs
	steps()                           // converts the numbers
}

// A rowCursor is where a widener reads and writes.
type rowCursor struct {
	row, lanes  reg.GPVirtual // a row of dst in bytes, the lanes of a block
	numbers, to reg.GPVirtual // pointers
}

// widenBlocks emits the body of a kernel for blocks. load loads the rows that a block
// becomes, and the bytes of a lane in it. Unless it is nil, enter is for the start of a block.
func (g *gen) widenBlocks(load func(rows, size reg.GPVirtual), enter func(block, lanes, k reg.GPVirtual), newWidener func(rowCursor) widener) {
	dst, block, lanes, k := g.Slice("dst"), g.Slice("b"), g.Num("lanes"), g.Num("k")
	g.JumpIfZero(k, "done")
	row, rows, size := g.GP64(), g.GP64(), g.GP64() // in bytes: a row of dst, the rows of a block, a block
	g.MOVQ(lanes, row)
	g.SHLQ(operand.Imm(2), row)
	load(rows, size)
	g.IMULQ(row, rows)
	g.IMULQ(lanes, size)
	g.Label("block")
	if enter != nil {
		enter(block, lanes, k)
	}
	lane := g.GP64()
	g.XORQ(lane, lane)
	g.Label("vector")
	r := rowCursor{row: row, lanes: lanes, numbers: g.GP64(), to: g.GP64()}
	w := newWidener(r)
	w.header(block, lane)
	g.LEAQ(emit.Indexed(dst, lane, 4), r.to)
	w.steps()
	g.ADDQ(operand.U32(g.Lanes()), lane)
	g.CMPQ(lane, lanes)
	g.JLT(operand.LabelRef("vector"))
	g.ADDQ(rows, dst)
	g.ADDQ(size, block)
	g.SUBQ(operand.U32(spec.BlockSteps), k)
	g.JNZ(operand.LabelRef("block"))
	g.Label("done")
	g.Return()
}

// A blockWidener is the widener of a format with one scale, and perhaps a minimum, for a block.
type blockWidener struct {
	rowCursor
	g      *gen
	format ukernel.PackedFormat
	d, m   reg.VecVirtual
}

func (w *blockWidener) header(block, lane reg.GPVirtual) {
	h := w.g.GP64()
	w.g.LEAQ(emit.Indexed(block, lane, 2), h)
	w.g.widenScales(w.format, emit.At(h, 0), w.d)
	if !w.format.BFloat16Scales() {
		w.g.loadMinima(w.format, emit.Indexed(h, w.lanes, 2), w.d, w.m)
	}
	w.g.MOVQ(block, w.numbers)
	for range w.format.HeaderBytes() / 2 {
		w.g.LEAQ(emit.Indexed(w.numbers, w.lanes, 2), w.numbers)
	}
	w.g.LEAQ(emit.Indexed(w.numbers, lane, 4), w.numbers)
}

func (w *blockWidener) store(x reg.VecVirtual) {
	w.g.VMOVUPS(x, emit.At(w.to, 0))
	w.g.ADDQ(w.row, w.to)
}

// steps takes the words into registers, and in a loop the lowest number of each.
func (w *blockWidener) steps() {
	bits := w.format.Bits()
	count, mask, words := w.g.GP64(), w.g.Vec(), w.g.Vecs(bits)
	for _, x := range words {
		w.g.VMOVUPS(emit.At(w.numbers, 0), x)
		w.g.ADDQ(w.row, w.numbers)
	}
	if w.format.Values() != nil {
		bits, words = 8, w.valuesOf(words)
	}
	if w.format.BFloat16Scales() {
		w.g.VMOVUPS(w.g.Constant(math.Float32bits(float32(w.format.Offset()))), w.m)
	}
	w.g.VMOVUPS(w.g.Constant(1<<bits-1), mask)
	w.g.MOVQ(operand.U32(uint32(32/bits)), count)
	loop.Times(w.g, count, "step", func() {
		for _, word := range words {
			x := w.g.Vec()
			w.g.and(mask, word, x)
			w.g.VPSRLD(operand.Imm(uint64(bits)), word, word)
			w.g.VCVTDQ2PS(x, x)
			if w.format.BFloat16Scales() {
				w.g.VSUBPS(w.m, x, x)
				w.g.VMULPS(w.d, x, x)
			} else {
				w.g.VFMADD213PS(w.m, w.d, x)
			}
			w.store(x)
		}
	})
}

// valuesOf returns bytes with the values of numbers of 4 bits: of the lower halves of the bytes of
// all words, then of the upper ones.
func (w *blockWidener) valuesOf(words []reg.VecVirtual) (values []reg.VecVirtual) {
	g, table, upper := w.g, w.g.valueBytes(w.format), []reg.VecVirtual{}
	for _, word := range words {
		x := g.Vec()
		g.VPSRLD(operand.Imm(4), word, x)
		for _, v := range []reg.VecVirtual{word, x} {
			g.and(g.Constant(0x0f0f0f0f), v, v)
			g.VPSHUFB(v, table, v)
		}
		upper = append(upper, x)
	}
	return append(words, upper...)
}

// valueBytes loads a table that VPSHUFB looks the values of numbers up in.
func (g *gen) valueBytes(q ukernel.PackedFormat) reg.VecVirtual {
	table := g.Vec()
	g.loadValues(q, table)
	return table
}

func (g *gen) loadValues(q ukernel.PackedFormat, table reg.VecVirtual) {
	g.VMOVUPS(g.Bytes("values"+q.String(), func(i int) uint8 { return q.Values()[i%16] }), table)
}
