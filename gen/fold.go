package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold merges the statistics of a block into the running ones, one vector of
// lanes at a time:
//
//	m' = max(blockMax, max), z = m' with 0 for -Inf
//	alpha = exp2(max - z), beta = exp2(blockMax - z)
//	sum = fma(blockSum, beta, sum·alpha), max = m'
func (g *gen) fold() {
	g.function(mergeStatsFunction)
	names := []string{"max", "sum", "blockMax", "blockSum", "alpha", "beta"}
	p := map[string]reg.GPVirtual{}
	for _, n := range names {
		p[n] = g.slice(n)
	}
	left := g.sliceLen("max")
	ops := g.exp2Operands()
	g.Comment("One vector of lanes: m' = max(blockMax, max).")
	g.Label("columns")
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef("done"))

	m, mb, next := g.vec(), g.vec(), g.vec()
	g.VMOVUPS(at(p["max"], 0), m)
	g.VMOVUPS(at(p["blockMax"], 0), mb)
	g.VMAXPS(m, mb, next)
	g.VMOVUPS(next, at(p["max"], 0))
	z := g.finiteMax(next)
	g.VSUBPS(z, m, m)
	g.VSUBPS(z, mb, mb)
	es := g.exp2(ops, []reg.VecVirtual{m, mb})
	g.VMOVUPS(es[0], at(p["alpha"], 0))
	g.VMOVUPS(es[1], at(p["beta"], 0))
	g.Comment("sum = fma(blockSum, beta, sum·alpha)")
	sum := g.vec()
	g.VMULPS(at(p["sum"], 0), es[0], sum)
	g.VFMADD231PS(at(p["blockSum"], 0), es[1], sum)
	g.VMOVUPS(sum, at(p["sum"], 0))

	for _, n := range names {
		g.ADDQ(operand.U32(g.bytes()), p[n])
	}
	g.SUBQ(operand.U32(g.lanes()), left)
	g.JMP(operand.LabelRef("columns"))
	g.Label("done")
	g.ret()
}
