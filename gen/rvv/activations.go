package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// An activation and its gated form are one function, which both jump to. In place of the capacity of dst they say
// whether there is a factor.

func (g *gen) SiLU()     { g.activate(spec.SiLU, spec.SwiGLU, g.silu) }
func (g *gen) GELU()     { g.activate(spec.GELU, spec.GeGLU, g.gelu) }
func (g *gen) GELUTanh() { g.activate(spec.GELUTanh, spec.GeGLUTanh, g.geluTanh) }

// activate emits an activation and its gated form. constants loads what compute takes, which works in place.
func (g *gen) activate(f, gated spec.Function, constants func() (compute func(x riscv.Vec))) {
	name := gated.Symbol("Any" + isa)
	for i, f := range []spec.Function{f, gated} {
		g.kernel(f)
		x := g.GP()
		g.Op("MOV", i, x)
		g.Op("MOV", x, g.Cap("dst").Local())
		g.TailJump(name)
	}
	g.Func = g.file.Func(name, g.contracts.Signature(&gated), name+" is "+f.Symbol(isa)+" or "+gated.Symbol(isa)+", which jump to it.")
	dst, gate, up, factor := g.Load(g.Base("dst")), g.Load(g.Base("gate")), g.GP(), g.Load(g.Cap("dst"))
	g.Op("MOV", riscv.Zero, up)
	g.Jump("BEQZ", "alone", factor)
	g.Op("MOV", g.Base("up"), up)
	g.Label("alone")
	x := g.Vec(group)
	var compute func(x riscv.Vec)
	g.each(g.Load(g.Len("dst")), group, []riscv.GP{dst, gate, up}, func() { compute = constants() }, func() {
		g.Op("VLE32V", riscv.At(gate, 0), x)
		compute(x)
		g.Jump("BEQZ", "product", factor)
		g.Scope(func() {
			f := g.Vec(group)
			g.Op("VLE32V", riscv.At(up, 0), f)
			g.Op("VFMULVV", f, x, x)
		})
		g.Label("product")
		g.Op("VSE32V", x, riscv.At(dst, 0))
	})
}

// split emits k = c·high plus the number that rounds it, which leaves n in its low bits, and r = c·high - n.
func (g *gen) split(k, r, c riscv.Vec, high any, round riscv.FP) {
	g.Commentf("t = n + r, n an integer in the low bits of k.")
	g.Op("VFMVVF", round, k)
	g.mac(high, c, k)
	g.Op("VFRSUBVF", round, k, r)
	g.mac(high, c, r)
}

// A quotient holds the constants of SiLU and GELUTanh: z/(1+2^t).
type quotient struct {
	*gen
	polynomial             polynomial
	lowest, highest, round riscv.FP
	exponent, one          riscv.GP
}

func (g *gen) quotient(lowest, highest uint32) *quotient {
	q := &quotient{gen: g, polynomial: g.newPolynomial(spec.Exp2Coefficients[:], true), lowest: g.Float(lowest), highest: g.Float(highest), round: g.Float(spec.RoundMagic),
		exponent: g.GP(), one: g.GP()}
	exponent := uint32(spec.Exponent)
	g.Op("MOV", int(int32(exponent)), q.exponent)
	g.Op("MOV", spec.One, q.one)
	return q
}

// limit emits x, at least the lowest, and c = x, at most the highest. A NaN stays in x.
func (q *quotient) limit(x, c riscv.Vec) {
	q.Op("VMFLTVF", q.lowest, x, riscv.V0)
	q.Op("VFMERGEVFM", q.lowest, x, riscv.V0, x)
	q.Op("VFMINVF", q.highest, x, c)
}

// divide emits z/(1+2^t), t = c·(high+low), in place of z. c is of scratch then.
func (q *quotient) divide(z, c riscv.Vec, high, low any) {
	q.Scope(func() {
		k, r, p, half := q.Vec(group), q.Vec(group), q.Vec(group), c
		q.split(k, r, c, high, q.round)
		q.mac(low, c, r)
		q.horner(q.polynomial, r, p)
		q.Commentf("z/(g + 2^t·g)·g with g = 2^-(n/2).")
		q.Op("VSLLVI", 22, k, half)
		q.Op("VANDVX", q.exponent, half, half)
		q.Op("VSLLVI", 23, k, k)
		q.Op("VADDVV", k, p, p)
		q.Op("VSUBVV", half, p, p)
		q.Op("VRSUBVX", q.one, half, half)
		q.Op("VFADDVV", half, p, p)
		q.Op("VFDIVVV", p, z, z)
		q.Op("VFMULVV", half, z, z)
	})
}

func (g *gen) silu() func(x riscv.Vec) {
	q := g.quotient(spec.SiLULowest, spec.SiLUHighest)
	high, low, c := g.Float(spec.NegLog2EHigh), g.Float(spec.NegLog2ELow), g.Vec(group)
	return func(x riscv.Vec) {
		q.limit(x, c)
		q.divide(x, c, high, low)
	}
}

func (g *gen) geluTanh() func(x riscv.Vec) {
	q := g.quotient(spec.GELUTanhLowest, spec.GELUTanhHighest)
	c0, c0Low, c1, c1Low := g.Float(spec.TanhC0High), g.Float(spec.TanhC0Low), g.Float(spec.TanhC1High), g.Float(spec.TanhC1Low)
	c, high, low := g.Vec(group), g.Vec(group), g.Vec(group)
	return func(x riscv.Vec) {
		q.limit(x, c)
		g.Scope(func() {
			s, e := g.Vec(group), g.Vec(group)
			g.square(s, e, c)
			g.Commentf("high + low = C0 + C1·c²")
			g.Op("VFMVVF", c0, high)
			g.mac(c1, s, high)
			g.Op("VFRSUBVF", c0, high, low)
			g.mac(c1, s, low)
			g.mac(c1Low, s, low)
			g.mac(c1, e, low)
			g.Op("VFADDVF", c0Low, low, low)
		})
		q.divide(x, c, high, low)
	}
}

// square emits s + e = a², exactly.
func (g *gen) square(s, e, a riscv.Vec) {
	g.Commentf("s + e is the square.")
	g.Op("VFMULVV", a, a, s)
	g.Op("VMVVV", s, e)
	g.Op("VFMSACVV", a, a, e)
}

const geluTables = "geluRVV"

// geluWords are the points that GELU expands around, and the coefficients of its polynomials, one table each.
func geluWords() []uint32 {
	words := append([]uint32{}, spec.GELUC...)
	for _, t := range spec.GELUT {
		words = append(words, t...)
	}
	return words
}

// gelu is max(x, 0) - T·e^(-a²/2), a = |x|. Its tables leave no room for other constants in vectors.
func (g *gen) gelu() func(x riscv.Vec) {
	tables := g.tables(geluTables, 1+len(spec.GELUT))
	exp2 := g.newPolynomial(spec.Exp2Coefficients[:], false)
	lowest, highest, round := g.Float(spec.GELULowest), g.Float(spec.GELUHighest), g.Float(spec.GELURound)
	high, low, unscale, density := g.Float(spec.GELUHigh), g.Float(spec.GELULow), g.Float(spec.GELUUnscale), g.Float(spec.GELUDensity)
	start, startBits, zero := g.Float(spec.GELUStart), g.GP(), g.Float(0)
	g.Op("MOV", spec.GELUStart, startBits)
	return func(x riscv.Vec) {
		a, p := g.Vec(group), g.Vec(group)
		g.Op("VFMAXVF", lowest, x, a)
		g.Op("VFMINVF", highest, a, a)
		g.Op("VFABSV", a, a)
		g.Scope(func() {
			s, rest, k, r := g.Vec(group), g.Vec(group), g.Vec(group), p
			g.square(s, rest, a)
			g.split(k, r, s, high, round)
			g.mac(low, s, r)
			g.mac(high, rest, r)
			g.horner(exp2, r, s)
			g.Op("VSLLVI", 23, k, k)
			g.Op("VADDVV", k, s, s)
			g.Op("VFMULVF", unscale, s, p)
		})
		d, f, t := g.Vec(group), g.Vec(group), g.Vec(group)
		g.Commentf("The interval of a, and T(a), a polynomial in the distance from its point.")
		g.Op("VFMVVF", start, f)
		g.mac(density, a, f)
		g.Op("VSUBVX", startBits, f, f)
		g.Op("VSRLVI", spec.GELUInterval, f, f)
		g.Op("VANDVI", 7, f, f)
		g.Op("VRGATHERVV", f, tables[0], d)
		g.Op("VFSUBVV", d, a, d)
		k, y := f, a
		last := len(tables) - 1
		g.Op("VRGATHERVV", k, tables[last], t)
		for c := last - 1; c >= 1; c-- {
			g.Op("VRGATHERVV", k, tables[c], y)
			g.mac(t, d, y)
			t, y = y, t
		}
		g.Commentf("max(x, 0) - T·2^t; the maximum of +0 and -0 is x, and that of a NaN.")
		g.Op("VMFLTVF", zero, x, riscv.V0)
		g.Op("VMERGEVXM", riscv.Zero, x, riscv.V0, x)
		g.Op("VFNMSACVV", p, t, x)
	}
}
