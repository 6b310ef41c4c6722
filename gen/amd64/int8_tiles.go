package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products of quantized rows with quantized weights by the tiles of AMX. TDPBSSD multiplies 16 rows
// of 32 signed bytes, as they lie in quantized rows, with 32 rows of 16 columns, as they lie in a
// panel of 8 bits once the offset is taken from them. Its sums are exact. So the bits are those of
// the other kernels: an fma for each block of 32 inputs, in ascending order.
//
// The function goes through 16 lanes at a time, and through chunkBlocks blocks of them. It writes
// these to the stack as signed bytes, each block with its scales as float32, once for all rows.
// Then it takes tiles of 16 rows, whose sums over the blocks stay in 16 registers. A tile of
// integers goes through memory to get there. Loads wait long for what a tile store has written, so
// the sums of a block are scaled while the products of the third block after it are on their way.
// The rows that are left are a lower tile, whose sums over the blocks stay in C.
//
// Figures are those of a prototype in C, with this order of loads and stores, on a Granite Rapids:
// 42 to 45 cycles for a block, of which 30 are the product and the store of the tile. This function
// itself has never run on hardware: it is executed by the interpreter of gen/prove.
type tileProduct struct {
	tileStack
	minima bool
	line   reg.GPVirtual // the bytes between rows of tiles of weights and of sums
}

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

// The tiles: sums and rows of x in two pairs, which take turns; those of the lower tile; and
// weights in two.
const (
	tileSums    emit.Tile = 0
	tileX       emit.Tile = 2
	tileLowSums emit.Tile = 4
	tileLowX    emit.Tile = 5
	tileWeights emit.Tile = 6
)

const (
	tileLanes   = 16
	chunkBlocks = 16 // of the weights on the stack
	sumsBehind  = 3  // blocks from a product to the scaling of its sums
	sumsRing    = sumsBehind + 1

	tileBytes  = 64 * emit.TileRows
	blockCodes = 2 * 4 * 4 * tileLanes // bytes of the numbers of a block
)

// The stack: the shapes of tiles, variables, tiles of sums, blocks.
const (
	varLane   = emit.TileConfigBytes + 8*iota // 4 times the first lane
	varLanes                                  // 4 times all lanes
	varSize                                   // bytes of a block of all lanes
	varLDX                                    // bytes between rows
	varLDC                                    //
	varBlock                                  // the first block of a chunk
	varX                                      // the first row there
	varLeft                                   // inputs from there on
	varBlocks                                 // blocks of the chunk
	varEnd                                    // the same, and sumsBehind
	varLoad                                   // whether sums begin with C
	varRows                                   // rows left
	varXRow                                   // the first of them
	varCRow                                   //
	varsEnd

	sumsAt   = (varsEnd + 63) / 64 * 64
	blocksAt = sumsAt + sumsRing*tileBytes
)

// blockBytes is the size of a block on the stack: the numbers, scales, and minima.
func (t *tileProduct) blockBytes() int {
	n := blockCodes + 4*tileLanes
	if t.minima {
		n += 4 * tileLanes
	}
	return n
}

// WeightGemmInt8Tiles is WeightGemmInt8 for CPUs with AMX. With fewer rows than a tile it is the
// product without.
func (g *gen) WeightGemmInt8Tiles(q ukernel.PackedFormat) {
	if !g.EVEX() || q.Grouped() {
		return
	}
	f, name := spec.WeightGemmInt8Tiles(q), "weightGemmInt8Tiles"
	minima := q.Offset() == 0
	if minima {
		name += "Minima"
	}
	if q == ukernel.S8 || minima {
		g.Shared(name, f, "is the product of tiles to which those of formats jump.")
		(&tileProduct{tileStack: tileStack{gen: g}, minima: minima}).emit()
	}
	g.Kernel(f)
	g.CMPQ(g.Argument("m"), operand.Imm(spec.LeastTileRows))
	g.JL(operand.LabelRef("few"))
	g.MOVQ(operand.U32(uint32(q)), g.Memory(g.Param("c").Len()))
	g.TailJump(name)
	g.Label("few")
	g.TailJumpTo(spec.WeightGemmInt8(q), g.ISA)
}

func (t *tileProduct) emit() {
	t.tileStack, t.line = t.newTileStack(blocksAt+chunkBlocks*t.blockBytes()), t.GP64()
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
	blocks, next := t.get(varBlocks), t.get(varSize)
	t.IMULQ(blocks, next)
	t.ADDQ(next, t.local(varBlock))
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

// configure gives the tiles their shapes. The lower tile has the rows that tiles of 16 leave, or 16
// if there are none.
func (t *tileProduct) configure() {
	const words = spec.BlockSteps / 4
	sums, x, weights := emit.TileShape{Rows: emit.TileRows, Bytes: 4 * tileLanes}, emit.TileShape{Rows: emit.TileRows, Bytes: spec.BlockSteps}, emit.TileShape{Rows: words, Bytes: 4 * tileLanes}
	rows := t.GP64()
	t.shapes("tilesInt8", [8]emit.TileShape{sums, sums, x, x, sums, x, weights, weights})
	t.MOVQ(t.Argument("m"), rows)
	t.ANDQ(operand.Imm(emit.TileRows-1), rows)
	t.JZ(operand.LabelRef("configured"))
	t.setRows(rows, tileLowSums, tileLowX)
	t.Label("configured")
	t.LDTILECFG(t.local(0))
}

// prepare sets the variables that stay what they are, and the first lane.
func (t *tileProduct) prepare() {
	lanes, size := t.Num("lanes"), t.GP64()
	t.XORQ(size, size)
	t.MOVQ(size, t.local(varLane))
	t.IMUL3Q(operand.I32(ukernel.S4.BlockBytes(1)), lanes, size)
	if t.minima {
		t.IMUL3Q(operand.I32(ukernel.U4.BlockBytes(1)), lanes, size)
	} else {
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.S8)))
		t.JNE(operand.LabelRef("sized"))
		t.IMUL3Q(operand.I32(ukernel.S8.BlockBytes(1)), lanes, size)
		t.Label("sized")
	}
	t.MOVQ(size, t.local(varSize))
	t.SHLQ(operand.Imm(2), lanes)
	t.MOVQ(lanes, t.local(varLanes))
	t.MOVQ(t.Stride("ldx"), t.local(varLDX))
	t.MOVQ(t.Stride("ldc"), t.local(varLDC))
}

// which is the format, of those without minima.
func (t *tileProduct) which() operand.Mem { return t.Memory(t.Param("c").Len()) }

// chunk writes the next blocks to the stack.
func (t *tileProduct) chunk() {
	blocks, most := t.get(varLeft), t.GP64()
	t.SHRQ(operand.Imm(5), blocks) // spec.BlockSteps
	t.MOVQ(operand.U32(chunkBlocks), most)
	t.CMPQ(blocks, most)
	t.CMOVQGT(most, blocks)
	t.MOVQ(blocks, t.local(varBlocks))
	end := t.GP64()
	t.LEAQ(emit.At(blocks, sumsBehind), end)
	t.MOVQ(end, t.local(varEnd))

	block, to, lanes := t.get(varBlock), t.GP64(), t.get(varLanes)
	t.LEAQ(t.local(blocksAt), to)
	t.Label("expand")
	header, numbers, half := t.GP64(), t.GP64(), t.GP64()
	t.MOVQ(lanes, half)
	t.SHRQ(operand.Imm(1), half)
	t.MOVQ(t.local(varLane), numbers)
	t.MOVQ(numbers, header)
	t.SHRQ(operand.Imm(1), header)
	t.ADDQ(block, header)
	t.ADDQ(block, numbers)
	t.ADDQ(half, numbers)
	t.widenHeader(header, to, blockCodes)
	if t.minima {
		t.ADDQ(half, header)
		t.ADDQ(half, numbers)
		t.widenHeader(header, to, blockCodes+4*tileLanes)
		t.expand4(numbers, lanes, to, 0)
	} else {
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.S8)))
		t.JNE(operand.LabelRef("four"))
		t.expand8(numbers, lanes, to)
		t.Goto("expanded")
		t.Label("four")
		t.expand4(numbers, lanes, to, ukernel.S4.Offset())
		t.Label("expanded")
	}
	t.ADDQ(t.local(varSize), block)
	t.ADDQ(operand.I32(t.blockBytes()), to)
	t.DECQ(blocks)
	t.JNZ(operand.LabelRef("expand"))
}

// widenHeader writes the scales or minima of 16 lanes.
func (t *tileProduct) widenHeader(from, to reg.GPVirtual, disp int) {
	d := t.Vec()
	t.VCVTPH2PS(emit.At(from, 0), d)
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

// expand4 does so for 4 bits: the lower halves of the bytes of a word, then the upper ones.
func (t *tileProduct) expand4(from, lanes, to reg.GPVirtual, offset int) {
	mask, o := t.Vec(), t.Vec()
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
	t.Label("rows")
	t.CMPQ(t.local(varRows), operand.Imm(emit.TileRows))
	t.JL(operand.LabelRef("low"))
	t.tile()
	t.Comment("Go on to the next rows.")
	for _, v := range [][2]int{{varLDX, varXRow}, {varLDC, varCRow}} {
		next := t.get(v[0])
		t.SHLQ(operand.Imm(4), next) // emit.TileRows
		t.ADDQ(next, t.local(v[1]))
	}
	t.SUBQ(operand.Imm(emit.TileRows), t.local(varRows))
	t.JMP(operand.LabelRef("rows"))
	t.Label("low")
	t.CMPQ(t.local(varRows), operand.Imm(0))
	t.JE(operand.LabelRef("done"))
	t.lowTile()
	t.Label("done")
}

// sumsOf is a row of a tile of sums.
func (t *tileProduct) sumsOf(tile, row int) operand.Mem {
	return t.local(sumsAt + tile*tileBytes + row*spec.LineBytes)
}

// product emits the product of a block and its way to memory.
func (t *tileProduct) product(sums, x, weights emit.Tile, row, ldx, block reg.GPVirtual, rowAt, blockAt, ring int) {
	a, b, c := emit.Indexed(row, ldx, 1), emit.Indexed(block, t.line, 1), emit.Indexed(t.at, t.line, 1)
	a.Disp, b.Disp, c.Disp = rowAt, blockAt, sumsAt+ring*tileBytes
	t.TILEZERO(sums)
	t.TILELOADD(a, x)
	t.TILELOADD(b, weights)
	t.TDPBSSD(weights, x, sums)
	t.TILESTORED(sums, c)
}

// tile emits the sums of 16 rows.
func (t *tileProduct) tile() {
	acc := t.Vecs(emit.TileRows)
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
	const behind = sumsBehind * spec.RowBytes
	ldx, first := t.get(varLDX), t.get(varXRow)
	t.SUBQ(operand.I32(behind), first) // x is at the block whose sums are scaled
	x := t.rowsFrom(first, ldx, emit.TileRows)
	block, done := t.GP64(), t.GP64()
	t.LEAQ(t.local(blocksAt), block)
	t.XORQ(done, done)
	t.AlignLoop()
	t.Label("blocks")
	for n := range sumsRing {
		name := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
		t.CMPQ(done, t.local(varBlocks))
		t.JGE(operand.LabelRef(name("last")))
		tile := emit.Tile(n % 2)
		t.product(tileSums+tile, tileX+tile, tileWeights+tile, x.bases[0], ldx, block, behind+n*spec.RowBytes, n*t.blockBytes(), n)
		t.Label(name("last"))
		t.CMPQ(done, operand.Imm(sumsBehind))
		t.JL(operand.LabelRef(name("first")))
		at := (n-sumsBehind)*t.blockBytes() + blockCodes
		scales, minima := t.Vec(), t.Vec()
		t.VMOVUPS(emit.At(block, at), scales)
		if t.minima {
			t.VMOVUPS(emit.At(block, at+4*tileLanes), minima)
		}
		for i, v := range acc {
			s, p := t.Vec(), t.Vec()
			t.VCVTDQ2PS(t.sumsOf((n+1)%sumsRing, i), s)
			t.VMULPS_BCST(x.at(i, n*spec.RowBytes+spec.RowScale), scales, p)
			t.VFMADD231PS(s, p, v)
			if t.minima {
				t.VFMADD231PS_BCST(x.at(i, n*spec.RowBytes+spec.RowSum), minima, v)
			}
		}
		t.Label(name("first"))
		t.INCQ(done)
		t.CMPQ(done, t.local(varEnd))
		t.JE(operand.LabelRef("scaled"))
	}
	x.advance(t.gen, sumsRing*spec.RowBytes)
	t.ADDQ(operand.I32(sumsRing*t.blockBytes()), block)
	t.JMP(operand.LabelRef("blocks"))
	t.Label("scaled")
	c = t.rowsFrom(t.get(varCRow), t.get(varLDC), emit.TileRows)
	for i, v := range acc {
		t.VMOVUPS(v, c.at(i, 0))
	}
}

// lowTile emits the sums of the rows that are left, which it adds to C block by block.
func (t *tileProduct) lowTile() {
	ldx, ldc := t.get(varLDX), t.get(varLDC)
	left, c := t.get(varRows), t.get(varCRow)
	t.CMPQ(t.local(varLoad), operand.Imm(0))
	t.JNE(operand.LabelRef("loaded"))
	zero := t.Vec()
	t.Zero(t.Context, zero)
	t.Label("clear")
	t.VMOVUPS(zero, emit.At(c, 0))
	t.ADDQ(ldc, c)
	t.DECQ(left)
	t.JNZ(operand.LabelRef("clear"))
	t.Label("loaded")

	x, block, blocks := t.get(varXRow), t.GP64(), t.get(varBlocks)
	t.LEAQ(t.local(blocksAt), block)
	t.Label("lowblocks")
	t.product(tileLowSums, tileLowX, tileWeights, x, ldx, block, 0, 0, 0)
	scales, minima := t.Vec(), t.Vec()
	t.VMOVUPS(emit.At(block, blockCodes), scales)
	if t.minima {
		t.VMOVUPS(emit.At(block, blockCodes+4*tileLanes), minima)
	}
	row, sums := t.GP64(), t.GP64()
	t.MOVQ(x, row)
	t.LEAQ(t.sumsOf(0, 0), sums)
	t.MOVQ(t.local(varRows), left)
	t.MOVQ(t.local(varCRow), c)
	t.Label("lowrows")
	s, p := t.Vec(), t.Vec()
	t.VCVTDQ2PS(emit.At(sums, 0), s)
	t.VMULPS_BCST(emit.At(row, spec.RowScale), scales, p)
	t.VFMADD213PS(emit.At(c, 0), p, s)
	if t.minima {
		t.VFMADD231PS_BCST(emit.At(row, spec.RowSum), minima, s)
	}
	t.VMOVUPS(s, emit.At(c, 0))
	t.ADDQ(ldx, row)
	t.ADDQ(ldc, c)
	t.ADDQ(t.line, sums)
	t.DECQ(left)
	t.JNZ(operand.LabelRef("lowrows"))
	t.ADDQ(operand.Imm(spec.RowBytes), x)
	t.ADDQ(operand.I32(t.blockBytes()), block)
	t.DECQ(blocks)
	t.JNZ(operand.LabelRef("lowblocks"))
}
