package amd64

import (
	"fmt"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of quantized attention, for AVX2; what AVX-512 has of its own is in codes_vnni.go. VPMADDWD multiplies words
// of 16 bits and adds pairs of products in 32 bits: twice as many products in an instruction as an FMA has.
// An addition follows each, so on CPUs with twice as many units for additions as for products, such as Zen
// 3, integers have up to twice the throughput of FMAs. Bytes would not have more: VPMADDUBSW needs one more
// instruction to add its pairs in 32 bits, and another for signs.

// Queries that share the numbers of a key or a value in registers, and the columns of a step.
const (
	codeLanes   = 4
	codeColumns = 16
)

// Codes emits them.
func (g *gen) Codes() {
	if g.EVEX() {
		g.integerPairs()
		g.vnniKeyCodes()
		g.vnniValueCodes()
	} else {
		g.round()
		g.scaleRows()
		g.keyCodes()
		g.integerPairs()
		g.valueCodes()
	}
	g.codeTiles()
}

// A rounder emits kernels that multiply rows by numbers and round them, see ukernel.LaneKernels.Round.
type rounder struct {
	g                           *gen
	s, ld, n, scales, lsc, unit reg.GPVirtual

	magic, keep, other reg.VecVirtual // 1.5·2^23 units, where numbers stay, and what stands elsewhere
}

// eachVector emits the loop over vectors of lanes: it finds their units, and calls rows. dst goes on by as
// many lanes.
func (r *rounder) eachVector(dst reg.GPVirtual, rows func()) {
	g := r.g
	loop.Lanes(g, g.SliceLen("unit"), "One vector of lanes.", []reg.GPVirtual{dst, r.s, r.unit}, nil, func() {
		r.findUnit()
		rows()
	})
	g.Return()
}

// findUnit emits the search for the largest magnitude, as an integer, and what follows from it.
func (r *rounder) findUnit() {
	g := r.g
	largest, magnitude := g.Vec(), g.Vec()
	g.Zero(g.Context, largest)
	g.VMOVUPS(g.Constant(^uint32(spec.SignBit)), magnitude)
	row, scale, left := r.start()
	loop.Times(g, left, "largest", func() {
		x := r.product(row, scale)
		g.VANDPS(magnitude, x, x)
		g.VPMAXUD(x, largest, largest)
		r.next(row, scale)
	})
	r.magic, r.keep, r.other = g.Vec(), g.Vec(), g.Vec()
	unit, bits := g.Vec(), g.Vec()
	g.VMOVD(g.Num("bits").As32(), bits.AsX())
	g.VPBROADCASTD(bits.AsX(), bits)
	g.VPSLLD(operand.Imm(23), bits, bits)
	g.VANDPS(g.Constant(0x7f800000), largest, unit)
	g.VPSUBD(bits, unit, unit)
	g.VPADDD(g.Constant(23<<23|1<<22), unit, r.magic)
	g.whereAbove(contract.BeyondRounding-1, largest, r.other)
	g.whereAbove(contract.LeastRounded-1, largest, r.keep)
	g.VANDNPS(r.keep, r.other, r.keep)
	g.VANDPS(g.Constant(spec.NaN), r.other, r.other)
	r.select_(unit)
	g.VMOVUPS(unit, emit.At(r.unit, 0))
}

// select_ replaces the lanes of x whose numbers do not stay.
func (r *rounder) select_(x reg.VecVirtual) {
	r.g.VANDPS(r.keep, x, x)
	r.g.VORPS(r.other, x, x)
}

// whereAbove sets all bits of the lanes in which x is larger than a number, both int32, and clears the others.
func (g *gen) whereAbove(n uint32, x, lanes reg.VecVirtual) {
	if !g.EVEX() {
		g.VPCMPGTD(g.Constant(n), x, lanes)
		return
	}
	k := g.K()
	g.VPCMPGTD(g.Constant(n), x, k)
	g.VPMOVM2D(k, lanes)
}

// start returns pointers to the first row and its scale, and the number of rows.
func (r *rounder) start() (row, scale, left reg.GPVirtual) {
	row, scale, left = r.g.GP64(), r.g.GP64(), r.g.GP64()
	r.g.MOVQ(r.s, row)
	r.g.MOVQ(r.scales, scale)
	r.g.MOVQ(r.n, left)
	return row, scale, left
}

func (r *rounder) product(row, scale reg.GPVirtual) reg.VecVirtual {
	x := r.g.Vec()
	r.g.VBROADCASTSS(emit.At(scale, 0), x)
	r.g.VMULPS(emit.At(row, 0), x, x)
	return x
}

func (r *rounder) next(row, scale reg.GPVirtual) {
	r.g.ADDQ(r.ld, row)
	r.g.ADDQ(r.lsc, scale)
}

func (g *gen) newRounder() *rounder {
	return &rounder{g: g, s: g.Slice("s"), ld: g.Stride("ld"), n: g.Num("n"), scales: g.Slice("scales"), lsc: g.Stride("lsc"), unit: g.Slice("unit")}
}

func (g *gen) round() {
	g.Kernel(spec.Round)
	r, dst := g.newRounder(), g.Slice("dst")
	r.eachVector(dst, func() {
		row, scale, left := r.start()
		to := g.GP64()
		g.MOVQ(dst, to)
		loop.Times(g, left, "row", func() {
			x := r.product(row, scale)
			g.VADDPS(r.magic, x, x)
			g.VSUBPS(r.magic, x, x)
			r.select_(x)
			g.VMOVUPS(x, emit.At(to, 0))
			g.ADDQ(r.ld, to)
			r.next(row, scale)
		})
	})
}

// integerPairs is round for integers: they are the low halves of the sums with 1.5·2^23 units.
func (g *gen) integerPairs() {
	g.Kernel(spec.Pairs)
	if g.EVEX() {
		g.CMPQ(g.Memory(g.Param("unit").Len()), operand.Imm(uint64(g.Lanes())))
		g.JL(operand.LabelRef("few"))
	}
	r, pairs, ldp := g.newRounder(), g.Slice("pairs"), g.SliceLen("unit")
	g.SHLQ(operand.Imm(2), ldp)
	r.eachVector(pairs, func() {
		row, scale, left := r.start()
		to := g.GP64()
		g.MOVQ(pairs, to)
		sum := func() reg.VecVirtual {
			x := r.product(row, scale)
			g.VADDPS(r.magic, x, x)
			r.next(row, scale)
			return x
		}
		g.SUBQ(operand.Imm(2), left)
		g.JL(operand.LabelRef("single"))
		g.Label("pair")
		low, high := sum(), sum()
		g.VPSLLD(operand.Imm(16), high, high)
		g.takeHigh(low, high)
		g.VANDPS(r.keep, low, low)
		g.VMOVUPS(low, emit.At(to, 0))
		g.ADDQ(ldp, to)
		g.SUBQ(operand.Imm(2), left)
		g.JGE(operand.LabelRef("pair"))
		g.Label("single")
		g.ADDQ(operand.Imm(2), left)
		g.JZ(operand.LabelRef("end"))
		last := sum()
		g.VANDPS(g.Constant(0xffff), last, last)
		g.VANDPS(r.keep, last, last)
		g.VMOVUPS(last, emit.At(to, 0))
		g.Label("end")
	})
	if g.EVEX() {
		g.toAVX2(spec.Pairs)
	}
}

// takeHigh replaces the upper words of x by those of y, whose lower ones are 0.
func (g *gen) takeHigh(x, y reg.VecVirtual) {
	if !g.EVEX() {
		g.VPBLENDW(operand.Imm(0xaa), y, x, x)
		return
	}
	const aAndCOrB = 0xec
	g.VPTERNLOGD_BCST(operand.U8(aAndCOrB), g.Constant(0xffff), y, x)
}

// scaleRows multiplies a vector of lanes of all rows.
func (g *gen) scaleRows() {
	g.Kernel(spec.ScaleRows)
	s, ld, a, lda, n := g.Slice("s"), g.Stride("ld"), g.Slice("a"), g.Stride("lda"), g.Num("n")
	scales, lsc, max := g.Slice("scales"), g.Stride("lsc"), g.Slice("max")
	loop.Lanes(g, g.SliceLen("max"), "One vector of lanes.", []reg.GPVirtual{s, a, max}, nil, func() {
		top := g.Vec()
		g.VMOVUPS(emit.At(max, 0), top)
		to, from, scale, left := g.GP64(), g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(s, to)
		g.MOVQ(a, from)
		g.MOVQ(scales, scale)
		g.MOVQ(n, left)
		rows := func(name string, product func(x reg.VecVirtual)) {
			loop.AnyTimes(g, left, name, name+"end", false, func() {
				x := g.Vec()
				g.VBROADCASTSS(emit.At(scale, 0), x)
				product(x)
				g.VMOVUPS(x, emit.At(to, 0))
				g.VMAXPS(top, x, top)
				g.ADDQ(ld, to)
				g.ADDQ(lda, from)
				g.ADDQ(lsc, scale)
			})
		}
		g.CMPB(g.Argument("load"), operand.Imm(0))
		g.JNE(operand.LabelRef("loads"))
		rows("row", func(x reg.VecVirtual) { g.VMULPS(emit.At(from, 0), x, x) })
		g.JMP(operand.LabelRef("done"))
		g.Label("loads")
		rows("sum", func(x reg.VecVirtual) {
			y := g.Vec()
			g.VMOVUPS(emit.At(from, 0), y)
			g.VFMADD213PS(emit.At(to, 0), y, x)
		})
		g.Label("done")
		g.VMOVUPS(top, emit.At(max, 0))
	})
	g.Return()
}

// keyCodes takes two keys and four queries at a time, with columns in the lanes: keys are read as they lie, one
// after the other. The lanes of the eight accumulators are added at the end,
//
//	4 × [query] of key 0, 4 × of key 1 ──► [key 0: queries 0 1 2 3 | key 1: queries 0 1 2 3]
func (g *gen) keyCodes() {
	g.Kernel(spec.QKCodes)
	f, n := g.newKeyCodes(), g.Num("n")
	for queries := 1; queries <= fewQueries; queries++ {
		g.CMPQ(n, operand.Imm(uint64(queries)))
		g.JE(operand.LabelRef(fmt.Sprintf("few%d", queries)))
	}
	g.JMP(operand.LabelRef("keys"))
	for queries := 1; queries <= fewQueries; queries++ {
		f.few(queries)
	}
	g.Label("keys")
	f.prefetch("keys")
	g.CMPQ(f.left, operand.Imm(1))
	g.JNE(operand.LabelRef("two"))
	g.Comment("A last key is the second one, too.")
	for _, stride := range []reg.GPVirtual{f.w, f.ldk, f.lsc} {
		g.XORQ(stride, stride)
	}
	g.Label("two")
	g.MOVQ(g.Memory(g.Param("q").Base()), f.q)
	g.XORQ(f.lane, f.lane)
	g.Label("queries")
	f.tile()
	g.ADDQ(operand.Imm(codeLanes), f.lane)
	g.CMPQ(f.lane, g.Argument("n"))
	g.JL(operand.LabelRef("queries"))
	g.LEAQ(emit.Indexed(f.k, f.ldk, 2), f.k)
	g.LEAQ(emit.Indexed(f.s, f.w, 2), f.s)
	g.LEAQ(emit.Indexed(f.scale, f.lsc, 2), f.scale)
	g.SUBQ(operand.Imm(2), f.left)
	g.JG(operand.LabelRef("keys"))
	g.Label("done")
	g.Return()
}

type keyCodes struct {
	g      *gen
	s, w   reg.GPVirtual // scores of key 0, bytes from a key to the next
	k, ldk reg.GPVirtual // key 0
	scale  reg.GPVirtual // of key 0
	lsc    reg.GPVirtual
	q, d   reg.GPVirtual
	next   reg.GPVirtual
	lane   reg.GPVirtual // first query
	left   operand.Mem
}

func (g *gen) newKeyCodes() *keyCodes {
	f := &keyCodes{g: g, s: g.Slice("s"), w: g.SliceLen("max"), k: g.Slice("k"), ldk: g.Num("ldk"), scale: g.Slice("scales"), lsc: g.Stride("lsc"),
		q: g.GP64(), d: g.Num("d"), next: g.Slice("next"), lane: g.GP64(), left: g.Argument("m")}
	g.SHLQ(operand.Imm(2), f.w)
	return f
}

// prefetch emits the prefetches of two later keys.
func (f *keyCodes) prefetch(name string) {
	g, next := f.g, f.next
	g.PREFETCHT0(emit.At(next, 0))
	g.PREFETCHT0(emit.Indexed(next, f.ldk, 1))
	g.CMPQ(f.d, operand.Imm(spec.LineBytes))
	g.JLE(operand.LabelRef(name + "narrow"))
	g.PREFETCHT0(emit.At(next, spec.LineBytes))
	g.PREFETCHT0(emit.Indexed(next, f.ldk, 1).Offset(spec.LineBytes))
	g.Label(name + "narrow")
	g.LEAQ(emit.Indexed(next, f.ldk, 2), next)
}

// fewQueries is the most queries for which a tile has more keys instead: one query and 8 keys, or two and 4. Keys that are
// left over take the tile of four queries, two of which repeat another one.
const fewQueries = 2

// few emits the loop over such tiles.
func (f *keyCodes) few(queries int) {
	g, keys, name := f.g, 8/queries, fmt.Sprintf("few%d", queries)
	g.Commentf("%d keys by %d queries.", keys, queries)
	g.Label(name)
	g.CMPQ(f.left, operand.Imm(uint64(keys)))
	g.JL(operand.LabelRef(name + "rest"))
	for i := range keys / 2 {
		f.prefetch(fmt.Sprintf("%s%d", name, i))
	}
	acc := g.Vecs(8)
	for _, v := range acc {
		g.VPXOR(v, v, v)
	}
	ldk3, left := g.GP64(), g.GP64()
	rows := []reg.GPVirtual{g.GP64(), g.GP64()}
	g.LEAQ(emit.Indexed(f.ldk, f.ldk, 2), ldk3)
	g.MOVQ(f.k, rows[0])
	g.LEAQ(emit.Indexed(f.k, f.ldk, 4), rows[1])
	g.MOVQ(g.Memory(g.Param("q").Base()), f.q)
	g.MOVQ(f.d, left)
	g.AlignLoop()
	g.Label(name + "columns")
	q := g.Vecs(queries)
	for i, v := range q {
		g.VMOVDQU(emit.At(f.q, i*g.VecBytes()), v)
	}
	for i := range keys {
		row, k := rows[i/4], g.Vec()
		g.VPMOVSXBW([]operand.Mem{emit.At(row, 0), emit.Indexed(row, f.ldk, 1), emit.Indexed(row, f.ldk, 2), emit.Indexed(row, ldk3, 1)}[i%4], k)
		for j, v := range q {
			p := k
			if j+1 < queries {
				p = g.Vec()
			}
			g.VPMADDWD(v, k, p)
			g.VPADDD(p, acc[i*queries+j], acc[i*queries+j])
		}
	}
	g.ADDQ(operand.Imm(uint64(codeLanes*g.VecBytes())), f.q)
	g.Advance(codeColumns, rows[:(keys+3)/4]...)
	g.SUBQ(operand.Imm(codeColumns), left)
	g.JNZ(operand.LabelRef(name + "columns"))
	f.storeFew(f.sums([2][]reg.VecVirtual{acc[:4], acc[4:]}), queries)
	g.LEAQ(emit.Indexed(f.k, f.ldk, uint8(keys)), f.k)
	g.SUBQ(operand.Imm(uint64(keys)), f.left)
	g.JMP(operand.LabelRef(name))
	g.Label(name + "rest")
	g.CMPQ(f.left, operand.Imm(0))
	g.JE(operand.LabelRef("done"))
	g.JMP(operand.LabelRef("keys"))
}

// storeFew is store for the sums of several keys, with the queries of a key side by side. The lanes up to the
// fourth repeat the last query. It goes on to the next scores and scales.
func (f *keyCodes) storeFew(x reg.VecVirtual, queries int) {
	g, keys := f.g, 8/queries
	p, scale, unit := g.Slice("unit"), g.Vec(), g.Vec()
	if queries == 1 {
		g.VBROADCASTSS(emit.At(p, 0), unit)
	} else {
		g.VBROADCASTSD(emit.At(p, 0), unit)
	}
	g.VMULPS(unit, x, x)
	for i := range keys {
		to := scale
		if i > 0 {
			to = g.Vec()
		}
		g.VBROADCASTSS(emit.At(f.scale, 0), to)
		g.ADDQ(f.lsc, f.scale)
		if i > 0 {
			g.VBLENDPS(operand.Imm(uint64((1<<queries-1)<<(i*queries))), to, scale, scale)
		}
	}
	g.VMULPS(scale, x, x)
	upper, max, top := g.XMM(), g.XMM(), g.Slice("max")
	g.VEXTRACTF128(operand.Imm(1), x, upper)
	g.VMOVUPS(emit.At(top, 0), max)
	for i := range keys {
		var from reg.Register = x.AsX()
		if i >= keys/2 {
			from = upper
		}
		first, lanes := i%(keys/2)*queries, g.XMM()
		order := 0
		for lane := range codeLanes {
			order |= (first + min(lane, queries-1)) << (2 * lane)
		}
		g.VPERMILPS(operand.Imm(uint64(order)), from, lanes)
		g.VMOVUPS(lanes, emit.At(f.s, 0))
		g.VMAXPS(max, lanes, max)
		g.ADDQ(f.w, f.s)
	}
	g.VMOVUPS(max, emit.At(top, 0))
}

// tile emits the scores of two keys and four queries.
func (f *keyCodes) tile() {
	g := f.g
	acc := [2][]reg.VecVirtual{g.Vecs(codeLanes), g.Vecs(codeLanes)}
	second, x := g.GP64(), g.GP64()
	g.LEAQ(emit.Indexed(f.k, f.ldk, 1), second)
	g.Comment("The first columns, then the others.")
	f.step(emit.At(f.k, 0), emit.At(second, 0), func(i, key int, q operand.Mem, k reg.VecVirtual) { g.VPMADDWD(q, k, acc[key][i]) })
	g.MOVQ(operand.U32(codeColumns), x)
	g.CMPQ(x, f.d)
	g.JGE(operand.LabelRef("sums"))
	g.AlignLoop()
	g.Label("columns")
	f.step(emit.Indexed(f.k, x, 1), emit.Indexed(second, x, 1), func(i, key int, q operand.Mem, k reg.VecVirtual) {
		p := g.Vec()
		g.VPMADDWD(q, k, p)
		g.VPADDD(p, acc[key][i], acc[key][i])
	})
	g.ADDQ(operand.Imm(codeColumns), x)
	g.CMPQ(x, f.d)
	g.JL(operand.LabelRef("columns"))
	g.Label("sums")
	sums := f.sums(acc)
	f.store(sums)
}

// step emits the products of some columns of two keys and four queries.
func (f *keyCodes) step(key0, key1 operand.Mem, product func(i, key int, q operand.Mem, k reg.VecVirtual)) {
	g, k := f.g, f.g.Vecs(2)
	g.VPMOVSXBW(key0, k[0])
	g.VPMOVSXBW(key1, k[1])
	for i := range codeLanes {
		q := emit.At(f.q, i*g.VecBytes())
		product(i, 0, q, k[0])
		product(i, 1, q, k[1])
	}
	g.ADDQ(operand.Imm(uint64(codeLanes*g.VecBytes())), f.q)
}

// sums adds up the lanes of accumulators.
func (f *keyCodes) sums(acc [2][]reg.VecVirtual) reg.VecVirtual {
	g := f.g
	var halves [2]reg.VecVirtual
	for i, a := range acc {
		halves[i] = f.addLanes(a)
	}
	sum, upper := g.Vec(), g.Vec()
	g.VPERM2I128(operand.Imm(0x20), halves[1], halves[0], sum)
	g.VPERM2I128(operand.Imm(0x31), halves[1], halves[0], upper)
	g.VPADDD(upper, sum, sum)
	g.VCVTDQ2PS(sum, sum)
	return sum
}

// addLanes adds the four lanes of each quarter of four vectors: lane i of a quarter is the sum of those of a[i].
func (f *keyCodes) addLanes(a []reg.VecVirtual) reg.VecVirtual {
	g := f.g
	add := func(x, y reg.VecVirtual, low, high func(...operand.Op)) reg.VecVirtual {
		l := g.Vec()
		low(y, x, l)
		high(y, x, x)
		g.VPADDD(l, x, x)
		return x
	}
	return add(add(a[0], a[1], g.VPUNPCKLDQ, g.VPUNPCKHDQ), add(a[2], a[3], g.VPUNPCKLDQ, g.VPUNPCKHDQ), g.VPUNPCKLQDQ, g.VPUNPCKHQDQ)
}

// store multiplies the scores by the queries' units and the keys' scales, stores them and raises the maxima.
func (f *keyCodes) store(x reg.VecVirtual) {
	g := f.g
	unit, scale, other := g.Vec(), g.Vec(), g.Vec()
	p, to := g.Slice("unit"), g.GP64()
	g.VBROADCASTF128(emit.Indexed(p, f.lane, 4), unit)
	g.VMULPS(unit, x, x)
	g.VBROADCASTSS(emit.At(f.scale, 0), scale)
	g.VBROADCASTSS(emit.Indexed(f.scale, f.lsc, 1), other)
	g.VBLENDPS(operand.Imm(0xf0), other, scale, scale)
	g.VMULPS(scale, x, x)
	g.LEAQ(emit.Indexed(f.s, f.w, 1), to)
	upper, max := g.XMM(), g.XMM()
	g.VEXTRACTF128(operand.Imm(1), x, upper)
	g.VMOVUPS(x.AsX(), emit.Indexed(f.s, f.lane, 4))
	g.VMOVUPS(upper, emit.Indexed(to, f.lane, 4))
	top := g.Slice("max")
	g.VMOVUPS(emit.Indexed(top, f.lane, 4), max)
	g.VMAXPS(max, x.AsX(), max)
	g.VMAXPS(max, upper, max)
	g.VMOVUPS(max, emit.Indexed(top, f.lane, 4))
}

// valueCodes takes 16 columns and up to four queries at a time, with columns in the lanes. Words of two rows of V
// are interleaved, so that VPMADDWD adds their products. Of each query one accumulator has columns 0-3
// and 8-11 then, the other one the rest.
func (g *gen) valueCodes() {
	g.Kernel(spec.PVCodes)
	f := g.newValueCodes()
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

func (g *gen) newValueCodes() *valueCodes {
	return &valueCodes{g: g, o: g.Slice("o"), ldo: g.Stride("ldo"), v: g.Slice("v"), ldv: g.Num("ldv"), pairs: g.Slice("pairs"), ldp: g.Stride("ldp"),
		column: g.GP64(), left: g.Argument("n"), unit: g.Memory(g.Param("unit").Base())}
}

// nextQueries goes on by so many queries, and compares what is left with 0.
func (f *valueCodes) nextQueries(n uint64) {
	g, bytes := f.g, f.g.GP64()
	g.Commentf("The next %d queries.", n)
	g.IMUL3Q(operand.Imm(n), f.ldo, bytes)
	g.ADDQ(bytes, f.o)
	g.ADDQ(operand.Imm(4*n), f.pairs)
	g.ADDQ(operand.Imm(4*n), f.unit)
	g.SUBQ(operand.Imm(n), f.left)
}

type valueCodes struct {
	g          *gen
	o, ldo     reg.GPVirtual
	v, ldv     reg.GPVirtual
	pairs, ldp reg.GPVirtual
	column     reg.GPVirtual
	left, unit operand.Mem

	row, pair, second reg.GPVirtual // of two rows; second is the distance of the second one
	next, onward      reg.GPVirtual // the prefetch of a step, and its distance to that of the next step
}

// group emits all columns of a number of queries.
func (f *valueCodes) group(queries int) {
	g, name := f.g, fmt.Sprintf("queries%d", queries)
	g.Commentf("%d queries.", queries)
	g.Label(name)
	g.XORQ(f.column, f.column)
	f.startPrefetch(name)
	g.Label(name + "columns")
	acc := [2][]reg.VecVirtual{g.Vecs(queries), g.Vecs(queries)}
	for _, a := range acc {
		for _, v := range a {
			g.VPXOR(v, v, v)
		}
	}
	f.start(name)
	count := g.Num("m")
	g.MOVQ(f.ldv, f.second)
	g.SHRQ(operand.Imm(1), count)
	g.JZ(operand.LabelRef(name + "odd"))
	g.AlignLoop()
	g.Label(name + "pair")
	f.step(acc)
	f.prefetch()
	g.DECQ(count)
	g.JNZ(operand.LabelRef(name + "pair"))
	g.Label(name + "odd")
	g.MOVQ(g.Argument("m"), count)
	g.ANDQ(operand.Imm(1), count)
	g.JZ(operand.LabelRef(name + "sums"))
	g.Comment("A last row, whose second has weights of 0.")
	g.XORQ(f.second, f.second)
	f.step(acc)
	g.Label(name + "sums")
	f.store(acc, name)
	g.ADDQ(operand.Imm(codeColumns), f.column)
	g.CMPQ(f.column, g.Argument("dv"))
	g.JL(operand.LabelRef(name + "columns"))
	g.JMP(operand.LabelRef("next"))
}

// startPrefetch begins with the rows that are needed soon. Rows without gaps are prefetched in the order of
// memory, as many bytes in a step as it reads, so each line twice: from memory, Zen 3 takes half the time that prefetches of
// one column of lines after the other take.
func (f *valueCodes) startPrefetch(name string) {
	g := f.g
	f.next, f.onward = g.Slice("next"), g.GP64()
	g.MOVQ(operand.U32(2*codeColumns), f.onward)
	g.CMPQ(f.ldv, g.Argument("dv"))
	g.JE(operand.LabelRef(name + "dense"))
	g.LEAQ(emit.Indexed(f.ldv, f.ldv, 1), f.onward)
	g.Label(name + "dense")
}

// start goes to the first rows of the current columns. If rows have gaps, the prefetches of four blocks of columns
// take the lines that these lie in, of every second row in turn.
func (f *valueCodes) start(name string) {
	g := f.g
	f.row, f.pair, f.second = g.GP64(), g.GP64(), g.GP64()
	g.LEAQ(emit.Indexed(f.v, f.column, 1), f.row)
	g.MOVQ(f.pairs, f.pair)
	g.CMPQ(f.onward, operand.Imm(2*codeColumns))
	g.JE(operand.LabelRef(name + "onward"))
	g.MOVQ(f.column, f.second)
	g.SHRQ(operand.Imm(4), f.second)
	g.ANDQ(operand.Imm(1), f.second)
	g.IMULQ(f.ldv, f.second)
	g.MOVQ(f.column, f.next)
	g.ANDQ(operand.I32(-spec.LineBytes), f.next)
	g.ADDQ(f.second, f.next)
	g.ADDQ(g.Slice("next"), f.next)
	g.Label(name + "onward")
}

// step emits the products of two rows.
func (f *valueCodes) step(acc [2][]reg.VecVirtual) {
	g := f.g
	rows, v := g.Vecs(2), g.Vecs(2)
	g.VPMOVSXBW(emit.At(f.row, 0), rows[0])
	g.VPMOVSXBW(emit.Indexed(f.row, f.second, 1), rows[1])
	g.VPUNPCKLWD(rows[1], rows[0], v[0])
	g.VPUNPCKHWD(rows[1], rows[0], v[1])
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

// nextPair goes on to the next two rows.
func (f *valueCodes) nextPair() {
	f.g.LEAQ(emit.Indexed(f.row, f.ldv, 2), f.row)
	f.g.ADDQ(f.ldp, f.pair)
}

// prefetch emits the prefetch of a step.
func (f *valueCodes) prefetch() {
	f.g.PREFETCHT0(emit.At(f.next, 0))
	f.g.ADDQ(f.onward, f.next)
}

// store adds the sums, times the units of the queries, to the output, or writes them.
func (f *valueCodes) store(acc [2][]reg.VecVirtual, name string) {
	g := f.g
	to, unit := g.GP64(), g.GP64()
	each := func(do func(u, x reg.VecVirtual, m operand.Mem)) {
		g.LEAQ(emit.Indexed(f.o, f.column, 4), to)
		g.MOVQ(f.unit, unit)
		for i := range acc[0] {
			u := g.Vec()
			g.VBROADCASTSS(emit.At(unit, 4*i), u)
			for half, order := range []uint64{0x20, 0x31} {
				x := g.Vec()
				g.VPERM2I128(operand.Imm(order), acc[1][i], acc[0][i], x)
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
