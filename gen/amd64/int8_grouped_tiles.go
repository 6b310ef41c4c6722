package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products with grouped formats by tiles, see tileProduct. A block has a tile of sums for each half
// of its steps: the numbers of the other half are zeros. These sums, times the integers of the
// groups, are whole numbers up to 2^24, see vnniGrouped, so they are exact in float32. Scales of
// float32 take the place of the integers, and 1 the place of the scale. A third tile is for minima:
// the codes times the integers of the groups, a row of weights for all words.

// groupedFormats are the formats of a function, but for one with bfloat16, which is as the last.
func (t *tileProduct) groupedFormats() []ukernel.PackedFormat {
	if t.minima {
		return []ukernel.PackedFormat{ukernel.U4x32, ukernel.U5x32, ukernel.U4x16, ukernel.U5x16}
	}
	return []ukernel.PackedFormat{ukernel.S6x16, ukernel.S8x16F32, ukernel.S5x16F32}
}

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
	formats := t.groupedFormats()
	for i, q := range formats {
		set(q)
		if i < len(formats)-1 {
			t.CMPQ(t.which(), operand.Imm(uint64(q)))
			t.JE(operand.LabelRef("known"))
		}
	}
	t.Label("known")
}

// ifFormat jumps to a label for some of the formats.
func (t *tileProduct) ifFormat(label string, is func(q ukernel.PackedFormat) bool) {
	for _, q := range t.groupedFormats() {
		if is(q) {
			t.CMPQ(t.which(), operand.Imm(uint64(q)))
			t.JE(operand.LabelRef(label))
		}
	}
}

// passHead goes past the head before a block, if there is one: so many blocks of a chunk, which has
// whole segments, are left.
func (t *tileProduct) passHead(block, lanes, left reg.GPVirtual) {
	if !t.minima {
		t.ifFormat("passed", ukernel.PackedFormat.Float32Scales)
	}
	t.ifFormat("segment", ukernel.PackedFormat.Segmented)
	t.Goto("head")
	t.Label("segment")
	done := t.get(varBlocks)
	t.SUBQ(left, done)
	t.TESTQ(operand.U32(spec.InputSegment/spec.BlockSteps-1), done)
	t.JNZ(operand.LabelRef("passed"))
	t.Label("head")
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
	lane, from, half, head, numbers := t.get(varLane), t.GP64(), t.GP64(), t.get(varHead), t.GP64()
	t.MOVQ(lane, from)
	t.SHRQ(operand.Imm(1), from)
	t.ADDQ(from, head)
	t.MOVQ(lanes, half)
	t.SHRQ(operand.Imm(1), half)
	t.LEAQ(emit.Indexed(block, lane, 1), numbers)
	if t.minima {
		t.halvesOf(ukernel.U5x16BF16, head, half, to)
		both, totals := t.Vec(), t.Vec()
		t.ADDQ(half, numbers)
		t.ifFormat("single", ukernel.PackedFormat.Segmented)
		t.ADDQ(block, from)
		t.ADDQ(half, numbers)
		t.VPMOVZXWD(emit.At(from, 0), both)
		t.VPMOVZXWD(emit.Indexed(from, half, 1), totals)
		t.Goto("both")
		t.Label("single")
		t.SHRQ(operand.Imm(1), from)
		t.SHRQ(operand.Imm(1), half)
		t.ADDQ(block, from)
		t.twice(emit.At(from, 0), both)
		t.twice(emit.Indexed(from, half, 1), totals)
		t.Label("both")
		t.integers(both, to)
		t.VPSHUFB(t.Repeated("tileTotals", 0x01010000, 0x05050404, 0x09090808, 0x0d0d0c0c), totals, totals)
		t.VMOVDQU32(totals, emit.At(to, t.row(rowTotals)))
	} else {
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.S6x16)))
		t.JNE(operand.LabelRef("floats"))
		t.widenHeader(head, to, t.row(rowScales))
		t.ADDQ(block, from)
		t.ADDQ(half, numbers)
		both := t.Vec()
		t.VPMOVZXWD(emit.At(from, 0), both)
		t.integers(both, to)
		t.Goto("numbers")
		t.Label("floats")
		one := t.Vec()
		t.VMOVUPS(t.Constant(math.Float32bits(1)), one)
		t.VMOVUPS(one, emit.At(to, t.row(rowScales)))
		for i := range 2 {
			scales := t.Vec()
			t.VMOVUPS(emit.At(numbers, 0), scales)
			t.VMOVUPS(scales, emit.At(to, t.row(rowOfHalf+i)))
			t.ADDQ(lanes, numbers)
		}
		t.Label("numbers")
	}
	t.groupedNumbers(numbers, lanes, to)
}

// twice makes pairs of the same bytes, of 16 lanes.
func (t *tileProduct) twice(from operand.Mem, v reg.VecVirtual) {
	upper := t.Vec()
	t.VPMOVZXBD(from, v)
	t.VPSLLD(operand.Imm(8), v, upper)
	t.VPORD(upper, v, v)
}

// halvesOf writes scales and minima, which are binary16 but in one format.
func (t *tileProduct) halvesOf(brain ukernel.PackedFormat, from, half, to reg.GPVirtual) {
	t.CMPQ(t.which(), operand.Imm(uint64(brain)))
	t.JE(operand.LabelRef("brain"))
	t.widenHeader(from, to, t.row(rowScales))
	t.ADDQ(half, from)
	t.widenHeader(from, to, t.row(rowGroupedMinima))
	t.Goto("widened")
	t.Label("brain")
	for i, row := range []int{rowScales, rowGroupedMinima} {
		if i > 0 {
			t.ADDQ(half, from)
		}
		v := t.Vec()
		t.VPMOVZXWD(emit.At(from, 0), v)
		t.VPSLLD(operand.Imm(16), v, v)
		t.VMOVDQU32(v, emit.At(to, t.row(row)))
	}
	t.Label("widened")
}

// integers writes the integers of both halves of the steps, which are in pairs, as float32.
func (t *tileProduct) integers(both reg.VecVirtual, to reg.GPVirtual) {
	for i := range 2 {
		v := t.Vec()
		t.VPSLLD(operand.Imm(uint64(24-8*i)), both, v)
		t.VPSRAD(operand.Imm(24), v, v)
		t.VCVTDQ2PS(v, v)
		t.VMOVUPS(v, emit.At(to, t.row(rowOfHalf+i)))
	}
}

// groupedNumbers writes the numbers of a block without their offset: of each word the bytes of the
// first half of the steps, and in another place the second half's. Package ukernel says where a
// panel has their bits. Bits beyond four are moved to the lowest bits of a half of a byte; formats
// without take any word.
func (t *tileProduct) groupedNumbers(numbers, lanes, to reg.GPVirtual) {
	mask, more, offset := t.filled(0x0f0f0f0f), t.Vec(), t.Vec()
	halves := [2]reg.VecVirtual{t.filled(0x0000ffff), t.filled(0xffff0000)}
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
