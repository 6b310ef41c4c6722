package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A vnniGrouped multiplies grouped formats by VPDPBUSD, which adds up the products of all four
// bytes of a word. Bytes 0 and 1 of a word of a panel belong to the first group of 16 steps, bytes
// 2 and 3 to the second. So two words that follow each other become two others: their lower halves,
// which are of the first group, and their upper halves. That is done for the codes of a row once
// for all lanes, on the stack, and for weights in registers. It takes 20 instructions for a vector
// of 4 bits, which 8 rows share.
//
// All sums are exact, as codes are at most 127 and the integers of groups at least -128:
//
//	of a group, 4 bits                    16·15·127          30480
//	            5 bits                    16·31·127          62992
//	            6 bits, with the offset   16·32·127          65024
//	            8 bits, with the offset   16·128·127        260096
//	of a block, but of 8 bits             2·65024·128   16,646,144
//
// With 4 bits the sum of a group fits into the lower half of its lane, and VPMADDWD and VPDPWSSD
// multiply it by the integer of the group, whose upper half is 0. With more it is converted to
// float32, in which all whole numbers up to 2^24, 16,777,216, are exact: so is the sum of both
// products then, and it is the sum of integers, converted. The first product is added to +0: the
// product of 0 and a negative integer would be -0, and the sum -0 as well. Scales of float32 take
// the place of the integers of the groups.
type vnniGrouped struct {
	half, mask, moreMask reg.VecVirtual // of the lower half of a word, and of bytes
}

// The frame has the codes of each row, group by group, and with an offset what the accumulators of
// the groups begin with.
const (
	groupedRows  = 8
	groupedBegin = spec.BlockSteps * groupedRows
)

// tiles has 3 rows, as 2 and 1 take a tenth more time than 4. Tiles of 8 rows are for calls that
// vnniMany does not take, of 2-bit weights above all. vnniHalves has whole panels with fewer rows.
func (*vnniGrouped) tiles(q ukernel.PackedFormat) [][]spec.TileShape {
	list := []spec.TileShape{{Vectors: 1, Rows: 4}, {Vectors: 1, Rows: 3}, {Vectors: 1, Rows: 2}, {Vectors: 1, Rows: 1}}
	if q.Bits() == 4 {
		list = append([]spec.TileShape{{Vectors: 1, Rows: groupedRows}}, list...)
	}
	return [][]spec.TileShape{list}
}

func (*vnniGrouped) frameBytes(ukernel.PackedFormat) int {
	return max(groupedBegin+8*groupedRows, manyFrame)
}

// wide is set if the sums of groups do not fit into 16 bits.
func (*vnniGrouped) wide(t *int8Gemmer) bool { return t.format.Bits() > 4 }

func (d *vnniGrouped) prepare(t *int8Gemmer) {
	g, order := t.g, t.g.YMM()
	rows := g.rowsFrom(t.x, t.ldx, t.rows)
	g.VMOVDQU(groupHalves(g), order)
	t.eachRow(func(i int) {
		codes := g.YMM()
		g.VPERMW(rows.at(i, 0), order, codes)
		g.VMOVDQU(codes, t.frame.Offset(spec.BlockSteps*i))
		if offset := t.format.Offset(); offset != 0 {
			begin := g.XMM()
			g.VPBROADCASTD(rows.at(i, spec.RowGroups), begin)
			g.VPMOVSXWD(begin, begin)
			g.VPMADDWD(g.Constant(uint32(offset)), begin, begin)
			g.VMOVQ(begin, t.frame.Offset(groupedBegin+8*i))
		}
	})
	d.half, d.mask = g.filled(0x0000ffff), g.filled(0x0f0f0f0f)
	if more := t.format.Bits() - 4; more > 0 && more < 4 {
		d.moreMask = g.filled((1<<more - 1) * 0x11111111)
	}
}

// groupHalves is the order of the halves of words by groups, the second one first.
func groupHalves(g *gen) operand.Mem {
	return g.Repeated("groupHalves", 3<<16|1, 7<<16|5, 11<<16|9, 15<<16|13, 2<<16, 6<<16|4, 10<<16|8, 14<<16|12)
}

// filled returns a vector of a constant.
func (g *gen) filled(x uint32) reg.VecVirtual {
	v := g.Vec()
	g.VMOVDQU32(g.Constant(x), v)
	return v
}

// sums makes the sums of the second group before the first group's: float32 with more than 4 bits.
func (d *vnniGrouped) sums(t *int8Gemmer, name string) {
	g, sums := t.g, t.g.Vecs(t.rows)
	scales := d.scales(t, name+"integers")
	for group := 1; group >= 0; group-- {
		for _, row := range t.acc {
			row[0] = g.Vec()
		}
		if t.format.Offset() == 0 {
			t.eachAcc(func(_, _ int, acc reg.VecVirtual) { g.Zero(g.Context, acc) })
		} else {
			t.clearOthers(t.acc)
			t.eachOf(t.acc, func(i, _ int, acc reg.VecVirtual) { g.VPBROADCASTD(t.frame.Offset(groupedBegin+8*i+4*group), acc) })
		}
		d.group(t, group, fmt.Sprint(name, "group", group))
		for _, sum := range sums {
			if group == 1 {
				g.Zero(g.Context, sum)
			}
		}
		t.eachRow(func(i int) {
			switch acc := t.acc[i][0]; {
			case d.wide(t):
				g.VCVTDQ2PS(acc, acc)
				g.VFMADD231PS(scales[group], acc, sums[i])
			case group == 1:
				g.VPMADDWD(scales[group], acc, sums[i])
			default:
				g.VPDPWSSD(scales[group], acc, sums[i])
			}
		})
	}
	for i, s := range sums {
		t.acc[i][0] = s
	}
	t.floats, t.scaled = d.wide(t), t.format.Float32Scales()
	t.prefetchRest(0)
}

// group emits the products of a group, of two words of the panel in an iteration. It makes two
// words of the group of them, by a mask and a shift of
//
//	group 0    (second << 16)'s upper half | first's lower half
//	group 1    second's upper half         | (first >> 16)'s lower half
//
// The further bits of a number follow in the same way from the word that has them.
func (d *vnniGrouped) group(t *int8Gemmer, group int, name string) {
	g, first, codes, left := t.g, t.g.GP64(), t.g.GP64(), t.g.GP64()
	bits := t.format.Bits() - 4
	high, far := g.Vec(), g.GP64()
	if bits > 0 {
		g.LEAQ(emit.Indexed(t.numbers, t.lanes2, 8), far)
	}
	if bits > 0 && bits < 4 {
		g.VMOVDQU32(emit.At(far, 0), high)
	}
	g.MOVQ(t.numbers, first)
	g.LEAQ(t.frame.Offset(16*(1-group)), codes)
	g.MOVQ(operand.U32(2), left)
	g.AlignLoop()
	g.Label(name)
	v, more := d.words(t, group, first), g.Vec()
	if bits == 4 {
		more = d.words(t, group, far)
	} else if bits > 0 {
		d.further(g, group, high, bits, more)
	}
	for half := range 2 {
		n := g.Vec()
		if half == 1 {
			g.VPSRLD(operand.Imm(4), v, v)
		}
		switch {
		case bits == 0:
			g.VPANDD(d.mask, v, n)
		case half == 0:
			g.VPSLLD(operand.Imm(4), more, n)
			d.merge(g, d.mask, v, n)
		default:
			n = more
			d.merge(g, d.mask, v, n)
		}
		t.eachRow(func(i int) { g.VPDPBUSD_BCST(emit.At(codes, spec.BlockSteps*i+8*half), n, t.acc[i][0]) })
	}
	g.LEAQ(emit.Indexed(first, t.lanes2, 4), first)
	g.ADDQ(operand.Imm(4), codes)
	switch bits {
	case 1:
		g.VPSRLD(operand.Imm(2), high, high)
	case 2:
		g.VMOVDQU32(emit.Indexed(far, t.lanes2, 2), high)
	case 4:
		g.LEAQ(emit.Indexed(far, t.lanes2, 4), far)
	}
	g.DECQ(left)
	g.JNZ(operand.LabelRef(name))
}

// words makes two words of a group of the two at p.
func (d *vnniGrouped) words(t *int8Gemmer, group int, p reg.GPVirtual) reg.VecVirtual {
	g, v, second := t.g, t.g.Vec(), emit.Indexed(p, t.lanes2, 2)
	if group == 0 {
		g.VPSLLD(operand.Imm(16), second, v)
		d.merge(g, d.half, emit.At(p, 0), v)
		return v
	}
	g.VPSRLD(operand.Imm(16), emit.At(p, 0), v)
	w := g.Vec()
	g.VMOVDQU32(second, w)
	d.merge(g, d.half, v, w)
	return w
}

// merge sets the bits of a mask to x's.
func (d *vnniGrouped) merge(g *gen, mask reg.VecVirtual, x operand.Op, to reg.VecVirtual) {
	const cWhereB = 0xb8
	g.VPTERNLOGD(operand.U8(cWhereB), x, mask, to)
}

// further brings the further bits of a group to bits 0 and 4 of the bytes of v. The second word's
// follow the first word's.
func (d *vnniGrouped) further(g *gen, group int, high reg.VecVirtual, bits int, v reg.VecVirtual) {
	if group == 0 {
		g.VPSLLD(operand.Imm(uint64(16-bits)), high, v)
		d.merge(g, d.half, high, v)
	} else {
		y := g.Vec()
		g.VPSRLD(operand.Imm(16), high, y)
		g.VPSRLD(operand.Imm(uint64(bits)), high, v)
		d.merge(g, d.half, y, v)
	}
	g.VPANDD(d.moreMask, v, v)
}
