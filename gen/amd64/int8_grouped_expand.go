package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expand writes a block to the stack, the header first, for all lanes.
func (w *vnniGrouped) expand() {
	g, block, to, left := w.g, w.g.GP64(), w.g.GP64(), w.g.GP64()
	g.MOVQ(w.blocks, block)
	g.MOVQ(w.base, to)
	g.MOVQ(w.lanes2, left)
	same := w.formats[0].Bits() == w.format.Bits()
	w.eachFormat("block", w.formats, func(q ukernel.PackedFormat) {
		w.expandHeader(q, block, to, left)
		if !same {
			w.expandNumbers(q, block)
		}
	})
	if same {
		w.expandNumbers(w.format, block)
	}
}

// expandHeader writes the scales of left/2 lanes, and moves block on to the numbers.
func (w *vnniGrouped) expandHeader(q ukernel.PackedFormat, block, to, left reg.GPVirtual) {
	g, name, from, lanes := w.g, "header"+q.String(), w.g.GP64(), w.g.GP64()
	g.MOVQ(block, lanes)
	g.Label(name)
	g.MOVQ(lanes, from)
	g.ADDQ(operand.Imm(uint64(w.expandScales(q, from, to))), lanes)
	g.ADDQ(operand.Imm(uint64(g.VecBytes())), to)
	g.SUBQ(operand.Imm(uint64(g.VecBytes()/2)), left)
	g.JNZ(operand.LabelRef(name))
	for range q.HeaderBytes() / 2 {
		g.ADDQ(w.lanes2, block)
	}
}

// expandNumbers writes the numbers from low on as words of the groups, see package quantized for where their bits are.
// It takes two words of the panel at a time, of all lanes: so it reads the panel in the order of memory.
func (w *vnniGrouped) expandNumbers(q ukernel.PackedFormat, low reg.GPVirtual) {
	g, more := w.g, q.Bits()-4
	row, high := g.GP64(), g.GP64()
	g.LEAQ(emit.Indexed(w.lanes2, w.lanes2, 1), row)
	g.LEAQ(emit.Indexed(low, row, 4), high)
	e := groupExpander{gen: g, more: more, mask: g.filled(0x0f0f0f0f), halves: [2]reg.VecVirtual{g.filled(0x0000ffff), g.filled(0xffff0000)}}
	if more > 0 {
		e.moreMask = g.filled((1<<more - 1) << 4 * 0x01010101)
	}
	for pair := range 2 {
		name := fmt.Sprintf("numbers%v%d", q, pair)
		next, i := g.GP64(), g.GP64()
		g.LEAQ(emit.Indexed(low, row, 1), next)
		g.XORQ(i, i)
		g.Label(name)
		e.pair(emit.Indexed(low, i, 1), emit.Indexed(next, i, 1), emit.Indexed(high, i, 1), 2*pair*more%4,
			func(group, word int, v reg.VecVirtual) {
				to := emit.Indexed(w.base, i, 1)
				to.Disp = (4*(1-group) + 2*word + pair) * laneRow
				g.VMOVDQU32(v, to)
			})
		g.ADDQ(operand.Imm(uint64(g.VecBytes())), i)
		g.CMPQ(i, row)
		g.JL(operand.LabelRef(name))
		g.LEAQ(emit.Indexed(low, row, 2), low)
		if more == 2 {
			g.ADDQ(row, high)
		}
	}
}

// filled returns a vector of a constant.
func (g *gen) filled(x uint32) reg.VecVirtual {
	v := g.Vec()
	g.VMOVDQU32(g.Constant(x), v)
	return v
}

// A groupExpander makes words of groups. more bits of a number are above the other 4.
type groupExpander struct {
	*gen
	more           int
	mask, moreMask reg.VecVirtual
	halves         [2]reg.VecVirtual // by group, the mask of the half that stays in its place, see pair
}

// pair makes four words of the words first and second of a panel, two of each group, by a mask and a shift of
//
//	group 0    (second << 16)'s upper half | first's lower half
//	group 1    second's upper half         | (first >> 16)'s lower half
//
// The further bits of first begin at some bit of the bytes of high, those of second follow.
func (e *groupExpander) pair(first, second, high operand.Mem, bit int, store func(group, word int, v reg.VecVirtual)) {
	for group := range 2 {
		v, more := e.Vec(), e.Vec()
		if group == 0 {
			e.VPSLLD(operand.Imm(16), second, v)
			e.takeHalf(group, first, v)
		} else {
			e.VPSRLD(operand.Imm(16), first, v)
			e.takeHalf(group, second, v)
		}
		if e.more > 0 {
			e.further(group, high, bit, more)
		}
		for word := range 2 {
			n := e.Vec()
			if word == 0 {
				e.VPANDD(e.mask, v, n)
			} else {
				e.VPSRLD(operand.Imm(4), v, n)
				e.VPANDD(e.mask, n, n)
			}
			if e.more > 0 {
				m := more
				if word == 0 {
					m = e.Vec()
					e.VPSLLD(operand.Imm(4), more, m)
				}
				const aOrBAndC = 0xf8
				e.VPTERNLOGD(operand.U8(aOrBAndC), e.moreMask, m, n)
			}
			store(group, word, n)
		}
		e.PREFETCHT0([]operand.Mem{first, second}[group].Offset(int8Ahead))
	}
	if e.more > 0 {
		e.PREFETCHT0(high.Offset(int8Ahead))
	}
}

// takeHalf sets a half of words to that of x.
func (e *groupExpander) takeHalf(half int, x operand.Op, to reg.VecVirtual) {
	const cWhereB = 0xb8
	e.VPTERNLOGD(operand.U8(cWhereB), x, e.halves[half], to)
}

// further brings the further bits of a group to bits 0 and 4 of the bytes of v; other bits of v are of no use.
func (e *groupExpander) further(group int, high operand.Mem, bit int, v reg.VecVirtual) {
	var x operand.Op = high
	shift := bit
	if group == 0 {
		e.VPSLLD(operand.Imm(uint64(16-bit-e.more)), high, v)
	} else {
		shift += e.more
		e.VPSRLD(operand.Imm(uint64(16+bit)), high, v)
	}
	if shift > 0 {
		y := e.Vec()
		e.VPSRLD(operand.Imm(uint64(shift)), high, y)
		x = y
	}
	e.takeHalf(group, x, v)
}
