package emit

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// exp2 uses no conversion, which only half of a core's vector units execute, or one. A
// number of magnitude below 2^22 plus 1.5·2^23 is rounded to an integer, ties to even, which
// is in the low bits of the sum: n. With 128 more (an even number, so that ties do not
// change) the low bits are n+128, and shifted into the exponent they are 2^(n+1). So the
// polynomial must be half of 2^r. Halving all coefficients halves every step exactly, as no
// step is near the subnormals, and the last product is exact, too. Unlike a sum with the
// exponent it keeps a NaN, whatever its bits.
//
// Horner's steps overwrite their addend, so each loads its coefficient anew: there are loads
// to spare, and a copy would take a vector unit.

// roundAndBias is 1.5·2^23 + 128.
const roundAndBias = 0x4b400080

// exp2Table has the coefficients of half the polynomial, four times each, the constant term first.
func exp2Table() (words []uint32) {
	for _, c := range spec.Exp2Coefficients {
		c -= 1 << 23
		words = append(words, c, c, c, c)
	}
	return words
}

// An Exp2Regs holds the constants of exp2.
type Exp2Regs struct {
	coefficients a64.GP
	highest      a64.Vec // coefficient
	round        a64.Vec
	limit        a64.Vec // below it 2^x is 0
	minusInf     a64.Vec
}

// NewExp2 loads the constants of an exp2 for numbers up to 0 that is 0 below limit, -126 or -100.
func (g *Gen) NewExp2(limit uint32) Exp2Regs {
	e := Exp2Regs{coefficients: g.GP(), highest: g.Vec()}
	g.Op("MOVD", g.exp2Consts, e.coefficients)
	g.LoadFrom(a64.At(e.coefficients, 6*VecBytes), e.highest)
	e.round, e.limit, e.minusInf = g.Broadcast(roundAndBias), g.Broadcast(limit), g.Broadcast(spec.MinusInf)
	return e
}

// Exp2Vectors emits 2^x, in place of x, for several vectors at once.
func (g *Gen) Exp2Vectors(e Exp2Regs, xs []a64.Vec) {
	g.Scope(func() {
		ns, rs, ts, drop := g.Vecs(len(xs)), g.Vecs(len(xs)), g.Vecs(len(xs)), g.Vecs(len(xs))
		g.Commentf("exp2: x = n + r, n an integer; lanes below the limit are dropped.")
		for i, x := range xs {
			g.FADD(ns[i], x, e.round)
			g.FSUB(rs[i], ns[i], e.round)
			g.FSUB(rs[i], x, rs[i])
			g.FCMGT(drop[i], e.limit, x)
		}
		g.Commentf("Half of the polynomial in r, by Horner's rule.")
		g.horner(e, xs, rs, ts)
		g.Commentf("Scale by 2^(n+1).")
		for i, x := range xs {
			g.Op("VSHL", 23, ns[i].S4(), ns[i].S4())
			g.FMUL(x, x, ns[i])
			g.BIC(x, x, drop[i])
		}
	})
}

// horner emits the polynomial of r into p. t is scratch.
func (g *Gen) horner(e Exp2Regs, ps, rs, ts []a64.Vec) {
	for c := 5; c >= 0; c-- {
		next := ps
		if c%2 == 1 {
			next = ts // the sixth and last step ends in p
		}
		for i := range rs {
			factor := e.highest
			if c < 5 {
				factor = ps[i]
				if c%2 == 0 {
					factor = ts[i]
				}
			}
			g.LoadFrom(a64.At(e.coefficients, c*VecBytes), next[i])
			g.Op("VFMLA", rs[i].S4(), factor.S4(), next[i].S4())
		}
	}
}

// FiniteMax emits m = 0 for -Inf: a lane that has seen no key must get weights 0, and
// -Inf - -Inf would be NaN.
func (g *Gen) FiniteMax(e Exp2Regs, m a64.Vec) {
	g.Scope(func() {
		none := g.Vec()
		g.FCMEQ(none, m, e.minusInf)
		g.BIC(m, m, none)
	})
}
