package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Additive has hidden units in the lanes: K is read as it lies, in the order in which it
// lies, and the rows that will be needed soon are prefetched, so that all of it comes from
// memory while tanh, which is nearly all of the time, is computed. The contract's 16
// chains are a vector with AVX-512, two with AVX2, and a line of the cache. Steps do not
// wait for each other, and neither do scores: the CPU adds up the chains of one while it
// takes tanh for the next.
//
// General registers: pointers behind a row of k, of q, of what is prefetched and of the
// weights, with one index that runs from -length to 0; the score, the first one of the
// query, the keys and the queries left, and two strides.
func (g *gen) Additive() {
	g.function(spec.Additive)
	a := adder{gen: g, k: g.GP64(), next: g.GP64(), weights: g.slice("weights"), length: g.sliceLen("weights"), q: g.slice("q"), score: g.GP64()}
	first, keys, queries := g.slice("s"), g.GP64(), g.num("n")
	ld, ldk := g.stride("ld"), g.stride("ldk")
	a.tanh = g.tanhOperands()
	g.LEAQ(indexed(a.weights, a.length, 4), a.weights)
	g.LEAQ(indexed(a.q, a.length, 4), a.q)
	g.TESTQ(queries, queries)
	g.JZ(operand.LabelRef("done"))
	g.Label("query")
	g.Load(g.Param("m"), keys)
	g.TESTQ(keys, keys)
	g.JZ(operand.LabelRef("done"))
	g.Load(g.Param("k").Base(), a.k)
	g.LEAQ(indexed(a.k, a.length, 4), a.k)
	g.Load(g.Param("next").Base(), a.next)
	g.LEAQ(indexed(a.next, a.length, 4), a.next)
	g.MOVQ(first, a.score)
	g.Label("key")
	a.one()
	g.ADDQ(ldk, a.k)
	g.ADDQ(ldk, a.next)
	g.ADDQ(ld, a.score)
	g.DECQ(keys)
	g.JNZ(operand.LabelRef("key"))
	g.Load(g.Param("ldq"), keys)
	g.LEAQ(indexed(a.q, keys, 4), a.q)
	g.ADDQ(operand.Imm(4), first)
	g.DECQ(queries)
	g.JNZ(operand.LabelRef("query"))
	g.Label("done")
	g.ret()
}

type adder struct {
	*gen
	k, next, q, weights reg.GPVirtual
	length, score       reg.GPVirtual
	tanh                tanhOperands
}

// one emits one score.
func (g adder) one() {
	acc := g.vectorsOf(spec.AdditiveChains / g.lanes())
	for _, v := range acc {
		g.zero(g.Context, v)
	}
	x := g.GP64()
	g.MOVQ(g.length, x)
	g.NEGQ(x)
	g.JZ(operand.LabelRef("sum"))
	g.align()
	g.Label("step")
	g.PREFETCHT0(indexed(g.next, x, 4))
	for v := range acc {
		part := func(end reg.Register) operand.Mem {
			m := indexed(end, x, 4)
			m.Disp = v * g.bytes()
			return m
		}
		s := g.vec()
		g.VMOVUPS(part(g.k), s)
		g.VADDPS(part(g.q), s, s)
		g.VFMADD231PS(part(g.weights), g.gen.tanh(g.tanh, s), acc[v])
	}
	g.ADDQ(operand.Imm(spec.AdditiveChains), x)
	g.JNZ(operand.LabelRef("step"))
	g.Label("sum")
	g.VMOVSS(g.sumOfHalves(acc), at(g.score, 0))
}

// sumOfHalves adds the upper half of all lanes to the lower one until one is left.
func (g *gen) sumOfHalves(v []reg.VecVirtual) reg.Register {
	for ; len(v) > 1; v = v[:len(v)/2] {
		for i, upper := range v[len(v)/2:] {
			g.VADDPS(upper, v[i], v[i])
		}
	}
	y := v[0].AsY()
	if g.lanes() == 16 {
		upper := g.YMM()
		g.VEXTRACTF64X4(operand.Imm(1), v[0], upper)
		g.VADDPS(upper, y, y)
	}
	x, upper := v[0].AsX(), g.XMM()
	g.VEXTRACTF128(operand.Imm(1), y, upper)
	g.VADDPS(upper, x, x)
	g.VMOVHLPS(x, x, upper)
	g.VADDPS(upper, x, x)
	g.VMOVSHDUP(x, upper)
	g.VADDSS(upper, x, x)
	return x
}
