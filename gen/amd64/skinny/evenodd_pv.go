package skinny

import (
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// PVEvenOdd is SkinnyPV for products in bfloat16: a pass takes a segment of rows of V, one column
// of cache lines after the other. An even row belongs to one chain and an odd one to another, both
// begin with +0 in each pass, and their sum is added to o.
func (g *gen) PVEvenOdd() {
	g.Kernel(spec.PVEvenOdd)
	f := &evenOddPV{g: g, ldv: g.StrideOf("ldv", spec.BF16), load: g.Argument("load"), left: g.Argument("m"), keys: g.Memory(g.Param("v").Len()),
		columns: g.Memory(g.Param("v").Cap()), lane: g.Memory(g.Param("o").Len()), ldo: g.Argument("ldo")}
	f.prefetch = g.NewPrefetch(f.ldv, "dv", spec.BF16, prefetchedLines*spec.LineBytes, 1)
	g.SHLQ(operand.Imm(2), f.ldo)
	f.v, f.p, f.ldp = g.Slice("v"), g.Slice("p"), g.Stride("ldp")
	f.vj, f.pj, f.steps, f.column = g.GP64(), g.GP64(), g.GP64(), g.GP64()
	f.factors = g.newFactors()
	vectors := spec.SkinnyGroup / g.Lanes()
	f.most = 8 / vectors / vectors // queries
	for range f.most {
		f.acc = append(f.acc, [2][]reg.VecVirtual{g.Vecs(vectors), g.Vecs(vectors)})
	}
	f.passes()
}

type evenOddPV struct {
	g        *gen
	prefetch *emit.Prefetch
	factors  *factors

	v, p, ldv, ldp        reg.GPVirtual // of the pass; strides in bytes
	vj, pj, steps, column reg.GPVirtual // of the step; column counts numbers
	load, left, keys      operand.Mem   // whether to start from o; keys from the pass on, and in it
	columns, lane, ldo    operand.Mem   // columns left; first query of the group; bytes from row to row of o

	most int                   // queries of a group
	acc  [][2][]reg.VecVirtual // even and odd chains of a query
}

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
	g.MOVQ(operand.U32(0), f.lane)
	g.Label("group")
	n := g.Num("n")
	g.SUBQ(f.lane, n)
	sizes := slices.DeleteFunc(g.queriesOf(), func(n int) bool { return n > f.most })
	sizes = sizes[:slices.Index(sizes, f.most)+1]
	for i, size := range slices.Backward(sizes[1:]) {
		g.CMPQ(n, operand.Imm(uint64(sizes[i]+1)))
		g.JGE(operand.LabelRef(groupLabel(size)))
	}
	for i, size := range sizes {
		f.group(size, n)
		if i+1 < len(sizes) {
			g.JMP(operand.LabelRef("next"))
		}
	}
	g.Label("next")
	lane := g.GP64()
	g.MOVQ(f.lane, lane)
	g.CMPQ(lane, g.Argument("n"))
	g.JL(operand.LabelRef("group"))
	g.ADDQ(operand.Imm(spec.SkinnyGroup), f.column)
	g.SUBQ(operand.Imm(spec.SkinnyGroup), f.columns)
	g.JNE(operand.LabelRef("line"))
	g.MOVB(operand.Imm(1), f.load)
	g.SUBQ(operand.Imm(spec.BF16Segment), f.left)
	g.JLE(operand.LabelRef("done"))
	f.forward(f.ldv, f.v, f.prefetch.Base)
	f.forward(f.ldp, f.p)
	g.JMP(operand.LabelRef("turn"))
	g.Label("done")
	g.Return()
}

// forward moves pointers by the rows of a pass.
func (f *evenOddPV) forward(stride reg.GPVirtual, pointers ...operand.Op) {
	bytes := f.g.GP64()
	f.g.IMUL3Q(operand.Imm(spec.BF16Segment), stride, bytes)
	for _, p := range pointers {
		f.g.ADDQ(bytes, p)
	}
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
	g.LEAQ(emit.Indexed(f.v, f.column, 2), f.vj)
	g.MOVQ(f.lane, f.pj)
	g.LEAQ(emit.Indexed(f.p, f.pj, 4), f.pj)
	g.MOVQ(f.keys, f.steps)
	g.SUBQ(operand.Imm(4), f.steps)
	g.JL(operand.LabelRef(name + "fewer"))
	g.AlignLoop()
	g.Label(name + "step")
	f.prefetch.Lines(name+"near", upTo(prefetchedLines)...)
	f.prefetch.Advance(name + "ahead")
	for j := range 4 {
		f.row(size, j%2)
	}
	g.SUBQ(operand.Imm(4), f.steps)
	g.JGE(operand.LabelRef(name + "step"))
	g.Label(name + "fewer")
	g.ADDQ(operand.Imm(4), f.steps)
	g.JZ(operand.LabelRef(name + "sum"))
	g.Label(name + "pair")
	f.row(size, 0)
	g.DECQ(f.steps)
	g.JZ(operand.LabelRef(name + "sum"))
	f.row(size, 1)
	g.DECQ(f.steps)
	g.JNZ(operand.LabelRef(name + "pair"))
	g.Label(name + "sum")
	f.store(size, name, n)
}

// row emits a row of V, which belongs to a single chain.
func (f *evenOddPV) row(size, chain int) {
	g := f.g
	v := g.Vecs(spec.SkinnyGroup / g.Lanes())
	for i, x := range v {
		g.VPMOVZXWD(emit.At(f.vj, 2*i*g.Lanes()), x)
		g.VPSLLD(operand.Imm(16), x, x)
		f.factors.flush(x)
	}
	for i := range size {
		g.fmaVectors(emit.At(f.pj, 4*i), v, f.acc[i][chain])
	}
	g.ADDQ(f.ldv, f.vj)
	g.ADDQ(f.ldp, f.pj)
}

// store adds up the chains of the group's queries, and what o has, and goes on to the next group.
func (f *evenOddPV) store(size int, name string, n reg.GPVirtual) {
	g := f.g
	o, ldo := g.GP64(), g.GP64()
	g.MOVQ(f.ldo, ldo)
	g.MOVQ(ldo, o)
	g.IMULQ(f.lane, o)
	g.ADDQ(g.Memory(g.Param("o").Base()), o)
	g.LEAQ(emit.Indexed(o, f.column, 4), o)
	for i := range size {
		for x, v := range f.acc[i][0] {
			g.VADDPS(f.acc[i][1][x], v, v)
		}
	}
	g.CMPB(f.load, operand.Imm(0))
	g.JE(operand.LabelRef(name + "first"))
	f.eachRow(size, name+"load", o, ldo, n, func(v reg.VecVirtual, m operand.Mem) {
		g.VADDPS(m, v, v)
		g.VMOVUPS(v, m)
	})
	g.JMP(operand.LabelRef(name + "end"))
	g.Label(name + "first")
	f.eachRow(size, name+"store", o, ldo, n, func(v reg.VecVirtual, m operand.Mem) { g.VMOVUPS(v, m) })
	g.Label(name + "end")
	g.ADDQ(operand.Imm(uint64(size)), f.lane)
}

// eachRow calls do for the sums of the queries that there are and their places in o.
func (f *evenOddPV) eachRow(size int, name string, o, ldo, n reg.GPVirtual, do func(v reg.VecVirtual, m operand.Mem)) {
	for i := range size {
		if i > size/2 { // a smaller group would do
			f.g.CMPQ(n, operand.Imm(uint64(i)))
			f.g.JLE(operand.LabelRef(name))
		}
		for x, v := range f.acc[i][0] {
			do(v, emit.At(o, x*f.g.VecBytes()))
		}
		if i+1 < size {
			f.g.ADDQ(ldo, o)
		}
	}
	f.g.Label(name)
}
