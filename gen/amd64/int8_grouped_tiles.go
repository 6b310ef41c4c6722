package amd64

import (
	"math"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products with grouped formats by tiles, see tileProduct. A block has a tile of sums for each half
// of its steps: the numbers of the other half are zeros. These sums, times the integers of the
// groups, are whole numbers up to 2^24, see vnniGrouped, so they are exact in float32. Scales of
// float32 take the place of the integers, and 1 the place of the scale. A third tile is for minima:
// the codes times the integers of the groups, a row of weights for all words.

// groupedFormat sets what tells formats apart, and size to the bytes of a block of some lanes.
func (t *tileProduct) groupedFormat(lanes, size reg.GPVirtual) {
	set := func(q ukernel.PackedFormat) {
		more := q.Bits() - 4
		t.IMUL3Q(operand.I32(q.BlockBytes(1)), lanes, size)
		t.MOVL(operand.U32((1<<more-1)<<4*0x01010101), t.local(varMore))
		t.MOVL(operand.U32(q.Offset()*0x01010101), t.local(varOffset))
		bits := t.GP64()
		t.MOVQ(operand.U32(more), bits)
		t.MOVQ(bits, t.local(varBits))
	}
	formats := []ukernel.PackedFormat{ukernel.S6x16, ukernel.S8x16F32, ukernel.S5x16F32}
	if t.minima {
		formats = []ukernel.PackedFormat{ukernel.U4x16, ukernel.U5x16}
	}
	for i, q := range formats {
		set(q)
		if i < len(formats)-1 {
			t.CMPQ(t.which(), operand.Imm(uint64(q)))
			t.JE(operand.LabelRef("known"))
		}
	}
	t.Label("known")
}

// expandGrouped writes a block to the stack.
func (t *tileProduct) expandGrouped(block, to, lanes reg.GPVirtual) {
	lane, from, half := t.get(varLane), t.GP64(), t.GP64()
	t.MOVQ(lane, from)
	t.SHRQ(operand.Imm(1), from)
	t.ADDQ(block, from)
	t.MOVQ(lanes, half)
	t.SHRQ(operand.Imm(1), half)
	numbers := t.GP64()
	t.LEAQ(emit.Indexed(block, lane, 1), numbers)
	t.ADDQ(lanes, numbers)
	if t.minima {
		t.halvesOf(ukernel.U5x16BF16, from, half, to)
		t.ADDQ(lanes, numbers)
		t.integers(from, to)
		t.ADDQ(half, from)
		totals := t.Vec()
		t.VPMOVZXWD(emit.At(from, 0), totals)
		t.VPSHUFB(t.Repeated("tileTotals", 0x01010000, 0x05050404, 0x09090808, 0x0d0d0c0c), totals, totals)
		t.VMOVDQU32(totals, emit.At(to, t.row(rowTotals)))
	} else {
		t.CMPQ(t.which(), operand.Imm(uint64(ukernel.S6x16)))
		t.JNE(operand.LabelRef("floats"))
		t.widenHeader(from, to, t.row(rowScales))
		t.ADDQ(half, from)
		t.integers(from, to)
		t.Goto("numbers")
		t.Label("floats")
		one := t.Vec()
		t.VMOVUPS(t.Constant(math.Float32bits(1)), one)
		t.VMOVUPS(one, emit.At(to, t.row(rowScales)))
		for i := range 2 {
			scales, at := t.Vec(), t.GP64()
			t.LEAQ(emit.Indexed(block, lane, 1), at)
			if i == 1 {
				t.ADDQ(lanes, at)
			}
			t.VMOVUPS(emit.At(at, 0), scales)
			t.VMOVUPS(scales, emit.At(to, t.row(rowOfHalf+i)))
		}
		t.ADDQ(lanes, numbers)
		t.Label("numbers")
	}
	t.groupedNumbers(numbers, lanes, to)
}

// halvesOf writes scales and minima, which are binary16 but in one format, and moves on to what
// follows them.
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
	t.ADDQ(half, from)
}

// integers writes the integers of both halves of the steps as float32.
func (t *tileProduct) integers(from, to reg.GPVirtual) {
	both := t.Vec()
	t.VPMOVZXWD(emit.At(from, 0), both)
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
