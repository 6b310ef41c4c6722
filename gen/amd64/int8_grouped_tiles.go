package amd64

import (
	"math"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products with grouped formats by tiles, see tileProduct. Float32 has the sums of groups, times
// their integers, without rounding, see vnniGrouped.
//
// With an integer for all steps a block has one tile. It begins with the bits of magic: its words
// are then float32 numbers, and an FMA multiplies the sums by their integers, see vnniMany. The row
// has the sum of its codes for the minimum.
//
// With an integer for each half a block has a tile for each half: the numbers of the other half are
// zeros. Scales of float32 take the place of the integers, and 1 the place of the scale.

// groupedFormat sets what tells formats apart, and size to the bytes of a block of some lanes,
// without a head.
func (t *tileProduct) groupedFormat(lanes, size reg.GPVirtual) {
	set := func(q ukernel.PackedFormat) {
		more := q.Bits() - 4
		t.IMUL3Q(operand.I32(q.IntegerBytes()+spec.BlockSteps*q.Bits()/8), lanes, size)
		t.MOVL(operand.U32((1<<more-1)<<4*0x01010101), t.local(varMore))
		t.MOVL(operand.U32(q.Offset()*0x01010101), t.local(varOffset))
		bits := t.GP64()
		t.MOVQ(operand.U32(more), bits)
		t.MOVQ(bits, t.local(varBits))
	}
	for i, q := range t.formats {
		set(q)
		if i < len(t.formats)-1 {
			t.CMPQ(t.which(), operand.Imm(uint64(q)))
			t.JE(operand.LabelRef("known"))
		}
	}
	t.Label("known")
}

// ifFormat jumps to a label for some of the formats.
func (t *tileProduct) ifFormat(label string, is func(q ukernel.PackedFormat) bool) {
	for _, q := range t.formats {
		if is(q) {
			t.CMPQ(t.which(), operand.Imm(uint64(q)))
			t.JE(operand.LabelRef(label))
		}
	}
}

// passHead goes past the head before a block, if there is one: so many blocks of a chunk, which has
// whole segments, are left. The formats of a function that have heads are all segmented or none.
func (t *tileProduct) passHead(block, lanes, left reg.GPVirtual) {
	t.ifFormat("passed", ukernel.PackedFormat.Float32Scales)
	if t.formats[0].Segmented() {
		done := t.get(varBlocks)
		t.SUBQ(left, done)
		t.TESTQ(operand.U32(spec.InputSegment/spec.BlockSteps-1), done)
		t.JNZ(operand.LabelRef("passed"))
	}
	t.MOVQ(block, t.local(varHead))
	bytes := t.GP64()
	t.MOVQ(lanes, bytes)
	if !t.minima {
		t.SHRQ(operand.Imm(1), bytes)
	}
	t.ADDQ(bytes, block)
	t.Label("passed")
}

// expandGrouped writes a block to the stack.
func (t *tileProduct) expandGrouped(block, to, lanes reg.GPVirtual) {
	lane, half, head, numbers, from := t.get(varLane), t.GP64(), t.get(varHead), t.GP64(), t.GP64()
	t.MOVQ(lanes, half)
	t.SHRQ(operand.Imm(1), half)
	t.LEAQ(emit.Indexed(block, lane, 1), numbers)
	t.SHRQ(operand.Imm(1), lane)
	t.ADDQ(lane, head)
	t.ifFormat("floats", ukernel.PackedFormat.Float32Scales)
	t.halvesOf(head, half, to)
	t.ADDQ(half, numbers)
	if t.integers == 1 {
		t.SHRQ(operand.Imm(1), lane)
		t.SHRQ(operand.Imm(1), half)
		t.LEAQ(emit.Indexed(block, lane, 1), from)
		t.integersOfAll(from, half, to)
	} else {
		t.LEAQ(emit.Indexed(block, lane, 1), from)
		t.integersOfHalves(from, to)
	}
	if slices.ContainsFunc(t.formats, ukernel.PackedFormat.Float32Scales) {
		t.Goto("numbers")
		t.Label("floats")
		t.floatsOf(numbers, lanes, to)
		t.Label("numbers")
	}
	t.groupedNumbers(numbers, lanes, to)
}

// floatsOf writes scales of float32, and 1 in the place of scales that integers multiply.
func (t *tileProduct) floatsOf(numbers, lanes, to reg.GPVirtual) {
	v := t.Vec()
	t.VMOVUPS(t.Constant(math.Float32bits(1)), v)
	t.VMOVUPS(v, emit.At(to, t.row(rowScales)))
	for i := range 2 {
		t.VMOVUPS(emit.At(numbers, 0), v)
		t.VMOVUPS(v, emit.At(to, t.row(rowIntegers+i)))
		t.ADDQ(lanes, numbers)
	}
}

// halvesOf writes scales and minima.
func (t *tileProduct) halvesOf(from, half, to reg.GPVirtual) {
	rows := []int{rowScales}
	if t.minima {
		rows = append(rows, rowGroupedMinima)
	}
	for i, row := range rows {
		if i > 0 {
			t.ADDQ(half, from)
		}
		t.widenHeader(from, to, t.row(row))
	}
}

// integersOfAll writes the integers for all steps as float32. A scale's has a product beside it.
func (t *tileProduct) integersOfAll(from, lanes, to reg.GPVirtual) {
	s, m := t.Vec(), t.Vec()
	t.VPMOVSXBD(emit.At(from, 0), s)
	t.VCVTDQ2PS(s, s)
	t.VMOVUPS(s, emit.At(to, t.row(rowIntegers)))
	t.VMULPS_BCST(t.Constant(magicMinus), s, s)
	t.VMOVUPS(s, emit.At(to, t.row(rowMagic)))
	t.VPMOVSXBD(emit.Indexed(from, lanes, 1), m)
	t.VCVTDQ2PS(m, m)
	t.VMOVUPS(m, emit.At(to, t.row(rowTotals)))
}

// integersOfHalves writes the integers of both halves of the steps, which are in pairs, as float32.
func (t *tileProduct) integersOfHalves(from, to reg.GPVirtual) {
	both := t.Vec()
	t.VPMOVZXWD(emit.At(from, 0), both)
	for i := range 2 {
		v := t.Vec()
		t.VPSLLD(operand.Imm(uint64(24-8*i)), both, v)
		t.VPSRAD(operand.Imm(24), v, v)
		t.VCVTDQ2PS(v, v)
		t.VMOVUPS(v, emit.At(to, t.row(rowIntegers+i)))
	}
}

// groupedNumbers writes the numbers of a block without their offset. With an integer for each half
// of the steps it writes two words for a word: the bytes of the first half, and the second half's.
// Package ukernel says where a panel has their bits. Bits beyond four are moved to the lowest bits
// of a half of a byte; formats without take any word.
func (t *tileProduct) groupedNumbers(numbers, lanes, to reg.GPVirtual) {
	mask, more, offset := t.filled(0x0f0f0f0f), t.Vec(), t.Vec()
	var halves []reg.VecVirtual
	if t.integers == 2 {
		halves = []reg.VecVirtual{t.filled(0x0000ffff), t.filled(0xffff0000)}
	}
	t.VPBROADCASTD(t.local(varMore), more)
	t.VPBROADCASTD(t.local(varOffset), offset)
	bits, shift, high, end, at := t.get(varBits), t.GP64(), t.GP64(), t.GP64(), t.GP64()
	t.LEAQ(emit.Indexed(numbers, lanes, 4), end)
	t.MOVQ(numbers, high)
	t.TESTQ(bits, bits)
	t.CMOVQNE(end, high)
	t.XORQ(shift, shift)
	t.MOVQ(to, at)
	t.Label("words")
	count, further := t.XMM(), t.Vec()
	t.VMOVQ(shift, count)
	t.VMOVDQU32(emit.At(high, 0), further)
	t.VPSRLD(count, further, further)
	for n := range 2 { // the words of the lower and of the upper halves of bytes
		w, m := t.Vec(), t.Vec()
		if n == 0 {
			t.VPSLLD(operand.Imm(4), further, m)
			t.VPANDD(emit.At(numbers, 0), mask, w)
		} else {
			m = further
			t.VPSRLD(operand.Imm(4), emit.At(numbers, 0), w)
			t.VPANDD(mask, w, w)
		}
		const aOrBAndC = 0xf8
		t.VPTERNLOGD(operand.U8(aOrBAndC), more, m, w)
		t.VPSUBB(offset, w, w)
		if t.integers == 1 {
			t.VMOVDQU32(w, emit.At(at, n*blockCodes/2))
		}
		for i, half := range halves {
			x := t.Vec()
			t.VPANDD(half, w, x)
			t.VMOVDQU32(x, emit.At(at, i*blockCodes+n*blockCodes/2))
		}
	}
	t.ADDQ(operand.Imm(4*tileLanes), at)
	t.ADDQ(bits, shift)
	t.CMPQ(shift, operand.Imm(4))
	t.JNE(operand.LabelRef("sameword"))
	t.XORQ(shift, shift)
	t.ADDQ(lanes, high)
	t.Label("sameword")
	t.ADDQ(lanes, numbers)
	t.CMPQ(numbers, end)
	t.JNE(operand.LabelRef("words"))
}
