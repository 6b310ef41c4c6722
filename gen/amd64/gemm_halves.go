package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products of bfloat16 with sums of two bfloat16. A tile takes the product of a segment with the
// first halves, and adds the product with the others. Then it goes through memory, as in
// tileProduct: its sums are added to 16 registers while the products of the third segment after it
// are on their way. The rows that are left are a lower tile, whose sums stay in C.
type halvesGemm struct {
	tileStack
	lda, row, line reg.GPVirtual // the bytes between rows of A, of pairs, and of sums on the stack
}

// The tiles: sums and rows of A, the same of the lower tile, and both halves of B.
const (
	halvesSums emit.Tile = iota
	halvesA
	halvesLowSums
	halvesLowA
	halvesFirst
	halvesOther
)

// The variables on the stack, and after them a ring of tiles of sums.
const (
	halvesLDC   = emit.TileConfigBytes + 8*iota
	halvesB     // the strip of lanes
	halvesC     //
	halvesLeft  // 4 times the lanes from there on
	halvesCount // segments
	halvesEnd   // the same, and sumsBehind
	halvesRows  // rows left
	halvesRowA  // the first of them
	halvesRowC  //
	halvesVars

	halvesRing = (halvesVars + 63) / 64 * 64
)

const (
	sumsBehind = 3 // segments from a product to the addition of its sums
	sumsRing   = sumsBehind + 1
)

func (g *gen) GemmHalves() {
	if !g.EVEX() {
		return
	}
	g.Kernel(spec.GemmHalves)
	t := &halvesGemm{tileStack: g.newTileStack(halvesRing + sumsRing*tileBytes)}
	t.lowTiles(halvesLowSums, halvesLowA)
	t.lda, t.row, t.line = t.StrideOf("lda", spec.BF16), t.Stride("lanes"), t.GP64()
	t.MOVQ(operand.U32(spec.LineBytes), t.line)
	t.MOVQ(t.Stride("ldc"), t.local(halvesLDC))
	t.MOVQ(t.row, t.local(halvesLeft))
	t.Move(t.Memory(t.Param("b").Base()), t.local(halvesB))
	t.Move(t.Memory(t.Param("c").Base()), t.local(halvesC))
	count := t.Num("k")
	t.SHRQ(operand.Imm(5), count) // spec.BF16Segment
	t.MOVQ(count, t.local(halvesCount))
	t.ADDQ(operand.Imm(sumsBehind), count)
	t.MOVQ(count, t.local(halvesEnd))

	t.Comment("16 lanes.")
	t.Label("lanes")
	t.Move(t.Argument("m"), t.local(halvesRows))
	t.Move(t.Memory(t.Param("a").Base()), t.local(halvesRowA))
	t.Move(t.local(halvesC), t.local(halvesRowC))
	t.Label("rows")
	t.CMPQ(t.local(halvesRows), operand.Imm(emit.TileRows))
	t.JL(operand.LabelRef("low"))
	t.tile()
	t.Comment("Go on to the next rows.")
	nextA, nextC := t.GP64(), t.get(halvesLDC)
	t.MOVQ(t.lda, nextA)
	for _, x := range []reg.GPVirtual{nextA, nextC} {
		t.SHLQ(operand.Imm(4), x) // emit.TileRows
	}
	t.ADDQ(nextA, t.local(halvesRowA))
	t.ADDQ(nextC, t.local(halvesRowC))
	t.SUBQ(operand.Imm(emit.TileRows), t.local(halvesRows))
	t.JMP(operand.LabelRef("rows"))
	t.Label("low")
	t.CMPQ(t.local(halvesRows), operand.Imm(0))
	t.JE(operand.LabelRef("done"))
	t.lowTile()
	t.Label("done")
	for _, v := range []int{halvesB, halvesC} {
		t.ADDQ(operand.I32(spec.LineBytes), t.local(v))
	}
	t.SUBQ(operand.I32(spec.LineBytes), t.local(halvesLeft))
	t.JNZ(operand.LabelRef("lanes"))
	t.TILERELEASE()
	t.Return()
}

// nextSums sets from to the tile after to in a ring of tiles of sums.
func (t *tileStack) nextSums(to, from reg.GPVirtual, ring int) {
	begin, end := t.GP64(), t.GP64()
	t.LEAQ(emit.At(to, tileBytes), from)
	t.LEAQ(t.local(ring), begin)
	t.LEAQ(t.local(ring+sumsRing*tileBytes), end)
	t.CMPQ(from, end)
	t.CMOVQEQ(begin, from)
}

// lowTiles gives the tiles their shapes. Lower ones have m%16 rows, or 16 if that is 0.
func (t *tileStack) lowTiles(low ...emit.Tile) {
	var whole [8]emit.TileShape
	for i := range whole {
		whole[i] = emit.TileShape{Rows: emit.TileRows, Bytes: spec.LineBytes}
	}
	rows := t.GP64()
	t.shapes("tilesWhole", whole)
	t.MOVQ(t.Argument("m"), rows)
	t.ANDQ(operand.Imm(emit.TileRows-1), rows)
	t.JZ(operand.LabelRef("configured"))
	t.setRows(rows, low...)
	t.Label("configured")
	t.LDTILECFG(t.local(0))
}

// product emits the products of a segment and their way to memory, and goes on to the next segment.
func (t *halvesGemm) product(sums, rows emit.Tile, a, b, to reg.GPVirtual) {
	t.TILEZERO(sums)
	t.TILELOADD(emit.Indexed(a, t.lda, 1), rows)
	next := t.GP64()
	t.MOVQ(t.row, next)
	t.SHLQ(operand.Imm(4), next) // rows of pairs of a segment
	for _, half := range []emit.Tile{halvesFirst, halvesOther} {
		t.TILELOADD(emit.Indexed(b, t.row, 1), half)
		t.TDPBF16PS(half, rows, sums)
		t.ADDQ(next, b)
	}
	t.TILESTORED(sums, emit.Indexed(to, t.line, 1))
	t.ADDQ(operand.Imm(spec.LineBytes), a)
}

// tile emits the sums of 16 rows.
func (t *halvesGemm) tile() {
	acc := t.Vecs(emit.TileRows)
	c := t.rowsFrom(t.get(halvesRowC), t.get(halvesLDC), emit.TileRows)
	t.CMPB(t.Argument("load"), operand.Imm(0))
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
	a, b, done, to, from := t.get(halvesRowA), t.get(halvesB), t.GP64(), t.GP64(), t.GP64()
	t.XORQ(done, done)
	t.LEAQ(t.local(halvesRing), to)
	t.AlignLoop()
	t.Label("segments")
	t.CMPQ(done, t.local(halvesCount))
	t.JGE(operand.LabelRef("last"))
	t.product(halvesSums, halvesA, a, b, to)
	t.Label("last")
	t.nextSums(to, from, halvesRing)
	t.CMPQ(done, operand.Imm(sumsBehind))
	t.JL(operand.LabelRef("first"))
	for i, v := range acc {
		t.VADDPS(emit.At(from, i*spec.LineBytes), v, v)
	}
	t.Label("first")
	t.MOVQ(from, to)
	t.INCQ(done)
	t.CMPQ(done, t.local(halvesEnd))
	t.JNE(operand.LabelRef("segments"))
	c = t.rowsFrom(t.get(halvesRowC), t.get(halvesLDC), emit.TileRows)
	for i, v := range acc {
		t.VMOVUPS(v, c.at(i, 0))
	}
}

// lowTile emits the sums of the rows that are left, which it adds to C segment by segment.
func (t *halvesGemm) lowTile() {
	ldc := t.get(halvesLDC)
	eachRow := func(name string, row func(c reg.GPVirtual)) {
		c, left := t.get(halvesRowC), t.get(halvesRows)
		t.Label(name)
		row(c)
		t.ADDQ(ldc, c)
		t.DECQ(left)
		t.JNZ(operand.LabelRef(name))
	}
	t.CMPB(t.Argument("load"), operand.Imm(0))
	t.JNE(operand.LabelRef("loaded"))
	none := t.Vec()
	t.Zero(t.Context, none)
	eachRow("clear", func(c reg.GPVirtual) { t.VMOVUPS(none, emit.At(c, 0)) })
	t.Label("loaded")
	a, b, left, to := t.get(halvesRowA), t.get(halvesB), t.get(halvesCount), t.GP64()
	t.Label("lowsegments")
	t.LEAQ(t.local(halvesRing), to)
	t.product(halvesLowSums, halvesLowA, a, b, to)
	eachRow("lowrows", func(c reg.GPVirtual) {
		v := t.Vec()
		t.VMOVUPS(emit.At(c, 0), v)
		t.VADDPS(emit.At(to, 0), v, v)
		t.VMOVUPS(v, emit.At(c, 0))
		t.ADDQ(t.line, to)
	})
	t.DECQ(left)
	t.JNZ(operand.LabelRef("lowsegments"))
}
