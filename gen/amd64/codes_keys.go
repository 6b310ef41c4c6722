package amd64

import (
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keyCodes has keys in the lanes, as SkinnyQK has, so that no sum crosses lanes and the scales of
// a group of columns are a vector. A step takes 16 columns. Each of its four words of 32 bits has
// four columns of a key, which become two words of pairs:
//
//	c0 c1 c2 c3 ──► (c0, c2) and (c1, c3)     sum[query] += each · the same pair of the query
//
// A tile is a vector of keys. If it does not divide the keys, the last tile computes the last ones
// again.
//
// One query has columns in the lanes instead: keys are read as they lie, with less than half of the
// instructions. The sums cross lanes once for all keys of a tile and a group of columns.
//
// These are in memory, in the place of arguments: the scores and scales of the tile, the scores and
// scales of the current group of columns, the first of the current queries.
func (g *gen) keyCodes(kernel spec.Function) {
	g.Kernel(kernel)
	s, scales := g.Param("s"), g.Param("scales")
	f := &keyCodes{g: g, int4: kernel.Name == spec.QKCodes4.Name, s: g.Memory(s.Base()), lane: g.Memory(s.Len()), left: g.Memory(g.Param("off").Len()), height: g.Memory(s.Cap()),
		scales: g.Memory(scales.Base()), at: g.Memory(scales.Len()), columns: g.Memory(scales.Cap())}
	if f.int4 {
		g.halve("d", "group")
	}
	f.prefetch = g.NewRowPrefetch(g.Memory(g.Param("k").Base()), "d", spec.Int8, spec.LineBytes, 1)
	f.w = g.SliceLen("max")
	g.SHLQ(operand.Imm(2), f.w)
	if !f.int4 {
		f.columnsForm()
	}
	f.rows = g.NewKeyOffsets()
	f.q = g.GP64()
	f.result = g.Vecs(f.most())
	f.tiles()
}

// halve makes columns that two share a byte bytes.
func (g *gen) halve(arguments ...string) {
	for _, name := range arguments {
		g.SHRQ(operand.Imm(1), g.Argument(name))
	}
}

type keyCodes struct {
	g        *gen
	int4     bool
	rows     *emit.KeyOffsets
	q, w     reg.GPVirtual // the current pairs of queries, and the bytes of a row of them
	prefetch *emit.Prefetch

	s, scales operand.Mem // of the tile
	at        operand.Mem // scales of the current group
	columns   operand.Mem // that are left
	lane      operand.Mem // first of the current queries
	left      operand.Mem // keys, from the tile on

	height  operand.Mem // number of current queries, for heights
	heights *emit.Heights
	result  []reg.VecVirtual // scores of the current queries
}

// most is the largest number of queries at once.
func (f *keyCodes) most() int {
	if f.g.EVEX() {
		return 2 * codeLanes
	}
	return codeLanes
}

// tiles emits the loop over tiles, and in it the loop over queries.
func (f *keyCodes) tiles() {
	g, back := f.g, f.g.GP64()
	g.Label("tile")
	g.MOVQ(f.left, back)
	g.SUBQ(operand.Imm(uint64(g.Lanes())), back)
	g.JGE(operand.LabelRef("whole"))
	g.CMPQ(f.left, operand.Imm(0))
	g.JE(operand.LabelRef("done"))
	g.SUBQ(back, f.left)
	f.move(back)
	g.Label("whole")
	f.rows.Hold()
	g.MOVQ(operand.U32(0), f.lane)
	g.Label("queries")
	f.startQueries()
	if !f.int4 {
		g.CMPQ(g.Argument("n"), operand.Imm(1))
		g.JE(operand.LabelRef("one"))
	}
	if n := f.most(); n > codeLanes {
		g.CMPQ(f.queries(), operand.Imm(codeLanes))
		g.JLE(operand.LabelRef("few"))
		f.tile("many", emit.Span{Least: codeLanes + 1, Most: n}, 1)
		g.JMP(operand.LabelRef("store"))
	}
	f.tile("few", emit.Span{Least: 1, Most: codeLanes}, 2)
	if !f.int4 {
		g.JMP(operand.LabelRef("store"))
		f.one("one")
	}
	f.store()
	g.SUBQ(g.Argument("d"), f.rows.From)
	g.MOVQ(f.lane, back)
	g.CMPQ(back, g.Argument("n"))
	g.JL(operand.LabelRef("queries"))
	keys := g.GP64()
	g.MOVQ(operand.U32(g.Lanes()), keys)
	g.SUBQ(keys, f.left)
	g.ADDQ(operand.I32(8*g.Lanes()), f.prefetch.Base)
	f.move(keys)
	g.JMP(operand.LabelRef("tile"))
	g.Label("done")
	g.Return()
}

// move goes on by a number of keys, or back. It uses up the number.
func (f *keyCodes) move(keys reg.GPVirtual) {
	g, bytes := f.g, f.g.GP64()
	g.LEAQ(emit.Indexed(f.rows.Off, keys, 8), f.rows.Off)
	g.MOVQ(f.w, bytes)
	g.IMULQ(keys, bytes)
	g.ADDQ(bytes, f.s)
	g.SHLQ(operand.Imm(2), keys)
	g.ADDQ(keys, f.scales)
}

// queries returns the number of those that are left.
func (f *keyCodes) queries() reg.GPVirtual {
	n := f.g.Num("n")
	f.g.SUBQ(f.lane, n)
	return n
}

// startQueries goes to the first columns.
func (f *keyCodes) startQueries() {
	g := f.g
	g.MOVQ(f.lane, f.q)
	g.SHLQ(operand.Imm(2), f.q)
	g.ADDQ(g.Memory(g.Param("q").Base()), f.q)
	f.prefetch.Start()
	g.Move(f.scales, f.at)
	g.Move(g.Argument("d"), f.columns)
	minusZero := g.Constant(spec.SignBit)
	for _, x := range f.result {
		g.VMOVUPS(minusZero, x)
	}
}

// tile emits the scores of a tile and a span of queries. A query has one sum, or with VNNI and few
// queries two, for the latency of products.
func (f *keyCodes) tile(name string, span emit.Span, sums int) {
	g := f.g
	if !g.EVEX() {
		sums = 1
	}
	f.heights = g.NewHeights(name, span, f.height)
	g.Label(name)
	f.heights.Set(f.queries())
	all := g.Vecs(span.Most * sums)
	acc := slices.Collect(slices.Chunk(all, sums))
	f.groups(name, all, func() {
		words := g.Transpose4(g.KeyRows(f.rows.Row, 0))
		f.heights.Compare()
		for _, word := range words {
			f.products(word, acc)
		}
	}, func() { f.endGroup(name, acc) })
}

// groups emits the loop over groups of columns, which begins with zeros in acc, and in it the loop
// over steps.
func (f *keyCodes) groups(name string, acc []reg.VecVirtual, step, end func()) {
	g, left := f.g, f.g.GP64()
	g.Label(name + "group")
	for _, x := range acc {
		g.Zero(g.Context, x)
	}
	g.MOVQ(g.Argument("group"), left)
	g.AlignLoop()
	g.Label(name + "step")
	for i := range g.Lanes() * codeColumns / spec.LineBytes {
		f.prefetch.Lines(fmt.Sprint(name, "near", i), 0)
		f.prefetch.Advance(fmt.Sprint(name, "ahead", i))
	}
	step()
	g.ADDQ(operand.Imm(codeColumns), f.rows.From)
	g.SUBQ(operand.Imm(codeColumns), left)
	g.JNZ(operand.LabelRef(name + "step"))
	end()
	group := g.Num("group")
	g.SUBQ(group, f.columns)
	g.JNZ(operand.LabelRef(name + "group"))
}

// one emits the scores of a tile and one query.
func (f *keyCodes) one(name string) {
	g := f.g
	f.heights = g.NewHeights(name, emit.Span{Least: 1, Most: 1}, f.height)
	acc := make([]reg.VecVirtual, g.Lanes())
	for i := range acc {
		acc[i] = g.YMM()
	}
	g.Label(name)
	f.groups(name, acc, func() {
		q := g.YMM()
		g.VMOVUPS(emit.At(f.q, 0), q)
		g.ADDQ(operand.Imm(2*codeColumns), f.q)
		for i, sum := range acc {
			k := g.YMM()
			g.VPMOVSXBW(f.rows.Row(i), k)
			if g.EVEX() {
				g.VPDPWSSD(q, k, sum)
				continue
			}
			g.VPMADDWD(q, k, k)
			g.VPADDD(k, sum, sum)
		}
	}, func() { f.endGroup(name, [][]reg.VecVirtual{{f.sums(acc)}}) })
}

// sums adds up the lanes of each of acc.
func (f *keyCodes) sums(acc []reg.VecVirtual) reg.VecVirtual {
	g := f.g
	var four []reg.VecVirtual // lane i of both halves, added up, is the sum of accumulator i
	for a := range slices.Chunk(acc, 4) {
		four = append(four, f.add(f.add(a[0], a[1], g.VPUNPCKLDQ, g.VPUNPCKHDQ), f.add(a[2], a[3], g.VPUNPCKLDQ, g.VPUNPCKHDQ), g.VPUNPCKLQDQ, g.VPUNPCKHQDQ))
	}
	x, y := g.Vec(), g.Vec()
	if !g.EVEX() {
		g.VPERM2I128(operand.Imm(0x20), four[1], four[0], x)
		g.VPERM2I128(operand.Imm(0x31), four[1], four[0], y)
	} else {
		for i := 0; i < len(four); i += 2 {
			g.VINSERTI64X4(operand.Imm(1), four[i+1], four[i].AsZ(), four[i].AsZ())
		}
		g.VSHUFI32X4(operand.U8(0x88), four[2].AsZ(), four[0].AsZ(), x)
		g.VSHUFI32X4(operand.U8(0xdd), four[2].AsZ(), four[0].AsZ(), y)
	}
	g.VPADDD(x, y, x)
	return x
}

// add adds the lanes of x and y that low and high bring together. It uses up x.
func (f *keyCodes) add(x, y reg.VecVirtual, low, high func(...operand.Op)) reg.VecVirtual {
	l := f.g.YMM()
	low(y, x, l)
	high(y, x, x)
	f.g.VPADDD(l, x, x)
	return x
}

// products adds the products of the columns of a word. It changes no flags.
func (f *keyCodes) products(word reg.VecVirtual, acc [][]reg.VecVirtual) {
	g, bits := f.g, 8
	if f.int4 {
		bits = 4
	}
	for left := 16 - bits; left > 0; left -= 2 * bits {
		pairs := [2]reg.VecVirtual{g.Vec(), word}
		g.VPSLLW(operand.Imm(uint64(left)), word, pairs[0])
		if left > bits { // others follow
			pairs[1] = g.Vec()
			g.VPSLLW(operand.Imm(uint64(left-bits)), word, pairs[1])
		}
		for _, x := range pairs {
			g.VPSRAW(operand.Imm(uint64(16-bits)), x, x)
		}
		f.heights.Rows(func(i int) {
			f.product(emit.At(f.q, 4*i), pairs[0], acc[i][0])
			f.product(emit.Indexed(f.q, f.w, 1).Offset(4*i), pairs[1], acc[i][len(acc[i])-1])
		})
		g.LEAQ(emit.Indexed(f.q, f.w, 2), f.q)
	}
}

func (f *keyCodes) product(q operand.Mem, k, sum reg.VecVirtual) {
	g := f.g
	if g.EVEX() {
		g.VPDPWSSD_BCST(q, k, sum)
		return
	}
	p := g.Vec()
	g.VPBROADCASTD(q, p)
	g.VPMADDWD(k, p, p)
	g.VPADDD(p, sum, sum)
}

// endGroup adds the sums of a group of columns to the scores, times the units of the queries and
// the scales of the keys. The first are added to -0, which changes none of them.
func (f *keyCodes) endGroup(name string, acc [][]reg.VecVirtual) {
	g, p, unit, scale := f.g, f.g.GP64(), f.g.GP64(), f.g.Vec()
	g.MOVQ(f.at, p)
	g.VMOVUPS(emit.At(p, 0), scale)
	g.MOVQ(g.Argument("lsc"), unit)
	g.LEAQ(emit.Indexed(p, unit, 4), p)
	g.MOVQ(p, f.at)
	g.MOVQ(f.lane, p)
	g.MOVQ(g.Memory(g.Param("unit").Base()), unit)
	g.LEAQ(emit.Indexed(unit, p, 4), unit)
	f.heights.Compare()
	f.heights.Rows(func(i int) {
		x := acc[i][0]
		for _, y := range acc[i][1:] {
			g.VPADDD(y, x, x)
		}
		g.VCVTDQ2PS(x, x)
		g.MulBroadcast(g.Context, emit.At(unit, 4*i), []reg.VecVirtual{x})
		g.VFMADD231PS(scale, x, f.result[i])
	})
}

// store stores the scores of four queries, and of four more. The lanes after the last query, up to
// four, repeat it.
func (f *keyCodes) store() {
	g := f.g
	g.Label("store")
	n := f.queries()
	for i := 1; i < codeLanes; i++ {
		has := fmt.Sprint("has", i)
		g.CMPQ(n, operand.Imm(uint64(i)))
		g.JG(operand.LabelRef(has))
		g.VMOVAPS(f.result[i-1], f.result[i])
		g.Label(has)
	}
	s, p, lane, max := g.GP64(), g.Slice("max"), g.GP64(), g.XMM()
	g.MOVQ(f.lane, lane)
	g.MOVQ(f.s, s)
	g.LEAQ(emit.Indexed(s, lane, 4), s)
	g.LEAQ(emit.Indexed(p, lane, 4), p)
	g.VMOVUPS(emit.At(p, 0), max)
	keys := g.Transpose4(f.result[:codeLanes])
	for q := range g.Lanes() / 4 {
		for _, x := range keys {
			x := g.Quarter(g.Context, x, q)
			g.VMOVUPS(x, emit.At(s, 0))
			g.VMAXPS(max, x, max)
			g.ADDQ(f.w, s)
		}
	}
	g.VMOVUPS(max, emit.At(p, 0))
	g.ADDQ(operand.Imm(codeLanes), f.lane)
	if f.most() > codeLanes {
		g.Comment("The other four.")
		g.MOVQ(f.lane, lane)
		g.CMPQ(lane, g.Argument("n"))
		g.JGE(operand.LabelRef("end"))
		g.TESTQ(operand.U32(codeLanes), lane)
		g.JZ(operand.LabelRef("end"))
		for i := range codeLanes {
			g.VMOVAPS(f.result[codeLanes+i], f.result[i])
		}
		g.JMP(operand.LabelRef("store"))
		g.Label("end")
	}
}
