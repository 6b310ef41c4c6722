package skinny

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// PVEvenOdd is SkinnyPV for products in bfloat16: a pass takes a segment of rows of V, one column
// of vectors after the other. An even row belongs to one chain and an odd one to another, both
// begin with +0 in each pass, and their sum is added to o. The halves of a vector's words are even
// and odd columns. A pass ends by putting them in order. The last vector of a row may have half of
// its columns: a mask leaves out the others.
func (g *gen) PVEvenOdd() {
	g.Kernel(spec.PVEvenOdd)
	v, off := g.Param("v"), g.Param("off")
	f := &evenOddPV{g: g, load: g.Argument("load"), off: g.Memory(off.Base()), left: g.Memory(off.Len()), keys: g.Memory(v.Len()),
		columns: g.Memory(v.Cap()), lane: g.Memory(g.Param("o").Len()), ldo: g.Argument("ldo")}
	f.prefetch = g.NewRowPrefetch(g.Memory(v.Base()), "dv", spec.BF16, prefetchedLines*spec.LineBytes, 1)
	g.SHLQ(operand.Imm(2), f.ldo)
	f.p, f.ldp = g.Slice("p"), g.Stride("ldp")
	f.vj, f.from, f.pj, f.steps, f.column = g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	f.factors = g.newFactors()
	if f.most = 2; g.EVEX() {
		f.most, f.there, f.second = 4, g.K(), g.K()
	}
	for range f.most {
		f.acc = append(f.acc, [2][]reg.VecVirtual{g.Vecs(2), g.Vecs(2)})
	}
	f.passes()
}

type evenOddPV struct {
	g        *gen
	prefetch *emit.Prefetch
	factors  *factors

	p, ldp             reg.GPVirtual // weights of the pass, and the bytes between rows of them
	vj, from           reg.GPVirtual // the row's offset lies here; its base, v at the current columns
	pj, steps, column  reg.GPVirtual // of the step; column counts numbers
	load, left, keys   operand.Mem   // whether to start from o; keys from the pass on, and in it
	off                operand.Mem   // offsets of the pass
	columns, lane, ldo operand.Mem   // columns left; first query of the group; bytes from row to row of o

	// The words of the current vector that the row has, and the lanes of its second vector of sums.
	// Vectors of AVX2 need no masks.
	there, second reg.OpmaskVirtual

	most int                   // queries of a group
	acc  [][2][]reg.VecVirtual // even and odd chains of a query, each of even and odd columns
}

// width is the number of columns of a vector of V.
func (f *evenOddPV) width() int { return 2 * f.g.Lanes() }

// rowsAtOnce is the number of rows whose vectors are as long as what is prefetched at once.
func (f *evenOddPV) rowsAtOnce() int { return prefetchedLines * spec.LineBytes / (2 * f.width()) }

// passes emits the loop over segments, and in it those over lines and groups of queries.
func (f *evenOddPV) passes() {
	g := f.g
	g.Label("turn")
	keys := g.GP64()
	g.MOVQ(f.left, keys)
	g.CMPQ(keys, operand.Imm(spec.BF16Segment))
	g.JLE(operand.LabelRef("short"))
	g.MOVQ(operand.I32(spec.BF16Segment), keys)
	g.Label("short")
	g.MOVQ(keys, f.keys)
	f.prefetch.Start()
	g.Move(g.Argument("dv"), f.columns)
	g.XORQ(f.column, f.column)
	g.Label("line")
	f.findMasks()
	g.MOVQ(operand.U32(0), f.lane)
	g.Label("group")
	n := g.Num("n")
	g.SUBQ(f.lane, n)
	sizes := g.queriesOf() // the last one is twice most
	for i, size := range slices.Backward(sizes[1:]) {
		g.CMPQ(n, operand.Imm(uint64(sizes[i]+1)))
		g.JGE(operand.LabelRef(groupLabel(size)))
	}
	for i, size := range sizes {
		if size > f.most {
			f.chainByChain(size, n)
		} else {
			f.group(size, n)
		}
		if i+1 < len(sizes) {
			g.JMP(operand.LabelRef("next"))
		}
	}
	g.Label("next")
	lane := g.GP64()
	g.MOVQ(f.lane, lane)
	g.CMPQ(lane, g.Argument("n"))
	g.JL(operand.LabelRef("group"))
	g.ADDQ(operand.Imm(uint64(f.width())), f.column)
	g.SUBQ(operand.Imm(uint64(f.width())), f.columns)
	g.JG(operand.LabelRef("line"))
	g.MOVB(operand.Imm(1), f.load)
	g.SUBQ(operand.Imm(spec.BF16Segment), f.left)
	g.JLE(operand.LabelRef("done"))
	for _, table := range []operand.Mem{f.off, f.prefetch.Base} {
		g.ADDQ(operand.I32(8*spec.BF16Segment), table)
	}
	bytes := g.GP64()
	g.IMUL3Q(operand.Imm(spec.BF16Segment), f.ldp, bytes)
	g.ADDQ(bytes, f.p)
	g.JMP(operand.LabelRef("turn"))
	g.Label("done")
	g.Return()
}

// findMasks sets the masks of a vector.
func (f *evenOddPV) findMasks() {
	g := f.g
	if !g.EVEX() {
		return
	}
	bits := g.GP32()
	g.MOVL(operand.U32(0xffff), bits)
	g.KMOVW(bits, f.there)
	g.KMOVW(bits, f.second)
	g.CMPQ(f.columns, operand.Imm(spec.SkinnyGroup))
	g.JNE(operand.LabelRef("masked"))
	g.MOVL(operand.U32(0xff), bits)
	g.KMOVW(bits, f.there)
	g.KXORW(f.second, f.second, f.second)
	g.Label("masked")
}

// group emits a line for up to size queries. If there are fewer, n of them, the other products are
// of lanes after them, which are not stored.
func (f *evenOddPV) group(size int, n reg.GPVirtual) {
	g, name := f.g, groupLabel(size)
	g.Commentf("%d queries.", size)
	g.Label(name)
	for _, acc := range f.acc[:size] {
		for _, v := range slices.Concat(acc[0], acc[1]) {
			g.Zero(g.Context, v)
		}
	}
	f.startKeys()
	g.MOVQ(f.keys, f.steps)
	g.SUBQ(operand.Imm(4), f.steps)
	g.JL(operand.LabelRef(name + "fewer"))
	g.AlignLoop()
	g.Label(name + "step")
	for j := range 4 {
		if j%f.rowsAtOnce() == 0 {
			f.prefetch.Lines(fmt.Sprint(name, "near", j), upTo(prefetchedLines)...)
			f.prefetch.Advance(fmt.Sprint(name, "ahead", j))
		}
		f.row(f.chain(size, j%2), 1)
	}
	g.SUBQ(operand.Imm(4), f.steps)
	g.JGE(operand.LabelRef(name + "step"))
	g.Label(name + "fewer")
	g.ADDQ(operand.Imm(4), f.steps)
	g.JZ(operand.LabelRef(name + "sum"))
	g.Label(name + "pair")
	f.row(f.chain(size, 0), 1)
	g.DECQ(f.steps)
	g.JZ(operand.LabelRef(name + "sum"))
	f.row(f.chain(size, 1), 1)
	g.DECQ(f.steps)
	g.JNZ(operand.LabelRef(name + "pair"))
	g.Label(name + "sum")
	sums := f.chain(size, 0)
	for i, other := range f.chain(size, 1) {
		for x, v := range sums[i] {
			g.VADDPS(other[x], v, v)
		}
	}
	f.store(sums, name, n)
}

// chain returns the accumulators of even or odd rows.
func (f *evenOddPV) chain(size, odd int) (acc [][]reg.VecVirtual) {
	for _, a := range f.acc[:size] {
		acc = append(acc, a[odd])
	}
	return acc
}

// startKeys goes to the first row of a pass.
func (f *evenOddPV) startKeys() {
	f.g.MOVQ(f.off, f.vj)
	f.g.MOVQ(f.g.Memory(f.g.Param("v").Base()), f.from)
	f.g.LEAQ(emit.Indexed(f.from, f.column, 2), f.from)
	f.g.MOVQ(f.lane, f.pj)
	f.g.LEAQ(emit.Indexed(f.p, f.pj, 4), f.pj)
}

// chainByChain is group for twice the most queries. All accumulators are for the even rows first.
// Then these sums wait on the stack, and the accumulators are for the odd rows. So a row is widened
// once.
func (f *evenOddPV) chainByChain(size int, n reg.GPVirtual) {
	g, name := f.g, groupLabel(size)
	acc, waiting, isOdd := slices.Concat(f.chain(f.most, 0), f.chain(f.most, 1)), g.Frame(2*size*g.VecBytes()), g.Frame(8)
	eachWaiting := func(do func(v reg.VecVirtual, m operand.Mem)) {
		for i, v := range slices.Concat(acc...) {
			do(v, waiting.Offset(i*g.VecBytes()))
		}
	}
	g.Commentf("%d queries, chain by chain.", size)
	g.Label(name)
	g.MOVQ(operand.U32(0), isOdd)
	f.startKeys()
	g.MOVQ(f.keys, f.steps)
	g.INCQ(f.steps)
	g.Label(name + "chain")
	for _, v := range slices.Concat(acc...) {
		g.Zero(g.Context, v)
	}
	g.SHRQ(operand.Imm(1), f.steps)
	g.JZ(operand.LabelRef(name + "rows"))
	g.AlignLoop()
	g.Label(name + "step")
	g.TESTQ(operand.I32(f.rowsAtOnce()-1), f.steps)
	g.JNZ(operand.LabelRef(name + "ahead"))
	f.prefetch.Lines(name+"near", upTo(prefetchedLines)...)
	f.prefetch.Advance(name + "ahead")
	f.row(acc, 2)
	g.DECQ(f.steps)
	g.JNZ(operand.LabelRef(name + "step"))
	g.Label(name + "rows")
	g.CMPQ(isOdd, operand.Imm(0))
	g.JNE(operand.LabelRef(name + "sum"))
	eachWaiting(func(v reg.VecVirtual, m operand.Mem) { g.VMOVUPS(v, m) })
	g.MOVQ(operand.U32(1), isOdd)
	f.startKeys()
	g.ADDQ(operand.Imm(8), f.vj)
	g.ADDQ(f.ldp, f.pj)
	g.MOVQ(f.keys, f.steps)
	g.JMP(operand.LabelRef(name + "chain"))
	g.Label(name + "sum")
	eachWaiting(func(v reg.VecVirtual, m operand.Mem) {
		even := g.Vec()
		g.VMOVUPS(m, even)
		g.VADDPS(v, even, v)
	})
	f.store(acc, name, n)
}

// row emits a row of V, which belongs to a single chain, and goes on by some rows.
func (f *evenOddPV) row(acc [][]reg.VecVirtual, rows int) {
	g := f.g
	at, odd := g.GP64(), g.Vec()
	g.MOVQ(emit.At(f.vj, 0), at)
	if row := emit.Indexed(f.from, at, 1); g.EVEX() {
		g.VMOVUPS_Z(row, f.there, odd)
	} else {
		g.VMOVUPS(row, odd)
	}
	v := []reg.VecVirtual{f.factors.split(odd), odd}
	for i := range acc {
		g.fmaVectors(emit.At(f.pj, 4*i), v, acc[i])
	}
	g.ADDQ(operand.Imm(uint64(8*rows)), f.vj)
	for range rows {
		g.ADDQ(f.ldp, f.pj)
	}
}

// store adds what o has to the sums of the group's queries, and goes on to the next group.
func (f *evenOddPV) store(sums [][]reg.VecVirtual, name string, n reg.GPVirtual) {
	g := f.g
	o, ldo := g.GP64(), g.GP64()
	g.MOVQ(f.ldo, ldo)
	g.MOVQ(ldo, o)
	g.IMULQ(f.lane, o)
	g.ADDQ(g.Memory(g.Param("o").Base()), o)
	g.LEAQ(emit.Indexed(o, f.column, 4), o)
	for _, v := range sums {
		g.Alternate(g.Context, v[0], v[1])
	}
	g.CMPB(f.load, operand.Imm(0))
	g.JE(operand.LabelRef(name + "first"))
	f.eachRow(sums, name+"load", o, ldo, n, func(x int, v reg.VecVirtual, m operand.Mem) {
		if x > 0 && g.EVEX() {
			o := g.Vec()
			g.VMOVUPS_Z(m, f.second, o)
			g.VADDPS(o, v, v)
		} else {
			g.VADDPS(m, v, v)
		}
		f.storeSum(x, v, m)
	})
	g.JMP(operand.LabelRef(name + "end"))
	g.Label(name + "first")
	f.eachRow(sums, name+"store", o, ldo, n, f.storeSum)
	g.Label(name + "end")
	g.ADDQ(operand.Imm(uint64(len(sums))), f.lane)
}

// storeSum stores a vector of sums.
func (f *evenOddPV) storeSum(x int, v reg.VecVirtual, m operand.Mem) {
	if x > 0 && f.g.EVEX() {
		f.g.VMOVUPS(v, f.second, m)
	} else {
		f.g.VMOVUPS(v, m)
	}
}

// eachRow calls do for the sums of the queries that there are and their places in o.
func (f *evenOddPV) eachRow(sums [][]reg.VecVirtual, name string, o, ldo, n reg.GPVirtual, do func(x int, v reg.VecVirtual, m operand.Mem)) {
	for i, sum := range sums {
		if i > len(sums)/2 { // a smaller group would do
			f.g.CMPQ(n, operand.Imm(uint64(i)))
			f.g.JLE(operand.LabelRef(name))
		}
		for x, v := range sum {
			do(x, v, emit.At(o, x*f.g.VecBytes()))
		}
		if i+1 < len(sums) {
			f.g.ADDQ(ldo, o)
		}
	}
	f.g.Label(name)
}
