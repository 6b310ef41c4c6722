package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of quantized attention for few rows, with VPDPWSSD: it multiplies words of 16 bits
// and adds pairs of products to 32 bits, without saturation. Calls of up to two queries are left to
// the kernels of AVX2, which read from memory as fast.

// toAVX2 ends a kernel with a jump to AVX2's, at the label few.
func (g *gen) toAVX2(f spec.Function) {
	g.Label("few")
	g.TailJumpTo(f, emit.AVX2{})
}

// A vnniKeyCodes takes four keys and up to eight queries at a time. A vector has the same 16
// columns of a key twice, or of two queries.
type vnniKeyCodes struct {
	*keyCodes
	order reg.VecVirtual
	keys  []reg.Register // the lanes of keys 1 to 3 in the sums
}

// vnniKeys are the keys of a tile.
const vnniKeys = 4

func (g *gen) vnniKeyCodes() {
	g.Kernel(spec.QKCodes)
	g.CMPQ(g.Argument("n"), operand.Imm(fewQueries))
	g.JLE(operand.LabelRef("few"))
	g.CMPQ(g.Argument("m"), operand.Imm(vnniKeys))
	g.JL(operand.LabelRef("few"))
	f := &vnniKeyCodes{keyCodes: g.newKeyCodes(), order: g.Vec()}
	g.VMOVUPS(g.Repeated("keyOrder", 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15), f.order)
	for i := 1; i < vnniKeys; i++ {
		bits, k := g.GP32(), g.K()
		g.MOVL(operand.U32(0xf<<(4*i)), bits)
		g.KMOVW(bits, k)
		f.keys = append(f.keys, k)
	}
	g.Label("keys")
	for i := range vnniKeys / 2 {
		f.prefetch(fmt.Sprintf("keys%d", i))
	}
	f.queries()
	g.Comment("The last step is shorter: a tile has four keys, so the last one repeats some of those before.")
	step := g.GP64()
	g.MOVQ(f.left, step)
	g.SUBQ(operand.Imm(vnniKeys), step)
	g.JZ(operand.LabelRef("done"))
	most := g.GP64()
	g.MOVQ(operand.U32(vnniKeys), most)
	g.CMPQ(step, most)
	g.CMOVQGT(most, step)
	g.SUBQ(step, f.left)
	for _, x := range [][2]reg.GPVirtual{{f.k, f.ldk}, {f.s, f.w}, {f.scale, f.lsc}} {
		bytes := g.GP64()
		g.MOVQ(step, bytes)
		g.IMULQ(x[1], bytes)
		g.ADDQ(bytes, x[0])
	}
	g.JMP(operand.LabelRef("keys"))
	g.Label("done")
	g.Return()
	g.toAVX2(spec.QKCodes)
}

// queries emits the scores of four keys and all queries: eight of them at a time, then up to four.
func (f *vnniKeyCodes) queries() {
	g, left := f.g, f.g.GP64()
	g.MOVQ(g.Memory(g.Param("q").Base()), f.q)
	g.XORQ(f.lane, f.lane)
	g.Label("queries")
	g.MOVQ(g.Argument("n"), left)
	g.SUBQ(f.lane, left)
	g.CMPQ(left, operand.Imm(codeLanes))
	g.JLE(operand.LabelRef("four"))
	f.tile("eight", 2)
	g.CMPQ(f.lane, g.Argument("n"))
	g.JL(operand.LabelRef("queries"))
	g.JMP(operand.LabelRef("stored"))
	f.tile("four", 1)
	g.Label("stored")
}

// tile emits the scores of four keys and some groups of queries.
func (f *vnniKeyCodes) tile(name string, groups int) {
	g := f.g
	acc := make([][]reg.VecVirtual, groups)
	for i := range acc {
		acc[i] = g.Vecs(2 * vnniKeys)
	}
	g.Label(name)
	for _, group := range acc {
		for _, v := range group {
			g.Zero(g.Context, v)
		}
	}
	row, ldk3, left := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(f.k, row)
	g.LEAQ(emit.Indexed(f.ldk, f.ldk, 2), ldk3)
	g.MOVQ(f.d, left)
	g.AlignLoop()
	g.Label(name + "columns")
	q := g.Vecs(2 * groups)
	for i, v := range q {
		from := emit.At(f.q, i%2*g.VecBytes())
		if i >= 2 {
			from = emit.Indexed(f.q, f.d, 8).Offset(i % 2 * g.VecBytes())
		}
		g.VMOVUPS(from, v)
	}
	for key, from := range []operand.Mem{emit.At(row, 0), emit.Indexed(row, f.ldk, 1), emit.Indexed(row, f.ldk, 2), emit.Indexed(row, ldk3, 1)} {
		k := g.Vec()
		g.VBROADCASTI32X4(from, k.AsY())
		g.VPMOVSXBW(k.AsY(), k)
		for i, v := range q {
			g.VPDPWSSD(v, k, acc[i/2][2*key+i%2])
		}
	}
	g.Advance(2*g.VecBytes(), f.q)
	g.Advance(codeColumns, row)
	g.SUBQ(operand.Imm(codeColumns), left)
	g.JNZ(operand.LabelRef(name + "columns"))
	for i, group := range acc {
		if i > 0 {
			g.LEAQ(emit.Indexed(f.q, f.d, 8), f.q)
		}
		f.store(f.sums(group))
		g.ADDQ(operand.Imm(codeLanes), f.lane)
	}
}

// sums adds up the lanes of accumulators: a quarter of the result for each key.
func (f *vnniKeyCodes) sums(acc []reg.VecVirtual) reg.VecVirtual {
	g := f.g
	x, y := f.addLanes(acc[:4]), f.addLanes(acc[4:])
	even := g.Vec()
	g.VSHUFI32X4(operand.U8(0x88), y, x, even)
	g.VSHUFI32X4(operand.U8(0xdd), y, x, x)
	g.VPADDD(even, x, x)
	g.VPERMD(x, f.order, x)
	g.VCVTDQ2PS(x, x)
	return x
}

// store is keyCodes's for four keys.
func (f *vnniKeyCodes) store(x reg.VecVirtual) {
	g := f.g
	p, top, to, scale, factor, max := g.Slice("unit"), g.Slice("max"), g.GP64(), g.GP64(), g.Vec(), g.XMM()
	g.VBROADCASTF32X4(emit.Indexed(p, f.lane, 4), factor)
	g.VMULPS(factor, x, x)
	g.MOVQ(f.scale, scale)
	g.VBROADCASTSS(emit.At(scale, 0), factor)
	for _, k := range f.keys {
		g.ADDQ(f.lsc, scale)
		g.VBROADCASTSS(emit.At(scale, 0), k, factor)
	}
	g.VMULPS(factor, x, x)
	g.VMOVUPS(emit.Indexed(top, f.lane, 4), max)
	g.LEAQ(emit.Indexed(f.s, f.lane, 4), to)
	for i := range vnniKeys {
		scores := g.Quarter(g.Context, x, i)
		g.VMOVUPS(scores, emit.At(to, 0))
		g.VMAXPS(max, scores, max)
		if i+1 < vnniKeys {
			g.ADDQ(f.w, to)
		}
	}
	g.VMOVUPS(max, emit.Indexed(top, f.lane, 4))
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
	g.XORQ(f.column, f.column)
	f.startPrefetch(name)
	g.Label(name + "columns")
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
	g.ADDQ(operand.Imm(codeColumns), f.column)
	g.CMPQ(f.column, g.Argument("dv"))
	g.JL(operand.LabelRef(name + "columns"))
	f.nextQueries(uint64(queries))
	g.JG(operand.LabelRef("queries"))
	g.JMP(operand.LabelRef("done"))
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
