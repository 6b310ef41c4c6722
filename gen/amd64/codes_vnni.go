package amd64

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fewQueries is the most queries of PVCodes that are left to AVX2, which reads as fast from memory.
const fewQueries = 2

// toAVX2 ends a kernel with a jump to AVX2's, at the label few.
func (g *gen) toAVX2(f spec.Function) {
	g.Label("few")
	g.TailJumpTo(f, emit.AVX2{})
}

// A vnniValueCodes takes 32 columns and up to eight queries at a time, or up to four. A query has
// two sums: of columns 0-3, 8-11, 16-19, 24-27 and of the others, or of int4 of even and odd
// columns, so that interleaving within quarters of a vector puts them in order. So the numbers of a
// query are loaded once for 32 columns: loads limit the time. Sums of queries that there are not
// are left out at the end, and masks leave out 16 columns where a group has no more.
type vnniValueCodes struct {
	*valueCodes
	order, minusZero reg.VecVirtual

	there              reg.OpmaskVirtual // words of a row
	second             reg.OpmaskVirtual // columns 16-31
	load, secondLoaded reg.OpmaskVirtual // columns of the output that are added
}

const vnniQueries, vnniColumns = 8, 2 * codeColumns

func (g *gen) vnniValueCodes(kernel spec.Function) {
	g.Kernel(kernel)
	g.CMPQ(g.Argument("n"), operand.Imm(fewQueries))
	g.JLE(operand.LabelRef("few"))
	f := &vnniValueCodes{valueCodes: g.newValueCodes(kernel, vnniColumns), minusZero: g.Vec(), there: g.K(), second: g.K(), load: g.K(), secondLoaded: g.K()}
	if f.int4 {
		f.order = g.Vec()
		g.VMOVUPS(g.rowOrder4(), f.order)
	}
	g.VMOVUPS(g.Constant(spec.SignBit), f.minusZero)
	load := g.GP32()
	g.MOVBLZX(g.Argument("load"), load)
	g.NEGL(load)
	g.KMOVW(load, f.load)
	g.Label("queries")
	g.CMPQ(f.left, operand.Imm(vnniQueries/2))
	g.JG(operand.LabelRef("queries8"))
	f.group(vnniQueries / 2)
	f.group(vnniQueries)
	g.Label("done")
	g.Return()
	g.toAVX2(kernel)
}

// findMasks sets the masks of the current columns.
func (f *vnniValueCodes) findMasks(name string) {
	g, bits := f.g, f.g.GP32()
	g.MOVL(operand.U32(0xffff), bits)
	g.KMOVW(bits, f.there)
	g.KMOVW(bits, f.second)
	if !f.int4 { // int4 has groups of 32 columns or more
		g.CMPQ(f.columns, operand.Imm(uint64(f.bytes)))
		g.JGE(operand.LabelRef(name + "masked"))
		g.MOVL(operand.U32(0xf), bits)
		g.KMOVW(bits, f.there)
		g.KXORW(f.second, f.second, f.second)
		g.Label(name + "masked")
	}
	g.KANDW(f.load, f.second, f.secondLoaded)
}

// rowOrder4 returns the order of words of two rows for VPERMW.
func (g *gen) rowOrder4() operand.Mem {
	var order []uint32
	for lane := range uint32(codeColumns) {
		column := lane/4*2 + lane%2 + lane%4/2*8
		order = append(order, column|(codeColumns+column)<<16)
	}
	return g.Repeated("rowOrder4", order...)
}

// group emits all columns of a number of queries.
func (f *vnniValueCodes) group(queries int) {
	g, name := f.g, fmt.Sprintf("queries%d", queries)
	g.Commentf("Up to %d queries.", queries)
	g.Label(name)
	f.startColumns(name)
	f.findMasks(name)
	acc := [2][]reg.VecVirtual{g.Vecs(queries), g.Vecs(queries)}
	for _, v := range slices.Concat(acc[0], acc[1]) {
		g.Zero(g.Context, v)
	}
	f.start()
	count := f.pairCount(name)
	f.ahead.Step(2 * f.bytes)
	g.AlignLoop()
	g.Label(name + "pair")
	f.step(acc, 1)
	f.prefetch(name)
	g.DECQ(count)
	g.JNZ(operand.LabelRef(name + "pair"))
	f.lastRow(name, count, func() { f.step(acc, 0) })
	f.store(acc, name)
	f.nextColumns(name)
	if queries < vnniQueries { // these were the last ones
		g.JMP(operand.LabelRef("done"))
		return
	}
	f.nextQueries(vnniQueries)
	g.JG(operand.LabelRef("queries"))
}

// step emits the products of two rows and goes on to the next ones.
func (f *vnniValueCodes) step(acc [2][]reg.VecVirtual, second int) {
	g, row, v := f.g, f.two(second), f.g.Vecs(2)
	if f.int4 {
		emit.LoadFirst(g.Context, row[0], v[1], v[1].AsX())
		g.VINSERTI32X4(operand.Imm(1), row[1], v[1].AsY(), v[1].AsY())
		g.VPMOVSXBW(v[1].AsY(), v[1])
		g.VPERMW(v[1], f.order, v[1])
		g.evenOfOdd(v[1], v[0])
	} else {
		rows := g.Vecs(2)
		for i, x := range rows {
			g.VMOVUPS_Z(row[i], f.there, x.AsY())
			g.VPMOVSXBW(x.AsY(), x)
		}
		g.VPUNPCKLWD(rows[1], rows[0], v[0])
		g.VPUNPCKHWD(rows[1], rows[0], v[1])
	}
	for i := range acc[0] {
		p := g.Vec()
		g.VPBROADCASTD(emit.At(f.pair, 4*i), p)
		for half, x := range v {
			g.VPDPWSSD(p, x, acc[half][i])
		}
	}
	f.nextPair()
}

// store is valueCodes's: without load sums are added to -0, which changes none of them.
func (f *vnniValueCodes) store(acc [2][]reg.VecVirtual, name string) {
	g, to, unit := f.g, f.g.GP64(), f.g.GP64()
	y := g.Vec() // one, as avo lets a blend read what it writes: it lives from the start on
	f.output(to)
	g.MOVQ(f.unit, unit)
	for i, x := range acc[0] {
		columns, other := [2]reg.VecVirtual{g.Vec(), x}, acc[1][i]
		if f.int4 {
			g.VPUNPCKLDQ(other, x, columns[0])
			g.VPUNPCKHDQ(other, x, x)
		} else {
			const first, last, interleaved = 0x44, 0xee, 0xd8
			g.VSHUFI32X4(operand.U8(first), other, x, columns[0])
			g.VSHUFI32X4(operand.U8(last), other, x, x)
			for _, x := range columns {
				g.VSHUFI32X4(operand.U8(interleaved), x, x, x)
			}
		}
		for half, x := range columns {
			m := emit.At(to, half*g.VecBytes())
			g.VCVTDQ2PS(x, x)
			if half > 0 { // a blend may read all of m
				g.VMOVAPS(f.minusZero, y)
				g.VMOVUPS(m, f.secondLoaded, y)
			} else {
				g.VBLENDMPS(m, f.minusZero, f.load, y)
			}
			g.VFMADD231PS_BCST(emit.At(unit, 4*i), x, y)
			if half > 0 {
				g.VMOVUPS(y, f.second, m)
			} else {
				g.VMOVUPS(y, m)
			}
		}
		if i+1 == len(acc[0]) {
			break
		}
		g.ADDQ(f.ldo, to)
		g.CMPQ(f.left, operand.Imm(uint64(i+1)))
		g.JE(operand.LabelRef(name + "stored"))
	}
	g.Label(name + "stored")
}
