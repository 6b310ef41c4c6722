package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products in bfloat16 by the tiles of AMX. TDPBF16PS is a segment of 32 steps: its even chain, its
// odd chain, their sum, which it adds to C. Rows of A and rows of pairs of B are loaded as they
// lie.
//
// 32 rows and 48 lanes have six tiles of sums. The two tiles that are left are for A and B, which a
// loop loads seven times for six products: the lanes go back and forth, so that the last tile of B
// serves twice. That needs tiles that are renamed, as registers are. A Granite Rapids does so.
type tileGemm struct {
	tileStack
	lda, row reg.GPVirtual // the bytes between rows of A, and of pairs
	next     reg.GPVirtual // what is prefetched next
}

// nextLines is how many lines of next a step prefetches. With more of them the loads of tiles wait,
// with fewer ones the next panel is not there in time.
const nextLines = 6

// storeEvery is after how many steps a tile of sums is stored that is not whole yet. A Granite
// Rapids seems to turn off what stores tiles after a while without a store: the next one waits for
// as long as dozens of products take.
const storeEvery = 8

// The tiles after the tiles of sums, 3 of 16 rows.
const (
	tileA emit.Tile = 6
	tileB emit.Tile = 7
)

// The variables on the stack.
const (
	gemmLDC  = emit.TileConfigBytes + 8*iota
	gemmB    // the strip of lanes
	gemmC    //
	gemmLeft // 4 times the lanes from there on
	gemmRows // rows left
	gemmA    // the first of them
	gemmSums //
	gemmNext // where next ends
	gemmEnd
)

func (g *gen) GemmTiles() {
	if !g.EVEX() {
		return
	}
	g.Kernel(spec.GemmTiles)
	t := &tileGemm{tileStack: g.newTileStack(gemmEnd)}
	var whole [8]emit.TileShape
	for i := range whole {
		whole[i] = emit.TileShape{Rows: emit.TileRows, Bytes: spec.LineBytes}
	}
	t.shapes("tilesWhole", whole)
	t.LDTILECFG(t.local(0))
	t.lda, t.row = t.StrideOf("lda", spec.BF16), t.Stride("lanes")
	t.MOVQ(t.Stride("ldc"), t.local(gemmLDC))
	end := t.SliceLen("next")
	t.next = t.GP64()
	t.MOVQ(t.Memory(t.Param("next").Base()), t.next)
	t.ADDQ(t.next, end)
	t.MOVQ(end, t.local(gemmNext))
	t.Move(t.Memory(t.Param("b").Base()), t.local(gemmB))
	t.Move(t.Memory(t.Param("c").Base()), t.local(gemmC))
	t.MOVQ(t.row, t.local(gemmLeft))
	for tiles := spec.PanelLanes / tileLanes; tiles > 0; tiles-- {
		name, width := fmt.Sprintf("lanes%d", tiles), spec.LineBytes*tiles
		t.Commentf("%d lanes.", tiles*tileLanes)
		t.Label(name)
		t.CMPQ(t.local(gemmLeft), operand.I32(width))
		t.JL(operand.LabelRef(name + "done"))
		t.strip(tiles, name)
		for _, v := range []int{gemmB, gemmC} {
			t.ADDQ(operand.I32(width), t.local(v))
		}
		t.SUBQ(operand.I32(width), t.local(gemmLeft))
		t.JMP(operand.LabelRef(name))
		t.Label(name + "done")
	}
	t.TILERELEASE()
	t.Return()
}

// strip emits the products of all rows with some lanes.
func (t *tileGemm) strip(tiles int, name string) {
	t.Move(t.Argument("m"), t.local(gemmRows))
	t.Move(t.Memory(t.Param("a").Base()), t.local(gemmA))
	t.Move(t.local(gemmC), t.local(gemmSums))
	t.Label(name + "two")
	t.CMPQ(t.local(gemmRows), operand.Imm(2*emit.TileRows))
	t.JL(operand.LabelRef(name + "one"))
	t.block(2, tiles, name+"two")
	t.JMP(operand.LabelRef(name + "two"))

	t.Label(name + "one")
	rows := t.get(gemmRows)
	t.TESTQ(rows, rows)
	t.JZ(operand.LabelRef(name + "rowsdone"))
	t.CMPQ(rows, operand.Imm(emit.TileRows))
	t.JGE(operand.LabelRef(name + "whole"))
	t.reshape(rows)
	t.Label(name + "whole")
	t.block(1, tiles, name+"one")
	t.CMPQ(t.local(gemmRows), operand.Imm(0))
	t.JG(operand.LabelRef(name + "one"))
	t.JE(operand.LabelRef(name + "rowsdone"))
	t.MOVQ(operand.U32(emit.TileRows), rows)
	t.reshape(rows)
	t.Label(name + "rowsdone")
}

// reshape gives the tiles of a single tile of rows another height.
func (t *tileGemm) reshape(rows reg.GPVirtual) {
	t.setRows(rows, 0, 1, 2, tileA)
	t.LDTILECFG(t.local(0))
}

// block emits the product of some tiles of rows with some tiles of lanes, and goes on to the rows
// after them.
func (t *tileGemm) block(rows, tiles int, name string) {
	const high = 4 // 1<<high rows are a tile
	ldc, from := t.get(gemmLDC), [2]reg.GPVirtual{t.get(gemmSums), t.GP64()}
	next := t.GP64()
	t.MOVQ(ldc, next)
	t.SHLQ(operand.Imm(high), next)
	t.LEAQ(emit.Indexed(from[0], next, 1), from[1])
	each := func(f func(sums emit.Tile, c operand.Mem)) {
		for i := range rows {
			for j := range tiles {
				c := emit.Indexed(from[i], ldc, 1)
				c.Disp = j * spec.LineBytes
				f(emit.Tile(3*i+j), c)
			}
		}
	}
	load := t.GP64()
	t.MOVBQZX(t.Argument("load"), load)
	t.TESTQ(load, load)
	t.JZ(operand.LabelRef(name + "zero"))
	each(func(sums emit.Tile, c operand.Mem) { t.TILELOADD(c, sums) })
	t.Goto(name + "begin")
	t.Label(name + "zero")
	each(func(sums emit.Tile, _ operand.Mem) { t.TILEZERO(sums) })
	t.Label(name + "begin")

	a, b, left := [2]reg.GPVirtual{t.get(gemmA), t.GP64()}, t.get(gemmB), t.Num("k")
	nextA, nextB := t.GP64(), t.GP64()
	for _, x := range [][2]reg.GPVirtual{{t.lda, nextA}, {t.row, nextB}} {
		t.MOVQ(x[0], x[1])
		t.SHLQ(operand.Imm(high), x[1])
	}
	t.LEAQ(emit.Indexed(a[0], nextA, 1), a[1])
	t.AlignLoop()
	t.Label(name + "steps")
	t.CMPQ(t.next, t.local(gemmNext))
	t.JGE(operand.LabelRef(name + "fetched"))
	for i := range nextLines {
		t.PREFETCHT1(emit.At(t.next, i*spec.LineBytes))
	}
	t.ADDQ(operand.U32(nextLines*spec.LineBytes), t.next)
	t.Label(name + "fetched")
	at := -1 // the tile of B that is loaded
	for i := range rows {
		t.TILELOADD(emit.Indexed(a[i], t.lda, 1), tileA)
		for j := range tiles {
			if i == 1 {
				j = tiles - 1 - j
			}
			if j != at {
				m := emit.Indexed(b, t.row, 1)
				m.Disp = j * spec.LineBytes
				t.TILELOADD(m, tileB)
				at = j
			}
			t.TDPBF16PS(tileB, tileA, emit.Tile(3*i+j))
		}
		t.ADDQ(operand.Imm(spec.LineBytes), a[i])
	}
	t.ADDQ(nextB, b)
	t.SUBQ(operand.Imm(spec.BF16Segment), left)
	t.JZ(operand.LabelRef(name + "store"))
	t.TESTQ(operand.I32((storeEvery-1)*spec.BF16Segment), left)
	t.JNZ(operand.LabelRef(name + "steps"))
	t.TILESTORED(0, emit.Indexed(from[0], ldc, 1))
	t.Goto(name + "steps")
	t.Label(name + "store")
	each(func(sums emit.Tile, c operand.Mem) { t.TILESTORED(sums, c) })

	for range rows {
		t.ADDQ(nextA, t.local(gemmA))
		t.ADDQ(next, t.local(gemmSums))
	}
	t.SUBQ(operand.Imm(uint64(rows*emit.TileRows)), t.local(gemmRows))
}
