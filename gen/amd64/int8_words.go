package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8Words are products of many rows with whole panels of 8-bit weights. Some blocks of a panel
// become 16-bit words on the stack, once for all rows. So the loop over products has no masks and
// shifts: a row and the 6 vectors of a panel take 13 instructions for 6 VPMADDWD, and a tile of
// avx2Dot, 6 rows and 2 vectors, would take 34 for 12. The weights are operands in memory: that is
// 7 loads for 6 products. Zen 3 has two loads a cycle, and takes as long for 6 VPMADDWD and 6
// VPADDD of registers alone.
//
// The outer loop goes over groups of blocks, the next one over rows. The sums of a block and the
// row's part of C are in registers: C is loaded and stored once a group. The codes of a row become
// words while the row before it is computed: otherwise each waits for its stores.
//
// The stack has, from a line on, words of codes of two rows in turns, then block after block
// weights and their scales. Words are the bytes 0 and 2 of all words of codes or weights, then
// bytes 1 and 3. Weights have their offset taken off.
type int8Words struct {
	*int8Gemmer
	load          operand.Mem // whether C is loaded
	aligned, last operand.Mem // where the stack's first line begins, and where the blocks of the group end
	rest          operand.Mem // rows left

	row, x, c       reg.GPVirtual // x of the row and of a block of it
	codes, turn, at reg.GPVirtual // words of the row, how far from there the next row's are, words of the block
	weights         reg.GPVirtual
	sums, out       []reg.VecVirtual
}

const (
	wordVectors  = 6
	wordBlocks   = 4  // of a group: 13 KiB on the stack, which stay in L1
	wordsGrouped = 48 // with fewer rows a group is one block: 16 rows take 6% longer with 4, whose weights they wait for
	wordsLeast   = 8  // with fewer rows words of the weights take longer than they save

	codesBytes = 2 * spec.BlockSteps // of a block
	halfBytes  = wordVectors * 32    // of a word; a word of weights becomes two
	scalesAt   = codesBytes / 4 * halfBytes
	blockWords = scalesAt + halfBytes // the size of a block on the stack
	wordsAt    = 2 * wordBlocks * codesBytes
	wordsFrame = wordsAt + wordBlocks*blockWords + spec.LineBytes
)

// manyRows emits the products of many rows with whole panels of 8-bit weights. What follows is for
// other calls.
func (d avx2Dot) manyRows(t *int8Gemmer) {
	defer t.clear()
	if t.format.Grouped() || !d.inWords(t.format) {
		return
	}
	g, b, c := t.g, t.g.Param("b"), t.g.Param("c")
	w := &int8Words{int8Gemmer: t, load: g.Argument("load"), aligned: g.Memory(b.Cap()), last: g.Memory(c.Len()), rest: g.Memory(c.Cap())}
	w.begin(g.Frame(wordsFrame))
	g.Label("manyblocks")
	w.expand()
	w.c, w.codes, w.turn = g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(t.c, w.c)
	g.MOVQ(w.aligned, w.codes)
	g.MOVQ(operand.U32(wordBlocks*codesBytes), w.turn)
	g.Move(t.mArg, w.rest)
	g.Label("manyrow")
	w.product()
	g.ADDQ(t.ldx, w.row)
	g.ADDQ(t.ldc, w.c)
	g.ADDQ(w.turn, w.codes)
	g.NEGQ(w.turn)
	g.DECQ(w.rest)
	g.JNZ(operand.LabelRef("manyrow"))
	g.MOVB(operand.Imm(1), w.load)
	g.CMPQ(t.left, operand.Imm(0))
	g.JNE(operand.LabelRef("manyblocks"))
	g.Return()
	g.Label("manyzero")
	for _, c := range w.out {
		g.Zero(g.Context, c)
	}
	g.Goto("manyblock")
	g.Label("few")
}

func (w *int8Words) begin(frame operand.Mem) {
	g, line, few := w.g, w.g.GP64(), operand.LabelRef("few")
	g.CMPQ(w.lanes2, operand.Imm(2*spec.PanelLanes))
	g.JNE(few)
	g.CMPQ(w.mArg, operand.Imm(wordsLeast))
	g.JL(few)
	g.LEAQ(frame.Offset(spec.LineBytes-1), line)
	g.ANDQ(operand.I32(-spec.LineBytes), line)
	g.MOVQ(line, w.aligned)
	w.block = g.GP64()
	g.MOVQ(w.blocks, w.block)
	g.Move(w.kArg, w.left)
}

// expand writes a group of blocks to the stack: codes of the first row, weights and scales.
func (w *int8Words) expand() {
	g, from, to, end, left := w.g, w.g.GP64(), w.g.GP64(), w.g.GP64(), w.g.GP64()
	w.row, w.x, w.at = g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(w.xArg, w.row)
	g.MOVQ(w.row, w.x)
	g.MOVQ(w.aligned, w.at)
	g.LEAQ(emit.At(w.at, wordsAt), to)
	g.LEAQ(emit.At(to, blockWords), end)
	g.LEAQ(emit.At(to, wordBlocks*blockWords), left)
	g.CMPQ(w.mArg, operand.Imm(wordsGrouped))
	g.CMOVQGE(left, end)
	weights := w.eightBits()
	g.Label("expandblock")
	w.split(emit.At(w.x, 0), emit.At(w.at, 0))
	for v := range wordVectors {
		d := g.Vec()
		g.VCVTPH2PS(emit.At(w.block, v*g.VecBytes()/2), d)
		g.VMOVUPS(d, emit.At(to, scalesAt+v*g.VecBytes()))
	}
	g.LEAQ(emit.At(w.block, 2*spec.PanelLanes), from)
	g.MOVQ(operand.U32(w.format.Bits()), left)
	g.AlignLoop()
	g.Label("expand")
	for v := range wordVectors {
		weights(emit.At(from, v*g.VecBytes()), emit.At(to, v*g.VecBytes()))
	}
	for line := 0; line < halfBytes; line += spec.LineBytes {
		g.PREFETCHT0(emit.At(from, int8Ahead+line))
	}
	g.ADDQ(operand.I32(halfBytes), from)
	g.ADDQ(operand.I32(2*halfBytes), to)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("expand"))
	g.ADDQ(operand.I32(halfBytes+scalesAt-2*w.format.Bits()*halfBytes), to)
	g.ADDQ(operand.Imm(codesBytes), w.at)
	g.ADDQ(operand.Imm(spec.RowBytes), w.x)
	g.ADDQ(w.size, w.block)
	g.SUBQ(operand.I32(spec.BlockSteps), w.left)
	g.JZ(operand.LabelRef("expanded"))
	g.CMPQ(to, end)
	g.JNE(operand.LabelRef("expandblock"))
	g.Label("expanded")
	g.MOVQ(to, w.last)
	g.MOVQ(w.x, w.xArg)
}

// eightBits returns what writes a word of weights as words of 16 bits, without their offset. A word
// of 4 bits has as many weights in its upper halves, which are 4 words further.
func (w *int8Words) eightBits() func(from, to operand.Mem) {
	g, format := w.g, w.format
	if values := format.Values(); values != nil {
		table, mask := g.Vec(), byteMask{g, g.Constant(0x0f0f0f0f)}
		g.VMOVUPS(g.Bytes("signed"+format.String(), func(i int) uint8 { return values[i%16] ^ 0x80 }), table)
		return func(from, to operand.Mem) {
			for half, number := range []func(from operand.Mem, v reg.VecVirtual){mask.and, mask.andUpper} {
				v, to := g.Vec(), to.Offset(4*half*2*halfBytes)
				number(from, v)
				g.VPSHUFB(v, table, v)
				g.splitBytes(v, to, to.Offset(halfBytes))
			}
		}
	}
	offset := g.Vec()
	g.VPBROADCASTD(g.Constant(0x80808080), offset)
	return func(from, to operand.Mem) {
		v := g.Vec()
		g.VPXOR(from, offset, v)
		g.splitBytes(v, to, to.Offset(halfBytes))
	}
}

// split writes the codes of a block of a row as words.
func (w *int8Words) split(x, to operand.Mem) {
	codes := w.g.Vec()
	w.g.VMOVDQU(x, codes)
	w.g.splitBytes(codes, to, to.Offset(codesBytes/2))
}

// product emits the products of a row with a group of blocks. The last row takes itself for the
// next one.
func (w *int8Words) product() {
	g, ahead := w.g, w.g.GP64()
	g.XORQ(ahead, ahead)
	g.CMPQ(w.rest, operand.Imm(1))
	g.CMOVQNE(w.ldx, ahead)
	w.x, w.at, w.weights = g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(w.row, w.x)
	g.MOVQ(w.codes, w.at)
	g.MOVQ(w.aligned, w.weights)
	g.ADDQ(operand.I32(wordsAt), w.weights)
	w.loadC()
	w.split(emit.Indexed(w.x, ahead, 1), emit.Indexed(w.at, w.turn, 1))
	w.addBlock()
	g.ADDQ(operand.Imm(spec.RowBytes), w.x)
	g.CMPQ(w.weights, w.last)
	g.JNE(operand.LabelRef("manyblock"))
	for v, c := range w.out {
		g.VMOVUPS(c, emit.At(w.c, v*g.VecBytes()))
	}
}

// loadC ends where the blocks of a row begin, to which manyRows goes from zeros, too.
func (w *int8Words) loadC() {
	g := w.g
	w.out = g.Vecs(wordVectors)
	g.CMPB(w.load, operand.Imm(0))
	g.JE(operand.LabelRef("manyzero"))
	for v, c := range w.out {
		g.VMOVUPS(emit.At(w.c, v*g.VecBytes()), c)
	}
	g.Label("manyblock")
}

// addBlock adds the products of a block.
func (w *int8Words) addBlock() {
	g := w.g
	w.sums = g.Vecs(wordVectors)
	w.words()
	d := g.Vec()
	g.VBROADCASTSS(emit.At(w.x, spec.RowScale), d)
	g.ADDQ(operand.I32(blockWords), w.weights)
	g.ADDQ(operand.Imm(codesBytes), w.at)
	for v, sum := range w.sums {
		p := g.Vec()
		g.VMULPS(emit.At(w.weights, v*g.VecBytes()-halfBytes), d, p)
		g.VCVTDQ2PS(sum, sum)
		g.VFMADD231PS(sum, p, w.out[v])
	}
}

// words emits the products of all words of codes. The first ones are the sums.
func (w *int8Words) words() {
	g := w.g
	for half := range codesBytes / 4 {
		x := g.Vec()
		g.VPBROADCASTD(emit.At(w.at, half/2*4+half%2*codesBytes/2), x)
		for v, sum := range w.sums {
			p := sum
			if half > 0 {
				p = g.Vec()
			}
			g.VPMADDWD(emit.At(w.weights, half*halfBytes+v*g.VecBytes()), x, p)
			if p != sum {
				g.VPADDD(p, sum, sum)
			}
		}
	}
}
