package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fewLanes is the number of queries that fewSoftmax is for: a quarter of a vector, or
// half of one.
const fewLanes = 4

// fewSoftmax is softmax for 4 lanes, with a row in every quarter of a vector: 4 rows
// a turn, for which exp2 is computed once, or twice side by side. The quarters are added to
// the sums one after the other:
//
//	s[j..j+3][4] ──► x     p = exp2(x - m)     sum += p's quarter 0, 1, 2, 3     p ──► s
//
// These additions are one chain, as the contract has them, and the rest of a turn does
// not wait for it: the processor works on the next ones meanwhile.
//
// Vector registers: maximum, sum, x, n, r and p, of AVX2 two of each of the latter, and
// with 32 registers the 8 constants of exp2.
func (g *gen) fewSoftmax() {
	g.function(fewSoftmaxFunction)
	f := &fewSoftmaxer{gen: g, s: g.slice("s"), ld: g.stride("ld"), ld3: g.GP64(), sum: g.XMM()}
	left, m := g.num("n"), g.vec()
	g.repeatQuarter(g.Context, at(g.slice("max"), 0), m)
	f.z = g.finiteMax(m)
	g.VXORPS(f.sum, f.sum, f.sum)
	f.ops = g.exp2Operands()
	g.LEAQ(indexed(f.ld, f.ld, 2), f.ld3)
	g.SUBQ(operand.Imm(4), left)
	g.JL(operand.LabelRef("rest"))
	g.align()
	g.Label("turn")
	f.turn()
	g.LEAQ(indexed(f.s, f.ld, 4), f.s)
	g.SUBQ(operand.Imm(4), left)
	g.JGE(operand.LabelRef("turn"))
	g.Comment("What is left, row by row.")
	g.Label("rest")
	g.ADDQ(operand.Imm(4), left)
	g.JZ(operand.LabelRef("done"))
	g.Label("row")
	f.single()
	g.ADDQ(f.ld, f.s)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("row"))
	g.Label("done")
	g.VMOVUPS(f.sum, at(g.slice("sum"), 0))
	g.ret()
}

type fewSoftmaxer struct {
	*gen
	s, ld, ld3 reg.GPVirtual // of the turn, the strides in bytes
	z          reg.VecVirtual
	sum        reg.VecVirtual
	ops        []operand.Op
}

// turn does 4 rows.
func (f *fewSoftmaxer) turn() {
	quarters := f.lanes() / fewLanes
	xs := f.vectorsOf(4 / quarters)
	for v := range xs {
		f.loadQuarters(f.Context, xs[v], func(q int) operand.Mem { return f.row(v*quarters + q) })
	}
	for i, p := range f.weights(xs) {
		for q := range quarters {
			f.finish(f.quarter(f.Context, p, q), f.row(i*quarters+q))
		}
	}
}

// single does one row, with zeros in the other quarters.
func (f *fewSoftmaxer) single() {
	x := f.vec()
	loadFirst(f.Context, f.row(0), x, x.AsX())
	f.finish(f.weights([]reg.VecVirtual{x})[0].AsX(), f.row(0))
}

// row is the memory of row i of the turn.
func (f *fewSoftmaxer) row(i int) operand.Mem {
	return [...]operand.Mem{at(f.s, 0), indexed(f.s, f.ld, 1), indexed(f.s, f.ld, 2), indexed(f.s, f.ld3, 1)}[i]
}

// weights are those of scores, which are overwritten.
func (f *fewSoftmaxer) weights(xs []reg.VecVirtual) []reg.VecVirtual {
	for _, x := range xs {
		f.VSUBPS(f.z, x, x)
	}
	return f.exp2(f.ops, xs)
}

// finish stores a row's weights and adds them to the sums.
func (f *fewSoftmaxer) finish(p reg.Register, row operand.Mem) {
	f.VMOVUPS(p, row)
	f.VADDPS(p, f.sum, f.sum)
}
