package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp2Coefficients are those of the contract's polynomial, as float32 bits, the
// constant term first. On [-1/2, 1/2] it is 2^r within 0.80 ulp, rounding
// included, as tried for all floats.
var exp2Coefficients = [...]uint32{0x3f800000, 0x3f317218, 0x3e75fdee, 0x3d6357be, 0x3c1d96f0, 0x3aaf8418, 0x3920b5ae}

const (
	minus126    = 0xc2fc0000
	plus128     = 0x43000000
	minusInf    = 0xff800000
	exp2Numbers = len(exp2Coefficients) + 1
)

// exp2Operands are the coefficients, then -126: in registers where the ISA has
// enough of them, else in memory.
func (g *gen) exp2Operands() []operand.Op {
	ops := make([]operand.Op, 0, exp2Numbers)
	for _, bits := range append(exp2Coefficients[:], minus126) {
		ops = append(ops, g.atHand(g.constant(bits)))
	}
	return ops
}

// exp2 emits p = 2^x for several vectors at once, so that one's latency hides
// behind the others. x is overwritten.
func (g *gen) exp2(ops []operand.Op, xs []reg.VecVirtual) []reg.VecVirtual {
	ns, rs, ps := g.vectorsOf(len(xs)), g.vectorsOf(len(xs)), g.vectorsOf(len(xs))
	keep := make([]reg.Register, len(xs))
	g.Comment("exp2: x = n + r, n an integer; lanes below -126 are not kept.")
	for i := range xs {
		keep[i] = g.split(g.Context, xs[i], ns[i], rs[i], ops[7])
	}
	g.Comment("The polynomial in r, by Horner's rule.")
	for i := range xs {
		g.VMOVUPS(ops[5], ps[i])
	}
	for i := range xs {
		g.VFMADD231PS(ops[6], rs[i], ps[i]) // c5 + c6·r
	}
	for c := 4; c >= 0; c-- {
		for i := range xs {
			g.VFMADD213PS(ops[c], rs[i], ps[i]) // c + p·r
		}
	}
	g.Comment("Scale by 2^n.")
	for i := range xs {
		g.scale(g.Context, ps[i], ns[i], keep[i])
	}
	return ps
}

// finiteMax emits z = m with 0 for -Inf: a lane that has seen no key must give
// weights 0, and -Inf - -Inf would be NaN.
func (g *gen) finiteMax(m reg.Register) reg.VecVirtual {
	z := g.vec()
	g.Comment("z = m, 0 for -Inf.")
	g.VMOVAPS(m, z)
	g.zeroWhere(g.Context, z, m, g.constant(minusInf))
	return z
}
