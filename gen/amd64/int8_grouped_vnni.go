package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A vnniGrouped emits products with grouped formats by VPDPBUSD, which adds up the products of all four bytes of a word.
// Bytes 0 and 1 of a word of a panel belong to the first group of 16 steps, bytes 2 and 3 to the second. So two words
// that follow each other become two others: their lower halves, which are of the first group, and their upper halves.
// That is done for a block of a panel once for all rows of a call, and for the codes of a row once for all lanes, both on
// the stack. The loop over products has neither masks nor shifts then, and a tile of 4 rows and 3 vectors.
//
// All sums are exact, as codes are at most 127 and the integers of groups at least -128:
//
//	of a group, 4 bits                    16·15·127          30480
//	            5 bits                    16·31·127          62992
//	            6 bits, with the offset   16·32·127          65024
//	of a block                            2·65024·128   16,646,144
//
// With 4 bits the sum of a group fits into the lower half of its lane, and VPMADDWD and VPDPWSSD multiply it by the integer
// of the group, whose upper half is 0. With more it is converted to float32, in which all whole numbers up to 2^24,
// 16,777,216, are exact: so is the sum of both products then, and it is the sum of integers, converted. The first product is
// added to +0: that of 0 and a negative integer would be -0, and the sum -0 as well. Scales of float32 take the place of the
// integers of the groups.
//
// Formats that all have minima, or an offset, are one function: they differ in how a block is written to the stack, and
// in the scale of a row.
//
// Multiplying bytes keeps other units of a CPU busy than scaling sums and adding them to C. So the loop over
// words of a tile does that for a row of the tile before it in each iteration. Sums wait on the stack.
//
// The stack has, from a line on, rows of a vector for each 16 lanes: 8 of words, those of the second group first, and
// what else the lanes have. Then come prepared rows of x, and their sums.
type vnniGrouped struct {
	*int8Gemmer
	base, at       reg.GPVirtual      // the stack, and there the lanes of a tile
	slot, added, c reg.GPVirtual      // bytes from base to the row of a tile, and to the one that is added to C next, at c
	end            operand.Mem        // bytes from base to the end of the prepared rows
	rowsLeft       operand.Mem        // of a block
	chunkX, chunkC operand.Mem        // of the first prepared row
	sums           [][]reg.VecVirtual // of blocks
}

const (
	laneRow    = 4 * spec.PanelLanes // bytes of a row of the stack
	laneScale  = 8 * laneRow
	laneMinima = 9 * laneRow
	laneTotals = 10 * laneRow // the integers of minima
	laneScales = 11 * laneRow // those of scales, group by group: of 32 bits, with more than 4 bits float32
	slotsAt    = 13 * laneRow

	preparedRows = 24
	slotsEnd     = slotsAt + preparedRows*spec.RowBytes
	groupedRows  = 4 // of a tile
	groupedFrame = slotsEnd + preparedRows*laneRow + spec.LineBytes

	// Of a prepared row, after its codes and its scale.
	slotMinus = spec.RowScale + 4 // a pair of 16 bits: minus the sums of the codes
	slotBegin = slotMinus + 4     // with an offset: what accumulators of both groups begin with
)

func (g *gen) gemmInt8Grouped(t *int8Gemmer) {
	c := g.Param("c")
	w := &vnniGrouped{int8Gemmer: t, rowsLeft: g.Argument("ldc"), end: g.Argument("lanes"), chunkX: t.far, chunkC: t.left}
	frame, m := g.Frame(groupedFrame), g.GP64()
	t.clear()
	g.MOVQ(t.mArg, m)
	g.JumpIfZero(m, "end")
	w.base = g.GP64()
	g.LEAQ(frame.Offset(spec.LineBytes-1), w.base)
	g.ANDQ(operand.I32(-spec.LineBytes), w.base)

	g.Label("block")
	w.expand()
	g.Move(t.mArg, w.rowsLeft)
	g.Move(t.xArg, w.chunkX)
	g.Move(g.Memory(c.Base()), w.chunkC)
	g.Label("chunk")
	w.prepare()
	lane2, size := g.GP64(), g.GP64()
	w.c = g.GP64()
	g.XORQ(lane2, lane2)
	g.CMPQ(t.lanes2, operand.Imm(2*spec.PanelLanes))
	g.JNE(operand.LabelRef("lanes"))
	w.tiles(lane2, spec.PanelLanes/g.Lanes())
	g.JMP(operand.LabelRef("added"))
	g.Label("lanes")
	w.tiles(lane2, 1)
	g.ADDQ(operand.Imm(uint64(2*g.Lanes())), lane2)
	g.CMPQ(lane2, t.lanes2)
	g.JL(operand.LabelRef("lanes"))
	// c is at the last vector of its row, 2·lane2 bytes less one vector from the first.
	g.SUBQ(lane2, w.c)
	g.SUBQ(lane2, w.c)
	g.ADDQ(operand.Imm(uint64(g.VecBytes())), w.c)
	g.Label("added")
	g.MOVQ(w.c, w.chunkC)
	g.CMPQ(w.rowsLeft, operand.Imm(0))
	g.JNE(operand.LabelRef("chunk"))
	g.ADDQ(operand.Imm(spec.RowBytes), t.xArg)
	g.MOVQ(t.size, size)
	g.ADDQ(size, t.blocks)
	g.SUBQ(operand.Imm(spec.BlockSteps), t.kArg)
	g.JNZ(operand.LabelRef("block"))
	g.Label("end")
	t.finish()
}

// wide is set if the sums of groups do not fit into 16 bits.
func (w *vnniGrouped) wide() bool { return w.format.Bits() > 4 }

// prepare prepares rows from chunkX on, and sets end.
func (w *vnniGrouped) prepare() {
	g := w.g
	x, to, left, ldx := g.GP64(), g.GP64(), g.GP64(), g.Stride("ldx")
	g.MOVQ(w.chunkX, x)
	g.MOVQ(operand.U32(slotsAt), to)
	g.MOVQ(w.rowsLeft, left)
	g.AlignLoop()
	g.Label("prepare")
	codes, scale := g.YMM(), g.GP32()
	g.VMOVDQU(g.Repeated("groupHalves", 3<<16|1, 7<<16|5, 11<<16|9, 15<<16|13, 2<<16|0, 6<<16|4, 10<<16|8, 14<<16|12), codes)
	g.VPERMW(emit.At(x, 0), codes, codes)
	g.VMOVDQU(codes, w.prepared(to, 0))
	g.MOVL(emit.At(x, spec.RowScale), scale)
	g.MOVL(scale, w.prepared(to, spec.RowScale))
	minus := g.minusSums(emit.At(x, 0))
	g.VMOVD(minus, w.prepared(to, slotMinus))
	if w.format.Offset() != 0 {
		offset := g.XMM()
		g.VPBROADCASTD(w.offset, offset)
		g.VPMOVSXWD(minus, minus)
		g.VPMADDWD(offset, minus, minus)
		g.VMOVQ(minus, w.prepared(to, slotBegin))
	}
	g.ADDQ(ldx, x)
	g.ADDQ(operand.Imm(spec.RowBytes), to)
	g.DECQ(left)
	g.JZ(operand.LabelRef("prepared"))
	g.CMPQ(to, operand.I32(slotsEnd))
	g.JNE(operand.LabelRef("prepare"))
	g.Label("prepared")
	g.MOVQ(x, w.chunkX)
	g.MOVQ(to, w.end)
	g.MOVQ(left, w.rowsLeft)
}

// prepared is the memory some bytes from the start of a prepared row, whose distance from the base is slot.
func (w *vnniGrouped) prepared(slot reg.GPVirtual, disp int) operand.Mem {
	m := emit.Indexed(w.base, slot, 1)
	m.Disp = disp
	return m
}

// sum is where that of a vector of a prepared row waits, or of a row after it.
func (w *vnniGrouped) sum(slot reg.GPVirtual, row, v int) operand.Mem {
	const rowsPerSlot = laneRow / spec.RowBytes
	m := emit.Indexed(w.base, slot, rowsPerSlot)
	m.Disp = slotsEnd - slotsAt*rowsPerSlot + row*laneRow + v*w.g.VecBytes()
	return m
}

// tiles emits the tiles of the prepared rows, with some vectors from a lane on. It leaves c at the row after them.
func (w *vnniGrouped) tiles(lane2 reg.GPVirtual, vectors int) {
	g, name := w.g, fmt.Sprintf("vectors%d", vectors)
	w.at, w.slot, w.added = g.GP64(), g.GP64(), g.GP64()
	g.LEAQ(emit.Indexed(w.base, lane2, 2), w.at)
	g.MOVQ(w.chunkC, w.c)
	g.LEAQ(emit.Indexed(w.c, lane2, 2), w.c)
	g.MOVQ(operand.U32(slotsAt), w.slot)
	g.MOVQ(w.slot, w.added)
	for _, rows := range []int{groupedRows, 1} {
		name, next := fmt.Sprintf("%srows%d", name, rows), g.GP64()
		g.Commentf("Tiles of %d × %d vectors.", rows, vectors)
		g.Label(name)
		g.LEAQ(emit.At(w.slot, rows*spec.RowBytes), next)
		g.CMPQ(w.end, next)
		g.JL(operand.LabelRef(name + "done"))
		w.tile(rows, vectors, name)
		g.ADDQ(operand.I32(rows*spec.RowBytes), w.slot)
		g.JMP(operand.LabelRef(name))
		g.Label(name + "done")
	}
	g.Comment("Add the other sums to C.")
	g.Label(name + "rest")
	w.addRow(vectors, name+"rest")
	g.CMPQ(w.added, w.slot)
	g.JNE(operand.LabelRef(name + "rest"))
}

// tile emits the sums of some rows with a block.
func (w *vnniGrouped) tile(rows, vectors int, name string) {
	g := w.g
	w.acc, w.sums = make([][]reg.VecVirtual, rows), make([][]reg.VecVirtual, rows)
	for i := range w.acc {
		w.acc[i], w.sums[i] = g.Vecs(vectors), g.Vecs(vectors)
		for _, s := range w.sums[i] {
			g.Zero(g.Context, s)
		}
	}
	w.begin(1)
	numbers, codes, left := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(w.at, numbers)
	g.LEAQ(w.prepared(w.slot, 0), codes)
	g.MOVQ(operand.U32(4), left)
	g.AlignLoop()
	g.Label(name + "words")
	for word := range 2 {
		w.word(emit.At(numbers, word*laneRow), emit.At(codes, 4*word))
	}
	if rows == groupedRows {
		g.CMPQ(w.added, w.slot)
		g.JE(operand.LabelRef(name + "alone"))
		w.addRow(vectors, name+"beside")
		g.Label(name + "alone")
	}
	g.ADDQ(operand.I32(2*laneRow), numbers)
	g.ADDQ(operand.Imm(8), codes)
	g.DECQ(left)
	g.CMPQ(left, operand.Imm(2))
	g.JNE(operand.LabelRef(name + "group"))
	w.scaleGroup(1)
	w.begin(0)
	g.Label(name + "group")
	g.TESTQ(left, left)
	g.JNZ(operand.LabelRef(name + "words"))
	w.scaleGroup(0)
	for i, row := range w.sums {
		for v, s := range row {
			g.VMOVUPS(s, w.sum(w.slot, i, v))
		}
	}
}

// lane is a vector of a row of the stack.
func (w *vnniGrouped) lane(row, v int) operand.Mem { return emit.At(w.at, row+v*w.g.VecBytes()) }

// begin sets accumulators to what those of a group begin with.
func (w *vnniGrouped) begin(group int) {
	for i, row := range w.acc {
		for v, acc := range row {
			switch {
			case w.format.Offset() == 0:
				w.g.Zero(w.g.Context, acc)
			case v == 0:
				w.g.VPBROADCASTD(w.prepared(w.slot, i*spec.RowBytes+slotBegin+4*group), acc)
			default:
				w.g.VMOVDQA32(row[0], acc)
			}
		}
	}
}

// word emits the products of a word of each row.
func (w *vnniGrouped) word(numbers, codes operand.Mem) {
	ws := w.g.Vecs(len(w.acc[0]))
	for v, n := range ws {
		w.g.VMOVDQU32(numbers.Offset(v*w.g.VecBytes()), n)
	}
	for i, row := range w.acc {
		x := w.g.Vec()
		w.g.VPBROADCASTD(codes.Offset(i*spec.RowBytes), x)
		for v, acc := range row {
			w.g.VPDPBUSD(x, ws[v], acc)
		}
	}
}

// scaleGroup adds the sums of a group, times its integers, to those of the block, group 1 before group 0.
func (w *vnniGrouped) scaleGroup(group int) {
	w.eachAcc(func(i, v int, acc reg.VecVirtual) {
		scale, sum := w.lane(laneScales+group*laneRow, v), w.sums[i][v]
		switch {
		case w.wide():
			w.g.VCVTDQ2PS(acc, acc)
			w.g.VFMADD231PS(scale, acc, sum)
		case group == 1:
			w.g.VPMADDWD(scale, acc, sum)
		default:
			w.g.VPDPWSSD(scale, acc, sum)
		}
	})
}

// addRow scales the sums of a row, adds them to C, and goes on to the next one. name is that of labels.
func (w *vnniGrouped) addRow(vectors int, name string) {
	g, d, there, formats := w.g, w.g.Vec(), *w, w.formats
	if formats[0].Float32Scales() == formats[len(formats)-1].Float32Scales() {
		formats = formats[:1]
	}
	g.VBROADCASTSS(w.prepared(w.added, spec.RowScale), d)
	w.eachFormat(name, formats, func(q ukernel.PackedFormat) { there.addSums(q, d, vectors) })
	g.ADDQ(w.ldc, w.c)
	g.ADDQ(operand.Imm(spec.RowBytes), w.added)
}

// addSums adds the sums of a row whose scale is d.
func (w *vnniGrouped) addSums(q ukernel.PackedFormat, d reg.VecVirtual, vectors int) {
	g, codes := w.g, w.g.Vec()
	if q.Offset() == 0 {
		g.VPBROADCASTD(w.prepared(w.added, slotMinus), codes)
	}
	for v := range vectors {
		sum, p, c := g.Vec(), g.Vec(), emit.At(w.c, v*g.VecBytes())
		if w.wide() {
			g.VMOVUPS(w.sum(w.added, 0, v), sum)
		} else {
			g.VCVTDQ2PS(w.sum(w.added, 0, v), sum)
		}
		g.VFMADD213PS(c, w.scaleOf(q, d, p, v), sum)
		if q.Offset() == 0 {
			total := g.Vec()
			g.VPMADDWD(w.lane(laneTotals, v), codes, total)
			g.VCVTDQ2PS(total, total)
			g.VMULPS(w.lane(laneMinima, v), d, p)
			g.VFMADD231PS(total, p, sum)
		}
		g.VMOVUPS(sum, c)
	}
}
