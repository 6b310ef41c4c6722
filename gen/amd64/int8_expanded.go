package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An expanded is a product of many rows with whole panels. Some blocks of a panel are expanded on
// the stack, once for all rows. The outer loop goes over groups of blocks, the next one over tiles
// of rows.
type expanded struct {
	*int8Gemmer

	// Numbers on the stack: where blocks begin, rows and blocks left, rows of the next tile, their
	// distances in bytes, the first row.
	buffer, rest, count, nextX, nextC, strideX, strideC, firstC operand.Mem

	taken, from reg.GPVirtual   // what a tile takes of its rows, and the block on the stack
	x, c        []reg.GPVirtual // rows of the tile
}

// place makes room in a frame: for the numbers, and from a line on for what a tile takes of its
// rows, and for blocks.
func (e *expanded) place(frame operand.Mem) {
	g, line := e.g, e.g.GP64()
	g.LEAQ(frame.Offset(manyLocals+spec.LineBytes-1), line)
	g.ANDQ(operand.I32(-spec.LineBytes), line)
	locals := []*operand.Mem{&e.buffer, &e.rest, &e.count, &e.nextX, &e.nextC, &e.strideX, &e.strideC, &e.firstC}
	for i, local := range locals {
		*local = frame.Offset(8 * i)
	}
	g.MOVQ(line, e.buffer)
	g.MOVQ(e.ldx, e.strideX)
	g.MOVQ(e.ldc, e.strideC)
	g.MOVQ(e.int8Gemmer.c, e.firstC)
}

// products emits the loops, with tiles of some rows, of each of which they take some bytes. expand
// emits what expands a group of blocks, block the products of a tile with a block.
func (e *expanded) products(rows, bytes int, expand, block func()) {
	g := e.g
	g.Label("manyblocks")
	expand()
	g.Move(e.xArg, e.nextX)
	g.Move(e.firstC, e.nextC)
	g.Move(e.mArg, e.rest)
	g.Label("manyrows")
	e.x, e.c = e.pointers(rows, e.nextX, e.strideX), e.pointers(rows, e.nextC, e.strideC)
	e.taken, e.from = g.GP64(), g.GP64()
	count := g.GP64()
	g.MOVQ(e.buffer, e.taken)
	g.LEAQ(emit.At(e.taken, rows*bytes), e.from)
	g.MOVQ(e.count, count)
	loop.Times(g, count, "manyblock", block)
	g.SUBQ(operand.Imm(uint64(rows)), e.rest)
	g.JG(operand.LabelRef("manyrows"))
	count = g.GP64()
	g.MOVQ(e.count, count)
	g.IMUL3Q(operand.I32(spec.RowBytes), count, count)
	g.ADDQ(count, e.xArg)
	g.CMPQ(e.kArg, operand.Imm(0))
	g.JNE(operand.LabelRef("manyblocks"))
	g.Return()
}

// eachBlock emits the loop over a group of up to most blocks, which expand writes to the stack,
// size bytes each, the first one so many bytes after where blocks begin.
func (e *expanded) eachBlock(most, size, first int, expand func(block, to reg.GPVirtual)) {
	g := e.g
	block, to, n, limit := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(e.kArg, n)
	g.SHRQ(operand.Imm(uint64(bits.TrailingZeros(spec.BlockSteps))), n)
	g.MOVQ(operand.U32(uint32(most)), limit)
	g.CMPQ(n, limit)
	g.CMOVQGT(limit, n)
	g.MOVQ(n, e.count)
	g.MOVQ(e.blocks, block)
	g.MOVQ(e.buffer, to)
	g.ADDQ(operand.I32(first), to)
	loop.Times(g, n, "manyexpand", func() {
		expand(block, to)
		g.ADDQ(e.size, block)
		g.ADDQ(operand.I32(size), to)
		g.SUBQ(operand.I32(spec.BlockSteps), e.kArg)
	})
	g.MOVQ(block, e.blocks)
}

// pointers returns the rows of a tile, the first of which begins at p in memory, and moves p on to
// the next tile. A tile that lacks rows takes its last one again.
func (e *expanded) pointers(rows int, p, stride operand.Mem) []reg.GPVirtual {
	g, by, list := e.g, e.g.GP64(), []reg.GPVirtual{e.g.GP64()}
	g.MOVQ(stride, by)
	g.MOVQ(p, list[0])
	next := g.GP64()
	g.LEAQ(emit.Indexed(list[0], by, uint8(rows)), next)
	g.MOVQ(next, p)
	for i := 1; i < rows; i++ {
		row := g.GP64()
		g.MOVQ(list[i-1], row)
		g.LEAQ(emit.Indexed(row, by, 1), next)
		g.CMPQ(e.rest, operand.Imm(uint64(i)))
		g.CMOVQGT(next, row)
		list = append(list, row)
	}
	return list
}
