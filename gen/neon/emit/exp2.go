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
// For all x up to 128 that range is too small: then n is added to the exponent of the whole
// polynomial, which leaves no bit for n+128, and NaNs are restored.
//
// Horner's steps overwrite their addend, so each loads its coefficient anew: there are loads
// to spare, and a copy would take a vector unit.

// roundAndBias is 1.5·2^23 + 128.
const roundAndBias = 0x4b400080

// A domain is the set of arguments of an exp2.
type domain int

const (
	NotPositive domain = iota
	AllNumbers         // up to 128, and NaN
)

func (d domain) table() string { return [...]string{"exp2NEON", "exp2AllNEON"}[d] }

// coefficients are those of the polynomial, four times each, the constant term first.
func (d domain) coefficients() []uint32 {
	var words []uint32
	for _, c := range spec.Exp2Coefficients {
		if d == NotPositive {
			c -= 1 << 23 // half
		}
		words = append(words, c, c, c, c)
	}
	return words
}

// round is the number that rounds x to n, in the low bits of the sum.
func (d domain) round() uint32 {
	if d == NotPositive {
		return roundAndBias
	}
	return spec.RoundMagic
}

// An Exp2Regs holds the constants of exp2.
type Exp2Regs struct {
	Domain       domain
	Coefficients a64.GP
	Highest      a64.Vec // coefficient
	round        a64.Vec
	limit        a64.Vec // below it 2^x is 0
	MinusInf     a64.Vec
}

// NewExp2 loads the constants of an exp2 that is 0 below limit, -126 or -100.
func (g *Gen) NewExp2(d domain, limit uint32) Exp2Regs {
	e := Exp2Regs{Domain: d, Coefficients: g.GP(), Highest: g.Vec()}
	g.Op("MOVD", g.Exp2Consts[d], e.Coefficients)
	g.LoadFrom(a64.At(e.Coefficients, 6*VecBytes), e.Highest)
	e.round, e.limit, e.MinusInf = g.Broadcast(d.round()), g.Broadcast(limit), g.Broadcast(spec.MinusInf)
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
		g.Commentf("The polynomial in r, or half of it, by Horner's rule.")
		g.Horner(e, xs, rs, ts)
		g.Commentf("Scale by 2^n, or twice that.")
		for i, x := range xs {
			g.Op("VSHL", 23, ns[i].S4(), ns[i].S4())
			if e.Domain == NotPositive {
				g.FMUL(x, x, ns[i])
			} else {
				g.Op("VADD", ns[i].S4(), x.S4(), x.S4())
				g.FCMEQ(ts[i], rs[i], rs[i])
				g.Op("VBIF", ts[i].B16(), rs[i].B16(), x.B16())
			}
			g.BIC(x, x, drop[i])
		}
	})
}

// Horner emits the polynomial of r into p. t is scratch.
func (g *Gen) Horner(e Exp2Regs, ps, rs, ts []a64.Vec) {
	for c := 5; c >= 0; c-- {
		next := ps
		if c%2 == 1 {
			next = ts // the sixth and last step ends in p
		}
		for i := range rs {
			factor := e.Highest
			if c < 5 {
				factor = ps[i]
				if c%2 == 0 {
					factor = ts[i]
				}
			}
			g.LoadFrom(a64.At(e.Coefficients, c*VecBytes), next[i])
			g.Op("VFMLA", rs[i].S4(), factor.S4(), next[i].S4())
		}
	}
}

// FiniteMax emits m = 0 for -Inf: a lane that has seen no key must get weights 0, and
// -Inf - -Inf would be NaN.
func (g *Gen) FiniteMax(e Exp2Regs, m a64.Vec) {
	g.Scope(func() {
		none := g.Vec()
		g.FCMEQ(none, m, e.MinusInf)
		g.BIC(m, m, none)
	})
}
