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

// A vnniValueCodes takes 16 columns and up to eight queries at a time: eight with one pair of rows,
// or four with two pairs, so that eight sums hide the latency of products. Sums of queries that
// there are not are left out at the end.
//
// Of int4 it takes 32 columns, and has two sums of a query: of even columns, and of odd ones. They
// lie so that interleaving within quarters of a vector puts them in order.
type vnniValueCodes struct {
	*valueCodes
	order, minusZero reg.VecVirtual
	load             reg.Register
}

const vnniSums = 8

func (g *gen) vnniValueCodes(kernel spec.Function) {
	columns := codeColumns
	if kernel.Name == spec.PVCodes4.Name {
		columns *= 2
	}
	g.Kernel(kernel)
	g.CMPQ(g.Argument("n"), operand.Imm(fewQueries))
	g.JLE(operand.LabelRef("few"))
	f := &vnniValueCodes{g.newValueCodes(kernel, columns), g.Vec(), g.Vec(), g.K()}
	if f.int4 {
		g.VMOVUPS(g.rowOrder("rowOrder4", func(lane uint32) uint32 { return lane/4*2 + lane%2 + lane%4/2*8 }), f.order)
	} else {
		g.VMOVUPS(g.rowOrder("rowOrder", func(lane uint32) uint32 { return lane }), f.order)
	}
	g.VMOVUPS(g.Constant(spec.SignBit), f.minusZero)
	load := g.GP32()
	g.MOVBLZX(g.Argument("load"), load)
	g.NEGL(load)
	g.KMOVW(load, f.load)
	g.Label("queries")
	g.CMPQ(f.left, operand.Imm(vnniSums/2))
	g.JG(operand.LabelRef("queries8"))
	f.group(vnniSums / 2)
	f.group(vnniSums)
	g.Label("done")
	g.Return()
	g.toAVX2(kernel)
}

// rowOrder returns the order of words of two rows for VPERMW, by the column of a lane.
func (g *gen) rowOrder(name string, column func(lane uint32) uint32) operand.Mem {
	var order []uint32
	for lane := range uint32(codeColumns) {
		order = append(order, column(lane)|(codeColumns+column(lane))<<16)
	}
	return g.Repeated(name, order...)
}

// group emits all columns of a number of queries.
func (f *vnniValueCodes) group(queries int) {
	g, name := f.g, fmt.Sprintf("queries%d", queries)
	g.Commentf("Up to %d queries.", queries)
	g.Label(name)
	f.startColumns(name)
	places := 1
	if f.int4 {
		places = 2
	}
	all := g.Vecs(max(vnniSums, places*queries))
	for _, v := range all {
		g.Zero(g.Context, v)
	}
	acc := slices.Collect(slices.Chunk(all, places*queries)) // for a pair of rows each
	f.start()
	count := f.pairCount(name)
	if len(acc) > 1 {
		g.INCQ(count)
		g.SHRQ(operand.Imm(1), count)
		g.JCC(operand.LabelRef(name + "middle"))
	}
	g.AlignLoop()
	g.Label(name + "pair")
	for i, sums := range acc {
		if i > 0 {
			g.Label(name + "middle")
		}
		f.step(sums, 1)
		f.prefetch(fmt.Sprint(name, i))
	}
	g.DECQ(count)
	g.JNZ(operand.LabelRef(name + "pair"))
	f.lastRow(name, count, func() { f.step(acc[0], 0) })
	for i, x := range acc[len(acc)-1] {
		if len(acc) > 1 {
			g.VPADDD(x, acc[0][i], acc[0][i])
		}
	}
	f.store(acc[0], queries, name)
	f.nextColumns(name)
	if queries < vnniSums { // these were the last ones
		g.JMP(operand.LabelRef("done"))
		return
	}
	f.nextQueries(vnniSums)
	g.JG(operand.LabelRef("queries"))
}

// step emits the products of two rows and goes on to the next ones. Of int4 the second half of acc
// has the sums of odd columns.
func (f *vnniValueCodes) step(acc []reg.VecVirtual, second int) {
	g, v, row := f.g, f.g.Vec(), f.two(second)
	emit.LoadFirst(g.Context, row[0], v, v.AsX())
	g.VINSERTI32X4(operand.Imm(1), row[1], v.AsY(), v.AsY())
	g.VPMOVSXBW(v.AsY(), v)
	g.VPERMW(v, f.order, v)
	if f.int4 {
		even, n := g.Vec(), len(acc)/2
		g.evenOfOdd(v, even)
		for i := range n {
			p := g.Vec()
			g.VPBROADCASTD(emit.At(f.pair, 4*i), p)
			g.VPDPWSSD(p, even, acc[i])
			g.VPDPWSSD(p, v, acc[n+i])
		}
	} else {
		for i, sum := range acc {
			g.VPDPWSSD_BCST(emit.At(f.pair, 4*i), v, sum)
		}
	}
	f.nextPair()
}

// store is valueCodes's: without load sums are added to -0, which changes none of them.
func (f *vnniValueCodes) store(acc []reg.VecVirtual, queries int, name string) {
	g, to, unit := f.g, f.g.GP64(), f.g.GP64()
	y := g.Vec() // one, as avo lets a blend read what it writes: it lives from the start on
	f.output(to)
	g.MOVQ(f.unit, unit)
	for i, x := range acc[:queries] {
		columns := []reg.VecVirtual{x}
		if f.int4 {
			columns = []reg.VecVirtual{g.Vec(), x}
			g.VPUNPCKLDQ(acc[queries+i], x, columns[0])
			g.VPUNPCKHDQ(acc[queries+i], x, x)
		}
		for half, x := range columns {
			m := emit.At(to, half*g.VecBytes())
			g.VCVTDQ2PS(x, x)
			g.VBLENDMPS(m, f.minusZero, f.load, y)
			g.VFMADD231PS_BCST(emit.At(unit, 4*i), x, y)
			g.VMOVUPS(y, m)
		}
		if i+1 == queries {
			break
		}
		g.ADDQ(f.ldo, to)
		g.CMPQ(f.left, operand.Imm(uint64(i+1)))
		g.JE(operand.LabelRef(name + "stored"))
	}
	g.Label(name + "stored")
}
