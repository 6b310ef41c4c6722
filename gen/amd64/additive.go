package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/lane"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Additive has the hidden units in the lanes. It reads K as it lies and in the order in
// which it lies, and prefetches the rows that will be needed soon. So all of K comes from
// memory while tanh is computed, which takes nearly all of the time. The contract's 16
// chains are one vector with AVX-512, two with AVX2, and one cache line. Steps do not
// depend on each other, and neither do scores: the CPU adds up the chains of one score
// while it computes tanh for the next.
//
// General registers: pointers to the ends of a row of k, of q, of the prefetched rows and
// of the weights, with one index that runs from -length to 0; the score, the first score
// of the query, the keys and the queries left, and two strides.
func (g *gen) Additive() {
	g.Kernel(spec.Additive)
	a := adder{g: g, k: g.GP64(), next: g.GP64(), weights: g.Slice("weights"), length: g.SliceLen("weights"), q: g.Slice("q"), score: g.GP64()}
	first, keys, queries := g.Slice("s"), g.GP64(), g.Num("n")
	ld, ldk := g.Stride("ld"), g.Stride("ldk")
	a.tanh = g.inline((*lane.Builder).Tanh, 1, spec.AdditiveChains/g.Lanes())
	g.LEAQ(emit.Indexed(a.weights, a.length, 4), a.weights)
	g.LEAQ(emit.Indexed(a.q, a.length, 4), a.q)
	loop.AnyTimes(g, queries, "query", "done", false, func() {
		g.Load(g.Param("m"), keys)
		g.JumpIfZero(keys, "done")
		g.Load(g.Param("k").Base(), a.k)
		g.LEAQ(emit.Indexed(a.k, a.length, 4), a.k)
		g.Load(g.Param("next").Base(), a.next)
		g.LEAQ(emit.Indexed(a.next, a.length, 4), a.next)
		g.MOVQ(first, a.score)
		loop.Times(g, keys, "key", func() {
			a.one()
			g.ADDQ(ldk, a.k)
			g.ADDQ(ldk, a.next)
			g.ADDQ(ld, a.score)
		})
		g.Load(g.Param("ldq"), keys)
		g.LEAQ(emit.Indexed(a.q, keys, 4), a.q)
		g.ADDQ(operand.Imm(4), first)
	})
	g.Return()
}

type adder struct {
	g                   *gen
	k, next, q, weights reg.GPVirtual
	length, score       reg.GPVirtual
	tanh                *lane.Frame[reg.VecVirtual]
}

// one emits one score.
func (g adder) one() {
	acc := g.g.Vecs(spec.AdditiveChains / g.g.Lanes())
	for _, v := range acc {
		g.g.Zero(g.g.Context, v)
	}
	x := g.g.GP64()
	g.g.MOVQ(g.length, x)
	g.g.NEGQ(x)
	g.g.JZ(operand.LabelRef("sum"))
	g.g.AlignLoop()
	g.g.Label("step")
	g.g.PREFETCHT0(emit.Indexed(g.next, x, 4))
	for v := range acc {
		part := func(end reg.Register) operand.Mem {
			m := emit.Indexed(end, x, 4)
			m.Disp = v * g.g.VecBytes()
			return m
		}
		s := g.g.Vec()
		g.g.VMOVUPS(part(g.k), s)
		g.g.VADDPS(part(g.q), s, s)
		g.g.VFMADD231PS(part(g.weights), g.tanh.Of(s)[0], acc[v])
	}
	g.g.ADDQ(operand.Imm(spec.AdditiveChains), x)
	g.g.JNZ(operand.LabelRef("step"))
	g.g.Label("sum")
	g.g.VMOVSS(g.g.sumOfHalves(acc), emit.At(g.score, 0))
}

// sumOfHalves adds the upper half of all lanes to the lower half until one lane is left.
func (g *gen) sumOfHalves(v []reg.VecVirtual) reg.Register {
	for ; len(v) > 1; v = v[:len(v)/2] {
		for i, upper := range v[len(v)/2:] {
			g.VADDPS(upper, v[i], v[i])
		}
	}
	y := v[0].AsY()
	if g.Lanes() == 16 {
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
