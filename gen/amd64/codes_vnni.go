package amd64

import (
	"fmt"

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
type vnniValueCodes struct {
	*valueCodes
	order, minusZero reg.VecVirtual
	load             reg.Register
}

const vnniSums = 8

func (g *gen) vnniValueCodes() {
	g.Kernel(spec.PVCodes)
	g.CMPQ(g.Argument("n"), operand.Imm(fewQueries))
	g.JLE(operand.LabelRef("few"))
	f := &vnniValueCodes{g.newValueCodes(), g.Vec(), g.Vec(), g.K()}
	var order []uint32
	for column := range uint32(codeColumns) {
		order = append(order, column|(codeColumns+column)<<16)
	}
	g.VMOVUPS(g.Repeated("rowOrder", order...), f.order)
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
	g.toAVX2(spec.PVCodes)
}

// group emits all columns of a number of queries.
func (f *vnniValueCodes) group(queries int) {
	g, name := f.g, fmt.Sprintf("queries%d", queries)
	g.Commentf("Up to %d queries.", queries)
	g.Label(name)
	f.startColumns(name)
	acc := g.Vecs(vnniSums)
	for _, v := range acc {
		g.Zero(g.Context, v)
	}
	f.start(name)
	count := f.pairCount(name)
	if queries < vnniSums {
		g.INCQ(count)
		g.SHRQ(operand.Imm(1), count)
		g.JCC(operand.LabelRef(name + "middle"))
	}
	g.AlignLoop()
	g.Label(name + "pair")
	f.step(acc[:queries])
	if queries < vnniSums {
		g.Label(name + "middle")
		f.step(acc[queries:])
	}
	g.DECQ(count)
	g.JNZ(operand.LabelRef(name + "pair"))
	f.lastRow(name, count, func() { f.step(acc[:queries]) })
	for i := queries; i < vnniSums; i++ {
		g.VPADDD(acc[i], acc[i-queries], acc[i-queries])
	}
	f.store(acc[:queries], name)
	f.nextColumns(name)
	if queries < vnniSums { // these were the last ones
		g.JMP(operand.LabelRef("done"))
		return
	}
	f.nextQueries(vnniSums)
	g.JG(operand.LabelRef("queries"))
}

// step emits the products of two rows and goes on to the next ones.
func (f *vnniValueCodes) step(acc []reg.VecVirtual) {
	g, v := f.g, f.g.Vec()
	emit.LoadFirst(g.Context, emit.At(f.row, 0), v, v.AsX())
	g.VINSERTI32X4(operand.Imm(1), emit.Indexed(f.row, f.second, 1), v.AsY(), v.AsY())
	g.VPMOVSXBW(v.AsY(), v)
	g.VPERMW(v, f.order, v)
	for i, sum := range acc {
		g.VPDPWSSD_BCST(emit.At(f.pair, 4*i), v, sum)
	}
	f.nextPair()
	f.prefetch()
}

// store is valueCodes's: without load sums are added to -0, which changes none of them.
func (f *vnniValueCodes) store(acc []reg.VecVirtual, name string) {
	g, to, unit := f.g, f.g.GP64(), f.g.GP64()
	g.LEAQ(emit.Indexed(f.o, f.column, 4), to)
	g.MOVQ(f.unit, unit)
	for i, x := range acc {
		y := g.Vec()
		g.VCVTDQ2PS(x, x)
		g.VBLENDMPS(emit.At(to, 0), f.minusZero, f.load, y)
		g.VFMADD231PS_BCST(emit.At(unit, 4*i), x, y)
		g.VMOVUPS(y, emit.At(to, 0))
		if i+1 == len(acc) {
			break
		}
		g.ADDQ(f.ldo, to)
		g.CMPQ(f.left, operand.Imm(uint64(i+1)))
		g.JE(operand.LabelRef(name + "stored"))
	}
	g.Label(name + "stored")
}
