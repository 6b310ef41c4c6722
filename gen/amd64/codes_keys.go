package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keyCodes takes two keys and four queries at a time, with columns in the lanes: keys are read as
// they lie, one after the other. The lanes of the eight accumulators are added at the end,
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

// fewQueries is the most queries for which a tile has more keys instead: one query and 8 keys, or
// two and 4. Keys that are left over take the tile of four queries, two of which repeat another
// one.
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

// storeFew is store for the sums of several keys, with the queries of a key side by side. The lanes
// up to the fourth repeat the last query. It goes on to the next scores and scales.
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

// addLanes adds the four lanes of each quarter of four vectors: lane i of a quarter is the sum of
// the lanes of a[i].
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

// store multiplies the scores by the queries' units and the keys' scales, stores them and raises
// the maxima.
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
