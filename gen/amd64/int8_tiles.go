package amd64

import (
	"math/bits"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products of quantized rows with quantized weights by the tiles of AMX. TDPBSSD multiplies 16 rows
// of 32 signed bytes, as they lie in quantized rows, with 32 rows of 16 columns, as they lie in a
// panel of 8 bits once the offset is taken from them. Its sums are exact. So the bits are as in the
// other kernels: an fma for each block of 32 inputs, in ascending order.
//
// The function goes through 16 lanes at a time, and through chunkBlocks blocks of them. It writes
// these to the stack as signed bytes, each block with its scales as float32, once for all rows.
// Then it takes tiles of 16 rows, whose sums over the blocks stay in 16 registers. The last tile
// begins 16 rows before the end. It computes rows that the tile before it has, and does not store
// them.
//
// A tile of integers goes through memory to the registers. A tile store waits for its product, and
// what follows waits for the store. So products are two blocks ahead of the sums that are scaled,
// and stores one. They go on from tile to tile without a pause, see ahead.
type tileProduct struct {
	tileStack
	formats  []ukernel.PackedFormat // of the function, with equal integers and minima
	integers int                    // of a lane in a block, for a scale
	minima   bool
	line     reg.GPVirtual // the bytes between rows of tiles of weights and of sums
	ldx      reg.GPVirtual
	x, block reg.GPVirtual // of the next product
	slot     reg.GPVirtual // for the sums of the last product
}

// tileFormats are the formats of each function.
var tileFormats = [][]ukernel.PackedFormat{
	{ukernel.S8, ukernel.S4, ukernel.IQ4},
	{ukernel.U4},
	{ukernel.E2M1},
	{ukernel.U4x32, ukernel.U5x32},
	{ukernel.S6x16, ukernel.S8x16F32, ukernel.S5x16F32},
}

// bfloat16Scales tells whether an fma of its own adds the offset of a block.
func (t *tileProduct) bfloat16Scales() bool { return t.formats[0].BFloat16Scales() }

// halves is 2 if the halves of the steps have integers of their own, else 1. Each has a tile of
// sums of a block.
func (t *tileProduct) halves() int { return max(t.integers, 1) }

// chunkBlocks is how many blocks of the weights are on the stack at most. They are whole segments.
func (t *tileProduct) chunkBlocks() int { return 24 / t.halves() }

// A tileStack is what a product by tiles has on the stack, from a line on: first the shapes of the
// tiles.
type tileStack struct {
	*gen
	at reg.GPVirtual
}

// newTileStack reserves so many bytes.
func (g *gen) newTileStack(bytes int) tileStack {
	frame, at := g.Frame(bytes+spec.LineBytes), g.GP64()
	g.LEAQ(frame.Offset(spec.LineBytes-1), at)
	g.ANDQ(operand.I32(-spec.LineBytes), at)
	return tileStack{g, at}
}

// local is a variable, so many bytes from the start.
func (t *tileStack) local(at int) operand.Mem { return emit.At(t.at, at) }

func (t *tileStack) get(at int) reg.GPVirtual {
	r := t.GP64()
	t.MOVQ(t.local(at), r)
	return r
}

// shapes writes the shapes of tiles.
func (t *tileStack) shapes(name string, list [8]emit.TileShape) {
	v := t.Vec()
	t.VMOVDQU32(t.TileConfig(name, list), v)
	t.VMOVDQU32(v, t.local(0))
}

// setRows changes the rows of tiles.
func (t *tileStack) setRows(rows reg.GPVirtual, tiles ...emit.Tile) {
	for _, tile := range tiles {
		t.MOVB(rows.As8(), t.local(emit.TileConfigRows+int(tile)))
	}
}

// The tiles: the parts of sums, rows of x, and the parts of weights.
const (
	tileSums    emit.Tile = 0
	tileX       emit.Tile = 4
	tileWeights emit.Tile = 5
)

const (
	tileLanes = 16
	sumSlots  = 2 // of the sums of a block in memory, which take turns

	tileBytes  = 64 * emit.TileRows
	blockCodes = 2 * 4 * 4 * tileLanes // bytes of the numbers of a block
)

// The stack: the shapes of tiles, variables, tiles of sums, blocks.
const (
	varLane        = emit.TileConfigBytes + 8*iota // 4 times the first lane
	varLanes                                       // 4 times all lanes
	varSize                                        // bytes of a block of all lanes
	varLDX                                         // bytes between rows
	varLDC                                         //
	varBlock                                       // the first block of a chunk
	varX                                           // the first row there
	varLeft                                        // inputs from there on
	varHead                                        // of grouped formats, the head of a segment or block
	varBlocks                                      // blocks of the chunk
	varEnd                                         // the end of the chunk's blocks on the stack
	varSlots                                       // the sum of the addresses of both slots
	varAhead                                       // rows left, of the next product
	varAheadRow                                    // the first of them
	varLoad                                        // whether sums begin with C
	varRows                                        // rows left
	varXRow                                        // the first of them
	varCRow                                        //
	varMore                                        // of grouped formats, see groupedNumbers
	varOffset                                      //
	varBits                                        //
	varPrefetch                                    // the next line to prefetch, see prefetchNext
	varPrefetchEnd                                 //
	varsEnd

	magicAt = (varsEnd + 63) / 64 * 64 // a line
	sumsAt  = magicAt + spec.LineBytes
)

// slotBytes is the size of the sums of a block, and blocksAt is where blocks begin.
func (t *tileProduct) slotBytes() int { return t.halves() * tileBytes }
func (t *tileProduct) blocksAt() int  { return sumsAt + sumSlots*t.slotBytes() }

// A block on the stack has the numbers of all its steps, or of each half, with zeros in the place
// of the other half. Then come rows of what else the lanes have.
const (
	rowScales        = iota
	rowMinima        // of formats without integers
	rowIntegers      = rowMinima
	rowMagic         = rowIntegers + 1 // an integer for all steps, times magicMinus
	rowOfHalf        = rowIntegers + 1 // the integer of the second half
	rowGroupedMinima = rowIntegers + 2
	rowTotals        = rowGroupedMinima + 1 // the integers of minima
)

// row is where a row begins in a block.
func (t *tileProduct) row(n int) int { return t.halves()*blockCodes + n*4*tileLanes }

// blockRows is how many rows a block has.
func (t *tileProduct) blockRows() int {
	switch {
	case t.integers > 0 && t.minima:
		return rowTotals + 1
	case t.integers > 0:
		return rowGroupedMinima
	case t.minima:
		return rowMinima + 1
	}
	return rowScales + 1
}

// blockBytes is the size of a block on the stack.
func (t *tileProduct) blockBytes() int { return t.row(t.blockRows()) }

// WeightGemmInt8Tiles is WeightGemmInt8 for CPUs with AMX. With fewer rows than a tile it is the
// product without.
func (g *gen) WeightGemmInt8Tiles(q ukernel.PackedFormat) {
	if !g.EVEX() {
		return
	}
	t := &tileProduct{tileStack: tileStack{gen: g}, integers: q.Integers(), minima: q.Offset() == 0}
	has := func(list []ukernel.PackedFormat) bool { return slices.Contains(list, q) }
	t.formats = tileFormats[slices.IndexFunc(tileFormats, has)]
	f, name := spec.WeightGemmInt8Tiles(q), "weightGemmInt8Tiles"+[...]string{"", "X32", "X16"}[t.integers]
	switch {
	case t.minima:
		name += "Minima"
	case t.bfloat16Scales():
		name += "Values"
	}
	if q == t.formats[0] {
		g.Shared(name, f, "is the product of tiles to which those of formats jump.")
		t.emit()
	}
	g.Kernel(f)
	g.CMPQ(g.Argument("m"), operand.Imm(spec.LeastTileRows))
	g.JL(operand.LabelRef("few"))
	g.MOVQ(operand.U32(uint32(q)), g.Memory(g.Param("c").Len()))
	g.TailJump(name)
	g.Label("few")
	g.jumpInt8(q, int8Function(q), withAMX)
}

func (t *tileProduct) emit() {
	t.tileStack, t.line = t.newTileStack(t.blocksAt()+t.chunkBlocks()*t.blockBytes()), t.GP64()
	t.configure()
	t.MOVQ(operand.U32(spec.LineBytes), t.line)
	t.prepare()

	t.Comment("16 lanes.")
	t.Label("lanes")
	t.Move(t.Memory(t.Param("b").Base()), t.local(varBlock))
	t.Move(t.Memory(t.Param("x").Base()), t.local(varX))
	t.Move(t.Argument("k"), t.local(varLeft))
	load := t.GP64()
	t.MOVBQZX(t.Argument("load"), load)
	t.MOVQ(load, t.local(varLoad))
	t.Label("chunk")
	t.chunk()
	t.rows()
	t.Comment("Go on to the next blocks, whose sums begin with C.")
	blocks, next := t.get(varBlocks), t.GP64()
	t.IMUL3Q(operand.I32(spec.RowBytes), blocks, next)
	t.ADDQ(next, t.local(varX))
	t.MOVQ(operand.U32(1), next)
	t.MOVQ(next, t.local(varLoad))
	t.IMUL3Q(operand.I32(spec.BlockSteps), blocks, next)
	t.SUBQ(next, t.local(varLeft))
	t.JNZ(operand.LabelRef("chunk"))
	lane := t.get(varLane)
	t.ADDQ(operand.I32(4*tileLanes), lane)
	t.MOVQ(lane, t.local(varLane))
	t.CMPQ(lane, t.local(varLanes))
	t.JL(operand.LabelRef("lanes"))
	t.TILERELEASE()
	t.Return()
}

// configure gives the tiles their shapes.
func (t *tileProduct) configure() {
	const words = spec.BlockSteps / 4
	sums, x, weights := emit.TileShape{Rows: emit.TileRows, Bytes: 4 * tileLanes}, emit.TileShape{Rows: emit.TileRows, Bytes: spec.BlockSteps}, emit.TileShape{Rows: words, Bytes: 4 * tileLanes}
	t.shapes("tilesInt8", [8]emit.TileShape{sums, sums, sums, sums, x, weights, weights, weights})
	t.LDTILECFG(t.local(0))
}

// prepare sets the variables that stay what they are, and the first lane.
func (t *tileProduct) prepare() {
	lanes, size := t.Num("lanes"), t.GP64()
	t.XORQ(size, size)
	t.MOVQ(size, t.local(varLane))
	switch {
	case t.integers > 0:
		t.groupedFormat(lanes, size)
		if t.integers == 1 {
			v := t.Vec()
			t.VMOVDQU32(t.Constant(magic), v)
			t.VMOVDQU32(v, t.local(magicAt))
		}
	case t.minima || t.bfloat16Scales():
		t.IMUL3Q(operand.I32(t.formats[0].BlockBytes(1)), lanes, size)
	default:
		t.IMUL3Q(operand.I32(ukernel.S4.BlockBytes(1)), lanes, size)
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.S8)))
		t.JNE(operand.LabelRef("sized"))
		t.IMUL3Q(operand.I32(ukernel.S8.BlockBytes(1)), lanes, size)
		t.Label("sized")
	}
	t.MOVQ(size, t.local(varSize))
	t.prefetchFrom(size)
	t.SHLQ(operand.Imm(2), lanes)
	t.MOVQ(lanes, t.local(varLanes))
	t.MOVQ(t.Stride("ldx"), t.local(varLDX))
	t.MOVQ(t.Stride("ldc"), t.local(varLDC))
	slots := t.GP64()
	t.LEAQ(emit.Indexed(t.at, t.at, 1), slots)
	t.ADDQ(operand.I32(2*sumsAt+t.slotBytes()), slots)
	t.MOVQ(slots, t.local(varSlots))
}

// which is the format.
func (t *tileProduct) which() operand.Mem { return t.Memory(t.Param("c").Len()) }

// chunk writes the next blocks to the stack.
func (t *tileProduct) chunk() {
	blocks, most := t.get(varLeft), t.GP64()
	t.SHRQ(operand.Imm(5), blocks) // spec.BlockSteps
	t.MOVQ(operand.U32(t.chunkBlocks()), most)
	t.CMPQ(blocks, most)
	t.CMOVQGT(most, blocks)
	t.MOVQ(blocks, t.local(varBlocks))
	block, to, lanes := t.get(varBlock), t.GP64(), t.get(varLanes)
	t.LEAQ(t.local(t.blocksAt()), to)
	t.Label("expand")
	if t.integers > 0 {
		t.passHead(block, lanes, blocks)
		t.expandGrouped(block, to, lanes)
	} else {
		t.expandBlock(block, to, lanes)
	}
	t.ADDQ(t.local(varSize), block)
	t.ADDQ(operand.I32(t.blockBytes()), to)
	t.DECQ(blocks)
	t.JNZ(operand.LabelRef("expand"))
	t.MOVQ(block, t.local(varBlock))
	t.MOVQ(to, t.local(varEnd))
}

// expandBlock writes a block to the stack.
func (t *tileProduct) expandBlock(block, to, lanes reg.GPVirtual) {
	header, numbers, half := t.GP64(), t.GP64(), t.GP64()
	t.MOVQ(lanes, half)
	t.SHRQ(operand.Imm(1), half)
	t.MOVQ(t.local(varLane), numbers)
	t.MOVQ(numbers, header)
	t.SHRQ(operand.Imm(1), header)
	t.ADDQ(block, header)
	t.ADDQ(block, numbers)
	t.ADDQ(half, numbers)
	t.widenHeader(header, to, t.row(rowScales))
	switch {
	case t.minima:
		t.ADDQ(half, header)
		t.ADDQ(half, numbers)
		t.widenHeader(header, to, t.row(rowMinima))
		t.expand4(t.formats[0], numbers, lanes, to)
	case t.bfloat16Scales():
		t.expand4(t.formats[0], numbers, lanes, to)
	default:
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.S8)))
		t.JNE(operand.LabelRef("four"))
		t.expand8(numbers, lanes, to)
		t.Goto("expanded")
		t.Label("four")
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.IQ4)))
		t.JE(operand.LabelRef("values"))
		t.expand4(ukernel.S4, numbers, lanes, to)
		t.Goto("expanded")
		t.Label("values")
		t.expand4(ukernel.IQ4, numbers, lanes, to)
		t.Label("expanded")
	}
}

// widenHeader writes the scales or minima of 16 lanes.
func (t *tileProduct) widenHeader(from, to reg.GPVirtual, disp int) {
	d := t.Vec()
	t.widenScales(t.formats[0], emit.At(from, 0), d)
	t.VMOVUPS(d, emit.At(to, disp))
}

// expand8 takes the offset from numbers of 8 bits, in words of lanes.
func (t *tileProduct) expand8(from, lanes, to reg.GPVirtual) {
	offset := t.Vec()
	t.VMOVDQU32(t.Constant(0x80808080), offset)
	for word := range 8 {
		w := t.Vec()
		t.VMOVDQU32(emit.At(from, 0), w)
		t.VPSUBB(offset, w, w)
		t.VMOVDQU32(w, emit.At(to, 4*tileLanes*word))
		t.ADDQ(lanes, from)
	}
}

// expand4 does so for 4 bits: the lower halves of the bytes of a word, then the upper ones. Values
// of formats with bfloat16 scales have their offset.
func (t *tileProduct) expand4(q ukernel.PackedFormat, from, lanes, to reg.GPVirtual) {
	mask, o, values, offset := t.Vec(), t.Vec(), reg.VecVirtual(nil), q.Offset()
	switch all := q.Values(); {
	case q.BFloat16Scales():
		values, offset = t.valueBytes(q), 0
	case all != nil:
		values, offset = t.Vec(), 0
		t.VMOVUPS(t.Bytes("signed"+q.String(), func(i int) uint8 { return all[i%16] - uint8(q.Offset()) }), values)
	}
	t.VMOVDQU32(t.Constant(0x0f0f0f0f), mask)
	if offset != 0 {
		t.VMOVDQU32(t.Constant(uint32(offset)*0x01010101), o)
	}
	for word := range 4 {
		for half := range 2 {
			w := t.Vec()
			if half == 0 {
				t.VPANDD(emit.At(from, 0), mask, w)
			} else {
				t.VPSRLD(operand.Imm(4), emit.At(from, 0), w)
				t.VPANDD(mask, w, w)
			}
			if offset != 0 {
				t.VPSUBB(o, w, w)
			}
			if values != nil {
				t.VPSHUFB(w, values, w)
			}
			t.VMOVDQU32(w, emit.At(to, 4*tileLanes*(word+4*half)))
		}
		t.ADDQ(lanes, from)
	}
}

// rows emits the products of all rows with the blocks on the stack.
func (t *tileProduct) rows() {
	c := t.GP64()
	t.Move(t.Argument("m"), t.local(varRows))
	t.Move(t.local(varX), t.local(varXRow))
	t.MOVQ(t.Memory(t.Param("c").Base()), c)
	t.ADDQ(t.local(varLane), c)
	t.MOVQ(c, t.local(varCRow))
	t.begin()
	t.Label("rows")
	t.Comment("Go back if less than a tile is left.")
	back := t.GP64()
	t.MOVQ(operand.U32(emit.TileRows), back)
	t.SUBQ(t.local(varRows), back)
	t.JLE(operand.LabelRef("whole"))
	for _, v := range [][2]int{{varLDX, varXRow}, {varLDC, varCRow}} {
		distance := t.get(v[0])
		t.IMULQ(back, distance)
		t.SUBQ(distance, t.local(v[1]))
	}
	t.Label("whole")
	t.tile()
	t.Comment("Go on to the next rows.")
	for _, v := range [][2]int{{varLDX, varXRow}, {varLDC, varCRow}} {
		next := t.get(v[0])
		t.SHLQ(operand.Imm(4), next) // emit.TileRows
		t.ADDQ(next, t.local(v[1]))
	}
	t.SUBQ(operand.Imm(emit.TileRows), t.local(varRows))
	t.JG(operand.LabelRef("rows"))
}

// begin emits the first products, which are ahead of the sums. If all formats have segments, none
// of them is the last one of its rows.
func (t *tileProduct) begin() {
	t.ldx, t.x, t.block, t.slot = t.get(varLDX), t.get(varX), t.GP64(), t.GP64()
	t.Move(t.Argument("m"), t.local(varAhead))
	t.LEAQ(t.local(t.blocksAt()), t.block)
	t.LEAQ(t.local(sumsAt), t.slot)
	t.MOVQ(t.x, t.local(varAheadRow)) // of a whole tile
	t.product(func() {})
	if t.segmented() {
		t.nextBlock()
		t.product(t.store)
		t.nextBlock()
		t.nextSlot()
		return
	}
	t.ahead("second")
	t.next("third")
}

// segmented tells whether all formats have segments of more than two blocks.
func (t *tileProduct) segmented() bool {
	return !slices.ContainsFunc(t.formats, func(q ukernel.PackedFormat) bool { return !q.Segmented() })
}

// next emits the next product, if there is one, and the store of the last one.
func (t *tileProduct) next(name string) {
	t.CMPQ(t.local(varAhead), operand.Imm(0))
	t.JE(operand.LabelRef(name + "none"))
	t.product(t.store)
	t.ahead(name)
	t.Goto(name + "stored")
	t.Label(name + "none")
	t.store()
	t.Label(name + "stored")
	t.nextSlot()
}

// firstRow sets x to the first row of a tile: 16 rows before the end if less are left.
func (t *tileProduct) firstRow(label string) {
	back := t.GP64()
	t.MOVQ(operand.U32(emit.TileRows), back)
	t.SUBQ(t.local(varAhead), back)
	t.JLE(operand.LabelRef(label))
	t.IMULQ(t.ldx, back)
	t.SUBQ(back, t.x)
	t.Label(label)
	t.MOVQ(t.x, t.local(varAheadRow))
}

// ahead goes on to the next product, which may be of the next rows. After all rows, none are left.
func (t *tileProduct) ahead(name string) {
	t.nextBlock()
	t.CMPQ(t.block, t.local(varEnd))
	t.JNE(operand.LabelRef(name))
	t.SUBQ(operand.Imm(emit.TileRows), t.local(varAhead))
	t.JG(operand.LabelRef(name + "rows"))
	t.MOVQ(operand.U32(0), t.local(varAhead))
	t.Goto(name)
	t.Label(name + "rows")
	t.LEAQ(t.local(t.blocksAt()), t.block)
	t.MOVQ(t.local(varAheadRow), t.x)
	next := t.GP64()
	t.MOVQ(t.ldx, next)
	t.SHLQ(operand.Imm(4), next) // emit.TileRows
	t.ADDQ(next, t.x)
	t.firstRow(name + "row")
	t.Label(name)
}

// nextBlock goes on to the next product of the same rows.
func (t *tileProduct) nextBlock() {
	t.ADDQ(operand.I32(spec.RowBytes), t.x)
	t.ADDQ(operand.I32(t.blockBytes()), t.block)
}

// product emits the products of a block with rows of x. They replace the sums of the last one,
// which store stores. Loads come first: they do not wait for it.
func (t *tileProduct) product(store func()) {
	t.TILELOADD(emit.Indexed(t.x, t.ldx, 1), tileX)
	for part := range t.halves() {
		b := emit.Indexed(t.block, t.line, 1)
		b.Disp = part * blockCodes
		t.TILELOADD(b, tileWeights+emit.Tile(part))
	}
	store()
	for part := range t.halves() {
		sums := tileSums + emit.Tile(part)
		if t.integers == 1 {
			t.TILELOADD(t.again(t.local(magicAt)), sums)
		} else {
			t.TILEZERO(sums)
		}
		t.TDPBSSD(tileWeights+emit.Tile(part), tileX, sums)
	}
}

// store emits the way of the sums of a block to memory.
func (t *tileProduct) store() {
	for part := range t.halves() {
		to := emit.Indexed(t.slot, t.line, 1)
		to.Disp = part * tileBytes
		t.TILESTORED(tileSums+emit.Tile(part), to)
	}
}

// nextSlot goes on to the other slot.
func (t *tileProduct) nextSlot() {
	t.NEGQ(t.slot)
	t.ADDQ(t.local(varSlots), t.slot)
}

// again is memory of a line that all rows of a tile are loaded from.
func (t *tileProduct) again(line operand.Mem) operand.Mem {
	distance := t.GP64()
	t.XORQ(distance, distance)
	line.Index, line.Scale = distance, 1
	return line
}

// ofLanes loads what the lanes of a block have beside their numbers.
func (t *tileProduct) ofLanes(block reg.GPVirtual) []reg.VecVirtual {
	rows := t.Vecs(t.blockRows())
	for i, v := range rows {
		t.VMOVUPS(emit.At(block, t.row(i)), v)
	}
	return rows
}

// scale adds the sums of a row with a block to v. x is the row, and zero is needed by formats with
// integers.
func (t *tileProduct) scale(v, zero reg.VecVirtual, lanes []reg.VecVirtual, x, sums func(disp int) operand.Mem) {
	s, p := t.Vec(), t.Vec()
	switch t.integers {
	case 0:
		t.VCVTDQ2PS(sums(0), s)
	case 1:
		t.VMOVUPS(sums(0), s)
		t.VFMADD213PS(lanes[rowMagic], lanes[rowIntegers], s)
	case 2:
		first := t.Vec()
		t.VCVTDQ2PS(sums(tileBytes), s)
		t.VFMADD213PS(zero, lanes[rowOfHalf], s)
		t.VCVTDQ2PS(sums(0), first)
		t.VFMADD231PS(lanes[rowIntegers], first, s)
	}
	t.VMULPS_BCST(x(spec.RowScale), lanes[rowScales], p)
	t.VFMADD231PS(s, p, v)
	switch {
	case t.bfloat16Scales():
		whole := t.Vec()
		t.VPSLLD_BCST(operand.Imm(uint64(bits.TrailingZeros(uint(t.formats[0].Offset())))), x(spec.RowMinusSum), whole)
		t.VCVTDQ2PS(whole, whole)
		t.VFMADD231PS(whole, p, v)
	case !t.minima:
	case t.integers == 0:
		t.VFMADD231PS_BCST(x(spec.RowSum), lanes[rowMinima], v)
	default:
		total, p := t.Vec(), t.Vec()
		t.VCVTDQ2PS_BCST(x(spec.RowMinusSum), total)
		t.VFMADD213PS(zero, lanes[rowTotals], total)
		t.VMULPS_BCST(x(spec.RowScale), lanes[rowGroupedMinima], p)
		t.VFMADD231PS(total, p, v)
	}
}

// zeros returns a vector of zeros if scale needs it.
func (t *tileProduct) zeros() reg.VecVirtual {
	zero := t.Vec()
	if t.integers > 0 {
		t.Zero(t.Context, zero)
	}
	return zero
}

// tile emits the sums of 16 rows.
func (t *tileProduct) tile() {
	acc, zero := t.Vecs(emit.TileRows), t.zeros()
	c := t.rowsFrom(t.get(varCRow), t.get(varLDC), emit.TileRows)
	t.CMPQ(t.local(varLoad), operand.Imm(0))
	t.JE(operand.LabelRef("zero"))
	for i, v := range acc {
		t.VMOVUPS(c.at(i, 0), v)
	}
	t.Goto("begin")
	t.Label("zero")
	for _, v := range acc {
		t.Zero(t.Context, v)
	}
	t.Label("begin")
	x, block := t.rowsFrom(t.get(varXRow), t.ldx, emit.TileRows), t.GP64()
	t.LEAQ(t.local(t.blocksAt()), block)
	t.AlignLoop()
	t.Label("blocks")
	t.next("ahead")
	t.prefetchNext()
	lanes := t.ofLanes(block)
	for i, v := range acc {
		t.scale(v, zero, lanes, func(disp int) operand.Mem { return x.at(i, disp) }, func(disp int) operand.Mem { return emit.At(t.slot, disp+i*spec.LineBytes) })
	}
	x.advance(t.gen, spec.RowBytes)
	t.ADDQ(operand.I32(t.blockBytes()), block)
	t.CMPQ(block, t.local(varEnd))
	t.JNE(operand.LabelRef("blocks"))
	t.storeRows(acc)
}

// prefetchedLines is how many lines are prefetched beside a block of 16 rows and 16 lanes. A panel
// has 48 lanes, and up to 26 lines in a block: so 16 rows prefetch all.
const prefetchedLines = 8

// prefetchFrom sets which weights are prefetched: as many bytes as the call has, from its end on.
// They are the next call's. A call reads its weights while it expands the first 16 lanes. Without
// this, memory rests while products are computed.
func (t *tileProduct) prefetchFrom(size reg.GPVirtual) {
	bytes, from := t.GP64(), t.GP64()
	t.MOVQ(t.Argument("k"), bytes)
	t.SHRQ(operand.Imm(5), bytes) // spec.BlockSteps
	t.IMULQ(size, bytes)
	t.MOVQ(t.Memory(t.Param("b").Base()), from)
	t.ADDQ(bytes, from)
	t.MOVQ(from, t.local(varPrefetch))
	t.ADDQ(bytes, from)
	t.MOVQ(from, t.local(varPrefetchEnd))
}

// prefetchNext prefetches the next lines, until all are.
func (t *tileProduct) prefetchNext() {
	line := t.get(varPrefetch)
	t.CMPQ(line, t.local(varPrefetchEnd))
	t.JGE(operand.LabelRef("prefetched"))
	for i := range prefetchedLines {
		t.PREFETCHT1(emit.At(line, i*spec.LineBytes))
	}
	t.ADDQ(operand.I32(prefetchedLines*spec.LineBytes), line)
	t.MOVQ(line, t.local(varPrefetch))
	t.Label("prefetched")
}

// storeRows stores the sums of the rows that are left, which are the last ones.
func (t *tileProduct) storeRows(acc []reg.VecVirtual) {
	c := t.rowsFrom(t.get(varCRow), t.get(varLDC), emit.TileRows)
	for i, v := range slices.Backward(acc) {
		t.VMOVUPS(v, c.at(i, 0))
		if i > 0 {
			t.CMPQ(t.local(varRows), operand.Imm(uint64(emit.TileRows-i)))
			t.JE(operand.LabelRef("rowsstored"))
		}
	}
	t.Label("rowsstored")
}
