package emit

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const exp2Numbers = len(spec.Exp2Coefficients) + 1

// Exp2Operands returns the coefficients and then the limit below which 2^x is 0, -126 or -100, each
// in a register if the ISA has enough of them, else in memory.
func (g *Gen) Exp2Operands(limit uint32) []operand.Op {
	ops := make([]operand.Op, 0, exp2Numbers)
	for _, bits := range append(spec.Exp2Coefficients[:], limit) {
		ops = append(ops, g.AtHand(g.Constant(bits)))
	}
	return ops
}

// Exp2Vectors emits p = 2^x for several vectors at once, which hide each other's latency. x is
// overwritten.
func (g *Gen) Exp2Vectors(ops []operand.Op, xs []reg.VecVirtual) []reg.VecVirtual {
	ns, rs, ps := g.Vecs(len(xs)), g.Vecs(len(xs)), g.Vecs(len(xs))
	keep := make([]reg.Register, len(xs))
	g.Comment("exp2: x = n + r, n an integer; lanes below the limit are not kept.")
	for i := range xs {
		keep[i] = g.Split(g.Context, xs[i], ns[i], rs[i], ops[7])
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
		g.Scale(g.Context, ps[i], ns[i], keep[i])
	}
	return ps
}

// FiniteMax emits z = m with 0 for -Inf: a lane that has seen no key must get weights 0,
// and -Inf - -Inf would be NaN.
func (g *Gen) FiniteMax(m reg.Register) reg.VecVirtual {
	z := g.Vec()
	g.Comment("z = m, 0 for -Inf.")
	g.VMOVAPS(m, z)
	g.ZeroWhere(g.Context, z, m, g.Constant(spec.MinusInf))
	return z
}
