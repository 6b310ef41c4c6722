package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keyColumns is QKCodes of AVX2 for two queries and many keys. It has columns in the lanes, as the
// form for one query has. A tile has four keys:
//
//	sum[key][query] += 16 columns of the key · the query there     8 sums ──► 8 lanes
//
// With keys in the lanes, products take a broadcast each, and keys are transposed and their bytes
// shifted. Here sums cross lanes at the end of a group of columns. With four queries and two keys,
// four times as many sums cross lanes for a key: on Zen 3 that takes as long as keys in the lanes
// if all columns share a scale, and longer if groups do. AVX-512 has VPDPWSSD, whose broadcast
// comes from memory.
//
// Before the tiles, the integers of the queries are put in the order of columns, in the frame. So
// there are at most mostColumns of them. The contract's SkinnyKeys keys make up for it. The last
// tile reaches back.
//
// These are in memory: the first key's scales, columns of the tile that are left, keys that are
// left.
type keyColumns struct {
	*keyCodes
	integers           operand.Mem               // 16 columns of each query, then the next columns
	from, off, soon    reg.GPVirtual             // base of offsets, at the current columns; offsets of the tile, of prefetched rows
	places             [columnKeys]reg.GPVirtual // offsets of a tile
	integer, of, score reg.GPVirtual             // of the current columns; their scales; the tile's scores
	left               reg.GPVirtual             // columns left of a group
	max, scores        reg.VecVirtual
}

const (
	mostColumns   = 256
	columnQueries = 2
	columnKeys    = 4 // of a tile
)

// columnsForm emits keyColumns for calls that it takes. Others go on.
func (f *keyCodes) columnsForm() {
	g, others := f.g, operand.LabelRef("others")
	if g.EVEX() {
		return
	}
	g.CMPQ(g.Argument("n"), operand.Imm(columnQueries))
	g.JNE(others)
	g.CMPQ(g.Argument("d"), operand.U32(mostColumns))
	g.JG(others)
	c := &keyColumns{keyCodes: f, integers: g.Frame((columnQueries*mostColumns + codeColumns) * 2)}
	c.sortQueries()
	c.tiles()
	g.Label("others")
}

// sortQueries transposes the pairs of four lanes, of which two are queries, and exchanges the
// middle two of four columns.
func (f *keyColumns) sortQueries() {
	g, left, q, w3, to := f.g, f.g.Num("d"), [2]reg.GPVirtual{f.g.Slice("q"), f.g.GP64()}, f.g.GP64(), f.g.GP64()
	g.LEAQ(emit.Indexed(f.w, f.w, 2), w3)
	f.toIntegers(to)
	g.Label("sort")
	g.LEAQ(emit.Indexed(q[0], f.w, 4), q[1])
	const exchange = 0xd8
	lanes := g.Transpose4(g.KeyRows(func(i int) operand.Mem { return emit.OfFour(q[i/4], f.w, w3, i%4) }, 0))
	for i, x := range lanes[:columnQueries] {
		g.VPSHUFLW(operand.U8(exchange), x, x)
		g.VPSHUFHW(operand.U8(exchange), x, x)
		g.VMOVUPS(x, emit.At(to, i*g.VecBytes()))
	}
	g.LEAQ(emit.Indexed(q[1], f.w, 4), q[0])
	g.ADDQ(operand.Imm(uint64(columnQueries*g.VecBytes())), to)
	g.SUBQ(operand.Imm(codeColumns), left)
	g.JNZ(operand.LabelRef("sort"))
}

// toIntegers goes to the integers of the queries, which lie in whole vectors.
func (f *keyColumns) toIntegers(p reg.GPVirtual) {
	f.g.LEAQ(f.integers.Offset(f.g.VecBytes()-1), p)
	f.g.ANDQ(operand.I32(-f.g.VecBytes()), p)
}

// tiles emits the loop over tiles.
func (f *keyColumns) tiles() {
	g, back, bytes, max := f.g, f.g.GP64(), f.g.GP64(), f.g.GP64()
	f.from, f.off, f.soon = g.Slice("k"), g.Slice("off"), g.Slice("next")
	for i := range f.places {
		f.places[i] = g.GP64()
	}
	f.integer, f.of, f.score, f.left, f.max = g.GP64(), g.GP64(), g.Slice("s"), g.GP64(), g.XMM()
	g.MOVQ(g.Memory(g.Param("max").Base()), max)
	g.VMOVUPS(emit.At(max, 0), f.max)
	g.Move(f.scales, f.at)
	g.Label("columns")
	g.MOVQ(f.keyCodes.left, back)
	g.SUBQ(operand.Imm(columnKeys), back)
	g.JGE(operand.LabelRef("columnswhole"))
	g.CMPQ(f.keyCodes.left, operand.Imm(0))
	g.JE(operand.LabelRef("columnsdone"))
	g.MOVQ(f.w, bytes)
	g.IMULQ(back, bytes)
	g.ADDQ(bytes, f.score)
	for _, table := range []reg.GPVirtual{f.off, f.soon} {
		g.LEAQ(emit.Indexed(table, back, 8), table)
	}
	g.SUBQ(back, f.keyCodes.left)
	g.SHLQ(operand.Imm(2), back)
	g.ADDQ(back, f.at)
	g.Label("columnswhole")
	f.prefetchTile()
	f.tileGroups()
	f.storeTile()
	g.SUBQ(g.Argument("d"), f.from)
	g.Advance(8*columnKeys, f.off, f.soon)
	g.ADDQ(operand.Imm(4*columnKeys), f.at)
	g.SUBQ(operand.Imm(columnKeys), f.keyCodes.left)
	g.JMP(operand.LabelRef("columns"))
	g.Label("columnsdone")
	g.MOVQ(g.Memory(g.Param("max").Base()), max)
	g.VMOVUPS(f.max, emit.At(max, 0))
	g.Return()
}

// prefetchTile prefetches as many keys as a tile has, column of lines after column.
func (f *keyColumns) prefetchTile() {
	g, end := f.g, f.g.Num("d")
	f.offsets(f.soon)
	g.MOVQ(f.from, f.left)
	g.ADDQ(f.from, end)
	g.Label("columnsline")
	for _, at := range f.places {
		g.PREFETCHT0(emit.Indexed(f.left, at, 1))
	}
	g.ADDQ(operand.Imm(spec.LineBytes), f.left)
	g.CMPQ(f.left, end)
	g.JL(operand.LabelRef("columnsline"))
	f.offsets(f.off)
}

// offsets loads the offsets of a tile.
func (f *keyColumns) offsets(table reg.GPVirtual) {
	for i, at := range f.places {
		f.g.MOVQ(emit.At(table, 8*i), at)
	}
}

// tileGroups emits the loop over groups of columns of a tile, and in it the loop over steps.
func (f *keyColumns) tileGroups() {
	g, acc := f.g, f.g.Vecs(columnKeys*columnQueries)
	g.Move(g.Argument("d"), f.columns)
	f.toIntegers(f.integer)
	g.MOVQ(f.at, f.of)
	f.scores = g.Vec()
	g.VMOVUPS(g.Constant(spec.SignBit), f.scores)
	g.Label("columnsgroup")
	for _, x := range acc {
		g.Zero(g.Context, x)
	}
	g.MOVQ(g.Argument("group"), f.left)
	g.AlignLoop()
	g.Label("columnsstep")
	f.step(acc)
	g.ADDQ(operand.Imm(codeColumns), f.from)
	g.ADDQ(operand.Imm(uint64(columnQueries*g.VecBytes())), f.integer)
	g.SUBQ(operand.Imm(codeColumns), f.left)
	g.JNZ(operand.LabelRef("columnsstep"))
	f.endColumns(acc)
	g.MOVQ(g.Argument("group"), f.left)
	g.SUBQ(f.left, f.columns)
	g.JNZ(operand.LabelRef("columnsgroup"))
}

// step emits the products of 16 columns.
func (f *keyColumns) step(acc []reg.VecVirtual) {
	g, q := f.g, f.g.Vecs(columnQueries)
	for i, x := range q {
		g.VMOVDQU(emit.At(f.integer, i*g.VecBytes()), x)
	}
	for key := range columnKeys {
		k := g.Vec()
		g.VPMOVSXBW(emit.Indexed(f.from, f.places[key], 1), k)
		for i, to := range []reg.VecVirtual{g.Vec(), k} {
			sum := acc[key*columnQueries+i]
			g.VPMADDWD(q[i], k, to)
			g.VPADDD(to, sum, sum)
		}
	}
}

// endColumns adds the sums of a group of columns to the scores, as endGroup does.
func (f *keyColumns) endColumns(acc []reg.VecVirtual) {
	g, p, unit, scale, order := f.g, f.g.GP64(), f.g.Vec(), f.g.Vec(), f.g.Vec()
	x := f.sums(acc)
	g.MOVQ(g.Memory(g.Param("unit").Base()), p)
	g.VBROADCASTSD(emit.At(p, 0), unit)
	g.RepeatQuarter(g.Context, emit.At(f.of, 0), scale)
	g.VMOVUPS(g.Repeated("keysOfSums", 0, 0, 1, 1, 2, 2, 3, 3), order)
	g.VPERMPS(scale, order, scale)
	g.VCVTDQ2PS(x, x)
	g.VMULPS(unit, x, x)
	g.VFMADD231PS(scale, x, f.scores)
	g.MOVQ(g.Argument("lsc"), p)
	g.LEAQ(emit.Indexed(f.of, p, 4), f.of)
}

// storeTile stores the scores of a tile. Two more lanes repeat the second query.
func (f *keyColumns) storeTile() {
	g := f.g
	for _, half := range []reg.Register{f.scores.AsX(), g.Quarter(g.Context, f.scores, 1)} {
		for _, order := range []uint64{0x54, 0xfe} { // 0 1 1 1, and 2 3 3 3
			x := g.XMM()
			g.VPERMILPS(operand.Imm(order), half, x)
			g.VMOVUPS(x, emit.At(f.score, 0))
			g.VMAXPS(f.max, x, f.max)
			g.ADDQ(f.w, f.score)
		}
	}
}
