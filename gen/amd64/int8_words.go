package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8Words are products of many rows with whole panels of 8-bit weights. A block of a panel becomes 16-bit words on the
// stack, once for all rows. So the loop over products has no masks and shifts: a tile of 2 rows and the
// 6 vectors of a panel takes 26 instructions for 12 VPMADDWD, and one of avx2Dot, 6 rows and 2 vectors, would take 34.
// The weights are operands in memory and the codes are broadcast from there: with 2 rows that is 14 loads for 12
// products, and Zen 3 has two loads a cycle.
//
// The outer loop goes over blocks, the next one over tiles. The codes of a tile become words while the tile before it is
// computed: otherwise each waits for its stores.
//
// The stack has, from a line on, words of codes of two tiles in turns, the weights and their scales. Words are the
// bytes 0 and 2 of all words of codes or weights, then bytes 1 and 3. Weights have their offset taken off.
type int8Words struct {
	*int8Gemmer
	aligned              operand.Mem // where the stack's first line begins
	many, rest           operand.Mem // rows in tiles, those left of a block
	blockX               operand.Mem // of the first row
	x, next, c           reg.GPVirtual
	codes, other, weight reg.GPVirtual // words of the codes of a tile and of the next one, and of weights
}

const (
	wordRows    = 2
	wordVectors = 6
	wordsLeast  = 8 // with fewer rows words of the weights take longer than they save

	codesBytes   = wordRows * 2 * spec.BlockSteps
	halfBytes    = wordVectors * 32 // of one of the two words that a word of weights becomes
	weightsAt    = 2 * codesBytes
	wordScalesAt = weightsAt + spec.BlockSteps/2*halfBytes
	wordsFrame   = wordScalesAt + halfBytes + spec.LineBytes
)

// manyRows emits the products of 8-bit weights with an even number of rows, if they are many, and leaves the others.
func (avx2Dot) manyRows(t *int8Gemmer) {
	if t.format.Bits() != 8 {
		return
	}
	g, x, c := t.g, t.g.Param("x"), t.g.Param("c")
	w := &int8Words{int8Gemmer: t, aligned: g.Memory(g.Param("b").Cap()), many: g.Memory(c.Len()), rest: g.Memory(c.Cap()), blockX: g.Memory(x.Cap())}
	w.begin(g.Frame(wordsFrame))
	g.Label("manyblock")
	w.expand()
	w.x, w.c, w.codes, w.other, w.weight = g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(w.blockX, w.x)
	g.MOVQ(t.c, w.c)
	g.MOVQ(w.aligned, w.codes)
	g.LEAQ(emit.At(w.codes, codesBytes), w.other)
	g.Move(w.many, w.rest)
	w.split(w.x, w.codes)
	g.Label("manytile")
	w.tile()
	g.LEAQ(emit.Indexed(w.c, t.ldc, wordRows), w.c)
	g.MOVQ(w.next, w.x)
	g.XCHGQ(w.codes, w.other)
	g.SUBQ(operand.Imm(wordRows), w.rest)
	g.JNZ(operand.LabelRef("manytile"))
	g.ADDQ(operand.Imm(spec.RowBytes), w.blockX)
	g.ADDQ(t.size, t.block)
	g.SUBQ(operand.I32(spec.BlockSteps), t.left)
	g.JNZ(operand.LabelRef("manyblock"))
	w.end()
}

func (w *int8Words) begin(frame operand.Mem) {
	g, rows, line := w.g, w.g.GP64(), w.g.GP64()
	few := operand.LabelRef("few")
	g.CMPQ(w.lanes2, operand.Imm(2*spec.PanelLanes))
	g.JNE(few)
	g.MOVQ(w.mArg, rows)
	g.CMPQ(rows, operand.Imm(wordsLeast))
	g.JL(few)
	g.ANDQ(operand.I32(-wordRows), rows)
	g.MOVQ(rows, w.many)
	g.LEAQ(frame.Offset(spec.LineBytes-1), line)
	g.ANDQ(operand.I32(-spec.LineBytes), line)
	g.MOVQ(line, w.aligned)
	w.block = g.GP64()
	g.MOVQ(w.blocks, w.block)
	g.Move(w.kArg, w.left)
	g.Move(w.xArg, w.blockX)
}

// end goes on to the rows that are left.
func (w *int8Words) end() {
	g, rows, bytes := w.g, w.g.GP64(), w.g.GP64()
	g.MOVQ(w.many, rows)
	g.SUBQ(rows, w.mArg)
	g.MOVQ(w.ldc, bytes)
	g.IMULQ(rows, bytes)
	g.ADDQ(bytes, w.int8Gemmer.c)
	g.IMULQ(w.ldx, rows)
	g.ADDQ(rows, w.xArg)
	g.Label("few")
}

// expand writes the weights of a block to the stack, and their scales.
func (w *int8Words) expand() {
	g, from, to, left := w.g, w.g.GP64(), w.g.GP64(), w.g.GP64()
	g.MOVQ(w.aligned, to)
	for v := range wordVectors {
		d := g.Vec()
		g.VCVTPH2PS(emit.At(w.block, v*g.VecBytes()/2), d)
		g.VMOVUPS(d, emit.At(to, wordScalesAt+v*g.VecBytes()))
	}
	g.LEAQ(emit.At(w.block, 2*spec.PanelLanes), from)
	g.ADDQ(operand.I32(weightsAt), to)
	g.MOVQ(operand.U32(spec.BlockSteps/4), left)
	offset := g.Vec()
	g.VPBROADCASTD(g.Constant(0x80808080), offset)
	g.AlignLoop()
	g.Label("expand")
	for v := range wordVectors {
		odd := g.Vec()
		g.VPXOR(emit.At(from, v*g.VecBytes()), offset, odd)
		g.splitBytes(odd, emit.At(to, v*g.VecBytes()), emit.At(to, halfBytes+v*g.VecBytes()))
	}
	for line := 0; line < halfBytes; line += spec.LineBytes {
		g.PREFETCHT0(emit.At(from, int8Ahead+line))
	}
	g.ADDQ(operand.I32(halfBytes), from)
	g.ADDQ(operand.I32(2*halfBytes), to)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("expand"))
}

// split writes the codes of the rows at x as words.
func (w *int8Words) split(x, to reg.GPVirtual) {
	for i := range wordRows {
		from, codes := emit.At(x, 0), w.g.Vec()
		if i > 0 {
			from = emit.Indexed(x, w.ldx, 1)
		}
		w.g.VMOVDQU(from, codes)
		at := i * 2 * spec.BlockSteps
		w.g.splitBytes(codes, emit.At(to, at), emit.At(to, at+spec.BlockSteps))
	}
}

// tile emits the products of a tile with a block. The last tile of all takes itself for the next one.
func (w *int8Words) tile() {
	g := w.g
	w.next = g.GP64()
	g.LEAQ(emit.Indexed(w.x, w.ldx, wordRows), w.next)
	g.CMPQ(w.rest, operand.Imm(wordRows))
	g.CMOVQEQ(w.x, w.next)
	w.split(w.next, w.other)
	g.MOVQ(w.aligned, w.weight)
	g.ADDQ(operand.I32(weightsAt), w.weight)
	w.acc = make([][]reg.VecVirtual, wordRows)
	for i := range w.acc {
		w.acc[i] = g.Vecs(wordVectors)
	}
	codes, end := g.GP64(), g.GP64()
	g.MOVQ(w.codes, codes)
	g.LEAQ(emit.At(codes, spec.BlockSteps-4), end)
	w.word(codes, true)
	g.AlignLoop()
	g.Label("manyword")
	g.ADDQ(operand.I32(2*halfBytes), w.weight)
	g.ADDQ(operand.Imm(4), codes)
	w.word(codes, false)
	g.CMPQ(codes, end)
	g.JNE(operand.LabelRef("manyword"))

	scales := wordScalesAt - weightsAt - (spec.BlockSteps/4-1)*2*halfBytes
	for i, row := range w.acc {
		x, c, d := emit.At(w.x, spec.RowScale), emit.At(w.c, 0), g.Vec()
		if i > 0 {
			x, c = emit.Indexed(w.x, w.ldx, 1).Offset(spec.RowScale), emit.Indexed(w.c, w.ldc, 1)
		}
		g.VBROADCASTSS(x, d)
		for v, acc := range row {
			p, m := g.Vec(), c.Offset(v*g.VecBytes())
			g.VMULPS(emit.At(w.weight, scales+v*g.VecBytes()), d, p)
			g.VCVTDQ2PS(acc, acc)
			g.VFMADD213PS(m, p, acc)
			g.VMOVUPS(acc, m)
		}
	}
}

// word emits the products of a word of each row. The first products of a block are the sums.
func (w *int8Words) word(codes reg.GPVirtual, first bool) {
	g := w.g
	for half := range 2 {
		xs := g.Vecs(wordRows)
		for i, x := range xs {
			g.VPBROADCASTD(emit.At(codes, (2*i+half)*spec.BlockSteps), x)
		}
		for v := range wordVectors {
			for i, x := range xs {
				acc, p := w.acc[i][v], w.acc[i][v]
				isSum := first && half == 0
				if !isSum {
					p = g.Vec()
				}
				g.VPMADDWD(emit.At(w.weight, half*halfBytes+v*g.VecBytes()), x, p)
				if !isSum {
					g.VPADDD(p, acc, acc)
				}
			}
		}
	}
}
