package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// valueCodes takes 16 columns and up to four queries at a time, with columns in the lanes. Words of
// two rows of V are interleaved, so that VPMADDWD adds their products. Of each query one
// accumulator has columns 0-3 and 8-11 then, the other one the rest.
//
// Of int4 these columns are 8 bytes of a row. Bytes of two rows are interleaved, and one
// accumulator has the even columns, the other one the odd ones.
func (g *gen) valueCodes(kernel spec.Function) {
	g.Kernel(kernel)
	f := g.newValueCodes(kernel, codeColumns)
	g.Label("queries")
	n := g.GP64()
	g.MOVQ(f.left, n)
	for size := codeLanes; size > 1; size-- {
		g.CMPQ(n, operand.Imm(uint64(size)))
		g.JGE(operand.LabelRef(fmt.Sprintf("queries%d", size)))
	}
	for size := 1; size <= codeLanes; size++ {
		f.group(size)
	}
	g.Label("next")
	f.nextQueries(codeLanes)
	g.JG(operand.LabelRef("queries"))
	g.Return()
}

// newValueCodes begins a kernel that takes so many columns at a time. What counts columns of V
// counts their bytes then.
func (g *gen) newValueCodes(kernel spec.Function, columns int) *valueCodes {
	pairs, unit, int4 := g.Param("pairs"), g.Param("unit"), kernel.Name == spec.PVCodes4.Name
	if int4 {
		g.halve("dv", "group")
		columns /= 2
	}
	return &valueCodes{g: g, int4: int4, bytes: columns, o: g.Slice("o"), ldo: g.Stride("ldo"), pairs: g.GP64(), ldp: g.Stride("ldp"),
		column: g.GP64(), left: g.Argument("n"), ofQueries: [2]operand.Mem{g.Memory(pairs.Base()), g.Memory(unit.Base())},
		unit: g.Memory(unit.Len()), columns: g.Memory(unit.Cap()),
		ahead: g.NewRowPrefetch(g.Memory(g.Param("v").Base()), "dv", spec.Int8, spec.LineBytes, 1), from: g.GP64(), row: g.GP64(), pair: g.GP64()}
}

// startColumns goes to the first column of the current queries.
func (f *valueCodes) startColumns(name string) {
	g := f.g
	g.XORQ(f.column, f.column)
	g.MOVQ(f.ofQueries[0], f.pairs)
	g.Move(f.ofQueries[1], f.unit)
	g.Move(g.Argument("group"), f.columns)
	f.ahead.Start()
	g.Label(name + "columns")
}

// nextColumns goes on to the next columns if there are more, which may begin another group.
func (f *valueCodes) nextColumns(name string) {
	g, bytes := f.g, f.g.GP64()
	g.ADDQ(operand.Imm(uint64(f.bytes)), f.column)
	g.SUBQ(operand.Imm(uint64(f.bytes)), f.columns)
	g.JG(operand.LabelRef(name + "same"))
	if f.bytes > codeColumns { // the group may have had fewer
		g.ADDQ(f.columns, f.column)
	}
	g.Move(g.Argument("group"), f.columns)
	g.MOVQ(g.Argument("lpg"), bytes)
	g.LEAQ(emit.Indexed(f.pairs, bytes, 4), f.pairs)
	g.ADDQ(f.ldp, f.unit)
	g.Label(name + "same")
	g.CMPQ(f.column, g.Argument("dv"))
	g.JL(operand.LabelRef(name + "columns"))
}

// nextQueries goes on by so many queries, and compares what is left with 0.
func (f *valueCodes) nextQueries(n uint64) {
	g, bytes := f.g, f.g.GP64()
	g.Commentf("The next %d queries.", n)
	g.IMUL3Q(operand.Imm(n), f.ldo, bytes)
	g.ADDQ(bytes, f.o)
	for _, p := range f.ofQueries {
		g.ADDQ(operand.Imm(4*n), p)
	}
	g.SUBQ(operand.Imm(n), f.left)
}

type valueCodes struct {
	g          *gen
	int4       bool
	bytes      int // of a row that are taken at a time
	o, ldo     reg.GPVirtual
	pairs, ldp reg.GPVirtual
	column     reg.GPVirtual  // in bytes, as columns
	left       operand.Mem    // queries
	ofQueries  [2]operand.Mem // pairs and units of the current ones
	unit       operand.Mem    // of the current group
	columns    operand.Mem    // of the group, that are left

	row, pair reg.GPVirtual // the offsets of two rows, and their pairs
	from      reg.GPVirtual // what offsets count from, at the current columns
	ahead     *emit.Prefetch
}

// group emits all columns of a number of queries.
func (f *valueCodes) group(queries int) {
	g, name := f.g, fmt.Sprintf("queries%d", queries)
	g.Commentf("%d queries.", queries)
	g.Label(name)
	f.startColumns(name)
	acc := [2][]reg.VecVirtual{g.Vecs(queries), g.Vecs(queries)}
	for _, a := range acc {
		for _, v := range a {
			g.VPXOR(v, v, v)
		}
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
	g.JMP(operand.LabelRef("next"))
}

// pairCount returns the number of pairs of rows. Without any it goes to lastRow.
func (f *valueCodes) pairCount(name string) reg.GPVirtual {
	g, count := f.g, f.g.SliceLen("off")
	g.SHRQ(operand.Imm(1), count)
	g.JZ(operand.LabelRef(name + "odd"))
	return count
}

// lastRow emits a step for the row that has no second, if there is one.
func (f *valueCodes) lastRow(name string, count reg.GPVirtual, step func()) {
	g := f.g
	g.Label(name + "odd")
	g.MOVQ(g.Memory(g.Param("off").Len()), count)
	g.ANDQ(operand.Imm(1), count)
	g.JZ(operand.LabelRef(name + "sums"))
	g.Comment("A last row, whose second has weights of 0.")
	step()
	g.Label(name + "sums")
}

// start goes to the first rows of the current columns.
func (f *valueCodes) start() {
	g := f.g
	g.MOVQ(g.Memory(g.Param("off").Base()), f.row)
	g.MOVQ(g.Memory(g.Param("v").Base()), f.from)
	g.ADDQ(f.column, f.from)
	g.MOVQ(f.pairs, f.pair)
}

// two returns the addresses of a row and of the one that is so far after it.
func (f *valueCodes) two(second int) (rows [2]operand.Mem) {
	for i := range rows {
		at := f.g.GP64()
		f.g.MOVQ(emit.At(f.row, 8*i*second), at)
		rows[i] = emit.Indexed(f.from, at, 1)
	}
	return rows
}

// step emits the products of two rows, the second of them so far after the first.
func (f *valueCodes) step(acc [2][]reg.VecVirtual, second int) {
	g, row := f.g, f.two(second)
	v := g.Vecs(2)
	if f.int4 {
		rows := [2]reg.VecVirtual{g.XMM(), g.XMM()}
		g.VMOVQ(row[0], rows[0])
		g.VMOVQ(row[1], rows[1])
		g.VPUNPCKLBW(rows[1], rows[0], rows[0])
		g.VPMOVSXBW(rows[0], v[1])
		g.evenOfOdd(v[1], v[0])
	} else {
		rows := g.Vecs(2)
		g.VPMOVSXBW(row[0], rows[0])
		g.VPMOVSXBW(row[1], rows[1])
		g.VPUNPCKLWD(rows[1], rows[0], v[0])
		g.VPUNPCKHWD(rows[1], rows[0], v[1])
	}
	for i := range acc[0] {
		p, x := g.Vec(), g.Vec()
		g.VPBROADCASTD(emit.At(f.pair, 4*i), p)
		g.VPMADDWD(p, v[0], x)
		g.VPMADDWD(p, v[1], p)
		g.VPADDD(x, acc[0][i], acc[0][i])
		g.VPADDD(p, acc[1][i], acc[1][i])
	}
	f.nextPair()
}

// evenOfOdd makes integers of even columns in even, and of odd ones in odd, of bytes of int4 that
// are 16 bits there.
func (g *gen) evenOfOdd(odd, even reg.VecVirtual) {
	g.VPSLLW(operand.Imm(12), odd, even)
	g.VPSRAW(operand.Imm(12), even, even)
	g.VPSRAW(operand.Imm(4), odd, odd)
}

// nextPair goes on to the next two rows.
func (f *valueCodes) nextPair() {
	f.g.ADDQ(operand.Imm(16), f.row)
	f.g.ADDQ(f.ldp, f.pair)
}

// prefetch emits the prefetch of a step: as many bytes as it reads, in the order of memory, so each
// line more than once. From memory, Zen 3 takes half the time that prefetches of one column of
// lines after the other take.
func (f *valueCodes) prefetch(name string) {
	f.ahead.Lines(name, 0)
	f.ahead.Advance(name + "ahead")
}

// output goes to the current columns of the output.
func (f *valueCodes) output(to reg.GPVirtual) {
	if f.int4 {
		f.g.LEAQ(emit.Indexed(f.o, f.column, 8), to)
		return
	}
	f.g.LEAQ(emit.Indexed(f.o, f.column, 4), to)
}

// store adds the sums, times the units of the queries, to the output, or writes them.
func (f *valueCodes) store(acc [2][]reg.VecVirtual, name string) {
	g := f.g
	to, unit := g.GP64(), g.GP64()
	each := func(do func(u, x reg.VecVirtual, m operand.Mem)) {
		f.output(to)
		g.MOVQ(f.unit, unit)
		for i := range acc[0] {
			u := g.Vec()
			g.VBROADCASTSS(emit.At(unit, 4*i), u)
			columns := [2]reg.VecVirtual{acc[0][i], acc[1][i]}
			if f.int4 {
				columns[0], columns[1] = g.Vec(), g.Vec()
				g.VPUNPCKLDQ(acc[1][i], acc[0][i], columns[0])
				g.VPUNPCKHDQ(acc[1][i], acc[0][i], columns[1])
			}
			for half, order := range []uint64{0x20, 0x31} {
				x := g.Vec()
				g.VPERM2I128(operand.Imm(order), columns[1], columns[0], x)
				m := emit.At(to, half*g.VecBytes())
				g.VCVTDQ2PS(x, x)
				do(u, x, m)
				g.VMOVUPS(x, m)
			}
			g.ADDQ(f.ldo, to)
		}
	}
	g.CMPB(g.Argument("load"), operand.Imm(0))
	g.JNE(operand.LabelRef(name + "loads"))
	each(func(u, x reg.VecVirtual, m operand.Mem) { g.VMULPS(u, x, x) })
	g.JMP(operand.LabelRef(name + "stored"))
	g.Label(name + "loads")
	each(func(u, x reg.VecVirtual, m operand.Mem) { g.VFMADD213PS(m, u, x) })
	g.Label(name + "stored")
}
