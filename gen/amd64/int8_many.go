package amd64

import (
	"math/bits"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vnniMany are products of many rows with whole panels of grouped formats by VPDPBUSD. Some blocks
// of a panel are expanded on the stack, once for all rows: a byte for each number, and scales as
// float32. So a tile of 4 rows and 3 vectors has no masks, shifts and conversions in its loop: a
// word of codes takes 3 loads of weights, 4 broadcasts and 12 VPDPBUSD.
//
// A tile with fewer rows computes and stores the same sums of its last one several times: 5 rows
// take as long as 8.
//
// Sums of integers become float32 without conversions where they are multiplied next. An
// accumulator begins with the bits of magic, 3·2^22, whose unit in the last place is 1. With a sum
// s of less than 2^22 it then has the bits of magic + s, and
//
//	fma(magic + s, i, -magic·i) = s·i
//
// is exact for integers i of 8 bits: a whole number below 2^24, and +0 where it is 0. So
//
//	U4x16, U5x16    have one sum for both groups if all have the same integers; other calls go
//	                another way. Their minima are such products, too.
//	S6x16           has two sums, of which the first is magic + s - magic
//	S5x16F32        converts both sums, as scales of float32 round products
type vnniMany struct {
	expanded
	minima bool                  // and one sum
	acc    [2][][]reg.VecVirtual // of each group
}

const (
	manyRows    = 4
	manyVectors = 3
	manyLeast   = 12 // fewer rows take less time without
	manyBlocks  = 4  // of a group: 10 KiB on the stack

	manyVector = 4 * spec.PanelLanes // the bytes of a row of words of a panel
	manyWords  = spec.BlockSteps / 4
	manyTaken  = spec.LineBytes  // of a row: codes by groups, and then
	manyBegin  = spec.BlockSteps // what accumulators begin with
	manyLocals = 64

	magic      = 0x4b400000 // 3·2^22
	magicMinus = 0xcb400000
)

// The arrays of a block on the stack, after its numbers, each with a number of every lane.
const (
	manyScale = iota
	manyMinimum
	manyInteger     // of the only group or the first
	manyMagic       // -magic times those
	manySecond      // of the minima or the second group
	manySecondMagic // -magic times those
	manyArrays

	manyBlock = (manyWords + manyArrays) * manyVector
	manyFrame = manyLocals + spec.LineBytes + manyRows*manyTaken + manyBlocks*manyBlock
)

// manyRows emits the products with whole panels that need no order by groups, or that put a block
// in order once for many rows.
func (*vnniGrouped) manyRows(t *int8Gemmer) {
	t.clear()
	rest := t.wholeBlocks()
	m := &vnniMany{expanded: expanded{int8Gemmer: rest}, minima: t.format.Offset() == 0}
	m.emit()
	if t.format.Bits() == 4 { // as many rows share the order by groups
		t.g.CMPQ(t.mArg, operand.Imm(groupedRows))
		t.g.JGE(operand.LabelRef("halvesnone"))
	}
	if !t.format.Float32Scales() {
		rest.wholePanel(&vnniHalves{}, "halves")
	}
}

// emit emits the products, before what is for other calls.
func (m *vnniMany) emit() {
	m.begin()
	m.products(manyRows, manyTaken, m.expand, m.block)
	m.g.Label("few")
}

// begin jumps to few unless the call has many rows and a whole panel, and makes room on the stack:
// for numbers, and from a line on for rows of a tile and blocks.
func (m *vnniMany) begin() {
	g, t := m.g, m.int8Gemmer
	few := operand.LabelRef("few")
	g.CMPQ(t.lanes2, operand.Imm(2*spec.PanelLanes))
	g.JNE(few)
	least := manyLeast
	if m.format.Float32Scales() {
		least = manyRows + 1
	}
	g.CMPQ(t.mArg, operand.Imm(uint64(least)))
	g.JL(few)
	if m.minima {
		m.compareGroups(few)
	}
	m.place(t.frame)
}

// compareGroups goes on to other unless all integers of both groups of all blocks are equal.
func (m *vnniMany) compareGroups(other operand.LabelRef) {
	g := m.g
	block, left, differ := g.GP64(), g.GP64(), g.Vec()
	g.MOVQ(m.blocks, block)
	g.MOVQ(m.kArg, left)
	g.Zero(g.Context, differ)
	g.Label("manycompare")
	for v := range 2 * manyVectors {
		x, y := g.Vec(), g.Vec()
		g.VPMOVZXWD(emit.At(block, m.at(m.format.Halves())+v*g.VecBytes()/2), x)
		g.VPSRLD(operand.Imm(8), x, y)
		g.VPSLLD(operand.Imm(24), x, x)
		g.VPSLLD(operand.Imm(24), y, y)
		const aOrBXorC = 0xf6
		g.VPTERNLOGD(operand.U8(aOrBXorC), y, x, differ)
	}
	k, differs := g.K(), g.GP32()
	g.VPTESTMD(differ, differ, k)
	g.KMOVW(k, differs)
	g.TESTL(differs, differs)
	g.JNZ(other)
	g.ADDQ(operand.I32(m.format.BlockBytes(spec.PanelLanes)), block)
	g.SUBQ(operand.I32(spec.BlockSteps), left)
	g.JNZ(operand.LabelRef("manycompare"))
}

// at is where part n of a block's header begins, of 2 bytes of each lane.
func (*vnniMany) at(n int) int { return 2 * spec.PanelLanes * n }

// expand expands the blocks of a group.
func (m *vnniMany) expand() {
	g := m.g
	_, bytes := m.sizes(m.format)
	bytes += m.format.HeadBytes()
	m.eachBlock(manyBlocks, manyBlock, manyRows*manyTaken, func(block, to reg.GPVirtual) {
		far := g.GP64()
		g.LEAQ(emit.At(block, int8Ahead), far)
		m.passHead("many", m.kArg, block, func() {})
		m.expandBlock(block, to)
		for line := 0; line < bytes*spec.PanelLanes; line += spec.LineBytes {
			g.PREFETCHT0(emit.At(far, line))
		}
	})
}

// array is where vector v of an array of the block at p is.
func (m *vnniMany) array(p reg.GPVirtual, array, v int) operand.Mem {
	return emit.At(p, (manyWords+array)*manyVector+v*m.g.VecBytes())
}

// numberMasks are the bits of numbers in bytes: the lower four, and those beyond if there are any.
func (g *gen) numberMasks(q ukernel.PackedFormat) (masks [2]reg.VecVirtual) {
	masks[0] = g.filled(0x0f0f0f0f)
	if more := q.Bits() - 4; more > 0 {
		masks[1] = g.filled((1<<more - 1) << 4 * 0x01010101)
	}
	return masks
}

// number makes the bytes of a word, for a vector of lanes of a whole panel, whose words begin at
// from. ukernel.PackedFormat describes them. high has the further bits.
func (g *gen) number(q ukernel.PackedFormat, masks [2]reg.VecVirtual, from operand.Mem, word int, high operand.Op) reg.VecVirtual {
	n, more := g.Vec(), q.Bits()-4
	if word < manyWords/2 {
		g.VPANDD(from.Offset(word*manyVector), masks[0], n)
	} else {
		g.VPSRLD(operand.Imm(4), from.Offset((word-manyWords/2)*manyVector), n)
		g.VPANDD(masks[0], n, n)
	}
	if more == 0 {
		return n
	}
	further := high
	if left := 4 - word%4*more%4 - word/4*4; left != 0 {
		shift := g.VPSLLD
		if left < 0 {
			shift, left = g.VPSRLD, -left
		}
		further = g.Vec()
		shift(operand.Imm(uint64(left)), high, further)
	}
	const aOrBAndC = 0xf8
	g.VPTERNLOGD(operand.U8(aOrBAndC), further, masks[1], n)
	return n
}

// further is where the further bits of a word lie.
func (g *gen) further(q ukernel.PackedFormat, from operand.Mem, word int) operand.Mem {
	return from.Offset((manyWords/2 + word%4*(q.Bits()-4)/4) * manyVector)
}

// expandBlock expands a block of a grouped format. With sums of their own the words of groups
// follow each other: the second one first, as the codes of rows do.
func (m *vnniMany) expandBlock(block, to reg.GPVirtual) {
	g, q := m.g, m.format
	m.expandScales(block, to)
	masks := g.numberMasks(q)
	var lower reg.VecVirtual
	if !m.minima {
		lower = g.filled(0x0000ffff)
	}
	numbers, words, count := g.GP64(), g.GP64(), g.GP64()
	if len(m.formats) > 1 {
		g.MOVQ(m.headers, numbers)
		g.ADDQ(block, numbers)
	} else {
		g.LEAQ(emit.At(block, q.IntegerBytes()*spec.PanelLanes), numbers)
	}
	g.MOVQ(to, words)
	g.MOVQ(operand.U32(manyVectors), count)
	loop.Times(g, count, "manyvector", func() {
		var even reg.VecVirtual
		for word := range manyWords {
			from := emit.At(numbers, 0)
			n := g.number(q, masks, from, word, g.further(q, from, word))
			at := func(word int) operand.Mem { return emit.At(words, word*manyVector) }
			switch {
			case m.minima:
				g.VMOVDQU32(n, at(word))
			case word%2 == 0:
				even = n
			default:
				m.halves(even, n, lower, at(word/2), at(manyWords/2+word/2))
			}
		}
		g.Advance(g.VecBytes(), numbers, words)
	})
}

// halves writes the upper halves of two words as one, and the lower halves.
func (m *vnniMany) halves(even, odd, lower reg.VecVirtual, uppers, lowers operand.Mem) {
	g := m.g
	const cWhereB = 0xb8
	x := g.Vec()
	g.VPSLLD(operand.Imm(16), odd, x)
	g.VPTERNLOGD(operand.U8(cWhereB), even, lower, x)
	g.VMOVDQU32(x, lowers)
	g.VPSRLD(operand.Imm(16), even, even)
	g.VPTERNLOGD(operand.U8(cWhereB), even, lower, odd)
	g.VMOVDQU32(odd, uppers)
}

// expandScales writes the arrays of a grouped format.
func (m *vnniMany) expandScales(block, to reg.GPVirtual) {
	g, q := m.g, m.format
	if q.Float32Scales() {
		for v := range 2 * manyVectors {
			x := g.Vec()
			g.VMOVUPS(emit.At(block, v*g.VecBytes()), x)
			array := []int{manyInteger, manySecond}[v/manyVectors]
			g.VMOVUPS(x, m.array(to, array, v%manyVectors))
		}
		return
	}
	heads := g.GP64()
	g.MOVQ(m.heads, heads)
	for n := range q.Halves() {
		for v := range manyVectors {
			x := g.Vec()
			g.VCVTPH2PS(emit.At(heads, m.at(n)+v*g.VecBytes()/2), x)
			g.VMOVUPS(x, m.array(to, manyScale+n, v))
		}
	}
	minus := g.Vec()
	g.VBROADCASTSS(g.Constant(magicMinus), minus)
	integer := func(x reg.VecVirtual, array, v int) {
		g.VPSRAD(operand.Imm(24), x, x)
		g.VCVTDQ2PS(x, x)
		g.VMOVUPS(x, m.array(to, array, v))
		y := g.Vec()
		g.VMULPS(minus, x, y)
		g.VMOVUPS(y, m.array(to, array+1, v))
	}
	for n := range q.Halves() {
		all := g.Vecs(manyVectors)
		for v, both := range all {
			g.VPMOVZXWD(emit.At(block, m.at(n)+2*v*g.Lanes()), both)
		}
		for v, both := range all {
			x := g.Vec()
			g.VPSLLD(operand.Imm(24), both, x)
			integer(x, []int{manyInteger, manySecond}[n], v)
			if !m.minima {
				g.VPSLLD(operand.Imm(16), both, both)
				integer(both, manySecond, v)
			}
		}
	}
}

// takeBlock prepares the rows of a tile for a block: codes by groups, and what accumulators begin
// with. That is done beside the products of the block before.
func (m *vnniMany) takeBlock() {
	g := m.g
	var order reg.VecVirtual
	if !m.minima {
		order = g.YMM()
		g.VMOVDQU(groupHalves(g), order)
	}
	for i := range manyRows {
		if !m.minima {
			codes := g.YMM()
			g.VPERMW(m.ofRow(i, 0), order, codes)
			g.VMOVDQU(codes, m.ofTaken(i, 0))
		}
		sum := g.GP64()
		if m.minima {
			g.MOVL(m.ofRow(i, spec.RowMinusSum), sum.As32())
			g.ADDL(operand.U32(magic), sum.As32())
			g.MOVL(sum.As32(), m.ofTaken(i, manyBegin))
			continue
		}
		for group := range 2 {
			g.MOVWLSX(m.ofRow(i, spec.RowGroups+2*group), sum.As32())
			g.SHLL(operand.Imm(uint64(bits.TrailingZeros(uint(m.format.Offset())))), sum.As32())
			if !m.format.Float32Scales() {
				g.ADDL(operand.U32(magic), sum.As32())
			}
			g.MOVL(sum.As32(), m.ofTaken(i, manyBegin+4*group))
		}
	}
}

// block emits the products of a tile with a block.
func (m *vnniMany) block() {
	g := m.g
	m.takeBlock()
	if m.minima {
		m.acc[0] = m.begins(0)
		m.wordLoop(m.acc[0])
	} else {
		m.acc[1] = m.sums(1, 0, manyWords/2)
		m.g.Interleave(func() { m.acc[0] = m.sums(0, manyWords/2, manyWords) }, m.scaleSecond)
	}
	for v := range manyVectors {
		m.addVector(v)
	}
	g.Advance(spec.RowBytes, m.x...)
	g.ADDQ(operand.I32(manyBlock), m.from)
}

// ofRow is memory of the block of row i of the tile, and ofTaken what takeBlock has made of it.
func (m *vnniMany) ofRow(i, disp int) operand.Mem   { return emit.At(m.x[i], disp) }
func (m *vnniMany) ofTaken(i, disp int) operand.Mem { return emit.At(m.taken, i*manyTaken+disp) }

// begins returns what the sums begin with, of a group or of both if they have one sum.
func (m *vnniMany) begins(group int) [][]reg.VecVirtual {
	g, acc := m.g, make([][]reg.VecVirtual, manyRows)
	for i := range acc {
		acc[i] = g.Vecs(manyVectors)
		begin := m.ofTaken(i, manyBegin+4*group)
		if m.minima {
			begin = g.Constant(magic)
		}
		for _, v := range acc[i] {
			g.VPBROADCASTD(begin, v)
		}
	}
	return acc
}

// sums emits the sums of the products of some words of a group. In a loop, formats of 6 bits would
// take 3 to 5% longer on Zen 5.
func (m *vnniMany) sums(group, word, end int) [][]reg.VecVirtual {
	acc := m.begins(group)
	for ; word < end; word++ {
		m.word(acc, word, nil)
	}
	return acc
}

// wordLoop adds the products of all words in a loop.
func (m *vnniMany) wordLoop(acc [][]reg.VecVirtual) {
	g, at := m.g, m.g.GP64()
	g.XORQ(at, at)
	g.Label("manyword")
	m.word(acc, 0, at)
	g.ADDQ(operand.I32(manyVector), m.from)
	g.ADDQ(operand.Imm(4), at)
	g.CMPQ(at, operand.Imm(4*manyWords))
	g.JNE(operand.LabelRef("manyword"))
	g.SUBQ(operand.I32(manyWords*manyVector), m.from)
}

// word adds the products of a word. Unless it is nil, at is how far codes have moved on.
func (m *vnniMany) word(acc [][]reg.VecVirtual, word int, at reg.Register) {
	g, ws := m.g, m.g.Vecs(manyVectors)
	for v, w := range ws {
		g.VMOVDQU32(emit.At(m.from, word*manyVector+v*g.VecBytes()), w)
	}
	for i, row := range acc {
		x, codes := g.Vec(), m.ofTaken(i, 4*word)
		if m.minima {
			codes = m.ofRow(i, 4*word)
		}
		if at != nil {
			codes.Index, codes.Scale = at, 1
		}
		g.VPBROADCASTD(codes, x)
		for v, w := range ws {
			g.VPDPBUSD(x, w, row[v])
		}
	}
}

// head loads vector v of an array of the block.
func (m *vnniMany) head(array, v int) reg.VecVirtual {
	x := m.g.Vec()
	m.g.VMOVUPS(m.array(m.from, array, v), x)
	return x
}

// scaleSecond multiplies the sums of the second group.
func (m *vnniMany) scaleSecond() {
	g := m.g
	for v := range manyVectors {
		scale := m.head(manySecond, v)
		add := g.Vec()
		if m.format.Float32Scales() {
			g.Zero(g.Context, add)
		} else {
			add = m.head(manySecondMagic, v)
		}
		for _, row := range m.acc[1] {
			if m.format.Float32Scales() {
				g.VCVTDQ2PS(row[v], row[v])
			}
			g.VFMADD213PS(add, scale, row[v])
		}
	}
}

// addVector adds a vector of each row's sums to C. It stores them after the last row is loaded, as
// rows may be the same.
func (m *vnniMany) addVector(v int) {
	g, q := m.g, m.format
	sums := make([]reg.VecVirtual, manyRows)
	for i := range sums {
		sums[i] = m.acc[0][i][v]
	}
	if m.minima {
		integer, add := m.head(manyInteger, v), m.head(manyMagic, v)
		for _, s := range sums {
			g.VFMADD213PS(add, integer, s)
		}
	} else {
		m.addGroups(sums, v)
	}
	if q.Float32Scales() {
		for i, s := range sums {
			x := g.Vec()
			g.VBROADCASTSS(m.ofRow(i, spec.RowScale), x)
			g.VFMADD213PS(emit.At(m.c[i], v*g.VecBytes()), x, s)
		}
	} else {
		m.addProducts(sums, v)
	}
	for i, s := range sums {
		g.VMOVUPS(s, emit.At(m.c[i], v*g.VecBytes()))
	}
}

// addGroups adds the sums of the second group to a vector of sums of the first.
func (m *vnniMany) addGroups(sums []reg.VecVirtual, v int) {
	g, scale := m.g, m.head(manyInteger, v)
	for i, s := range sums {
		if m.format.Float32Scales() {
			g.VCVTDQ2PS(s, s)
		} else {
			g.VADDPS_BCST(g.Constant(magicMinus), s, s)
		}
		g.VFMADD213PS(m.acc[1][i][v], scale, s)
	}
}

// addProducts makes sums those in C: plus sums times both scales, plus the minima.
func (m *vnniMany) addProducts(sums []reg.VecVirtual, v int) {
	g, scale := m.g, m.head(manyScale, v)
	for i, s := range sums {
		p := g.Vec()
		g.VMULPS_BCST(m.ofRow(i, spec.RowScale), scale, p)
		g.VFMADD213PS(emit.At(m.c[i], v*g.VecBytes()), p, s)
	}
	if !m.minima {
		return
	}
	minimum, integer, add := m.head(manyMinimum, v), m.head(manySecond, v), m.head(manySecondMagic, v)
	for i, s := range sums {
		p, codes := g.Vec(), g.Vec()
		g.VBROADCASTSS(m.ofTaken(i, manyBegin), codes)
		g.VFMADD213PS(add, integer, codes)
		g.VMULPS_BCST(m.ofRow(i, spec.RowScale), minimum, p)
		g.VFMADD231PS(p, codes, s)
	}
}
