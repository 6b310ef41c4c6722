package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The activations follow package fallback. All of them take an exponential, a polynomial by
// Horner's rule, with integers added to the exponents of floats. SiLU and GELUTanh divide,
// GELU takes a second polynomial, whose coefficients come from tables of 8 points.

// An activation emits the constants and the computation of a function. compute overwrites x
// and returns the result.
type activation func(g *gen) (init func(), compute func(x reg.VecVirtual) reg.VecVirtual)

func (g *gen) SiLU()      { g.activate(spec.SiLU, (*gen).silu) }
func (g *gen) GELU()      { g.activate(spec.GELU, (*gen).gelu) }
func (g *gen) GELUTanh()  { g.activate(spec.GELUTanh, (*gen).geluTanh) }
func (g *gen) SwiGLU()    { g.gate(spec.SwiGLU, (*gen).silu) }
func (g *gen) GeGLU()     { g.gate(spec.GeGLU, (*gen).gelu) }
func (g *gen) GeGLUTanh() { g.gate(spec.GeGLUTanh, (*gen).geluTanh) }

// activate emits an activation over a slice.
func (g *gen) activate(f spec.Function, a activation) {
	init, compute := a(g)
	g.each(f, init, compute)
}

// gate emits the gated form: the result for an element of gate times the element of up.
func (g *gen) gate(f spec.Function, a activation) {
	init, compute := a(g)
	g.Kernel(f)
	dst, gate, up, count := g.Slice("dst"), g.Slice("gate"), g.Slice("up"), g.SliceLen("dst")
	init()
	g.elementwise(dst, gate, count, func(i reg.Register, x reg.VecVirtual) reg.VecVirtual {
		y := compute(x)
		g.VMULPS(emit.Indexed(up, i, 4), y, y)
		return y
	}, func(i reg.Register, x reg.VecVirtual) reg.VecVirtual {
		y := compute(x)
		g.VMULSS(emit.Indexed(up, i, 4), y.AsX(), y.AsX())
		return y
	})
}

// exponential are the constants of 2^t.
type exponential struct {
	round  operand.Op
	factor [len(spec.Exp2Coefficients)]operand.Op
}

func (g *gen) exponential(round uint32) exponential {
	e := exponential{round: g.AtHand(g.Constant(round))}
	for i, bits := range spec.Exp2Coefficients {
		e.factor[i] = g.AtHand(g.Constant(bits))
	}
	return e
}

// split emits k = c·high plus the number that rounds it, and r = c·high - n.
func (e exponential) split(g *gen, c reg.Register, high operand.Op) (k, r reg.VecVirtual) {
	g.Comment("t = n + r, n an integer in the low bits of k.")
	k, r = g.Vec(), g.Vec()
	g.VMOVUPS(e.round, k)
	g.VFMADD231PS(high, c, k)
	g.VMOVUPS(e.round, r)
	g.VSUBPS(k, r, r)
	g.VFMADD231PS(high, c, r)
	return k, r
}

// polynomial emits p = 2^r by Horner's rule.
func (e exponential) polynomial(g *gen, r reg.Register) (p reg.VecVirtual) {
	g.Comment("The polynomial in r, by Horner's rule.")
	p = g.Vec()
	last := len(e.factor) - 1
	g.VMOVUPS(e.factor[last-1], p)
	g.VFMADD231PS(e.factor[last], r, p)
	for c := last - 2; c >= 0; c-- {
		g.VFMADD213PS(e.factor[c], r, p)
	}
	return p
}

// A quotient holds the constants of SiLU and GELUTanh: z/(1+2^t).
type quotient struct {
	exponential
	lowest, one reg.VecVirtual
	highest     operand.Op
	exponent    operand.Op // all bits but the low 23
}

func (g *gen) quotient(lowest, highest uint32) quotient {
	q := quotient{lowest: g.Vec(), one: g.Vec()}
	g.VMOVUPS(g.Constant(lowest), q.lowest)
	g.VMOVUPS(g.Constant(spec.One), q.one)
	q.highest, q.exponent = g.AtHand(g.Constant(highest)), g.AtHand(g.Constant(spec.Exponent))
	q.exponential = g.exponential(spec.RoundMagic)
	return q
}

// limit emits z = x, at least lowest, in place of x, and c = z, at most highest. A NaN stays
// in z.
func (q quotient) limit(g *gen, x reg.VecVirtual) (z, c reg.VecVirtual) {
	c = g.Vec()
	g.VMAXPS(x, q.lowest, x)
	g.VMINPS(q.highest, x, c)
	return x, c
}

// divide emits z/(1+2^t), t = c·(high+low), in place of z.
func (q quotient) divide(g *gen, z, c reg.VecVirtual, high, low operand.Op) reg.VecVirtual {
	k, r := q.split(g, c, high)
	g.VFMADD231PS(low, c, r)
	p := q.polynomial(g, r)
	g.Comment("z/(g + 2^t·g)·g with g = 2^-(n/2).")
	half := g.Vec()
	g.VPSLLD(operand.Imm(22), k, half)
	g.VANDPS(q.exponent, half, half)
	g.VPSLLD(operand.Imm(23), k, k)
	g.VPADDD(k, p, p)
	g.VPSUBD(half, p, p)
	g.VPSUBD(half, q.one, half)
	g.VADDPS(half, p, p)
	g.VDIVPS(p, z, z)
	g.VMULPS(half, z, z)
	return z
}

func (g *gen) silu() (init func(), compute func(x reg.VecVirtual) reg.VecVirtual) {
	var q quotient
	var high, low operand.Op
	return func() {
			q = g.quotient(spec.SiLULowest, spec.SiLUHighest)
			high, low = g.AtHand(g.Constant(spec.NegLog2EHigh)), g.AtHand(g.Constant(spec.NegLog2ELow))
		}, func(x reg.VecVirtual) reg.VecVirtual {
			z, c := q.limit(g, x)
			return q.divide(g, z, c, high, low)
		}
}

// geluTanh computes t = c·(high+low) from high+low = C0 + C1·c², whose square is a sum of
// two floats, too.
func (g *gen) geluTanh() (init func(), compute func(x reg.VecVirtual) reg.VecVirtual) {
	var q quotient
	var c0, c0Low, c1, c1Low operand.Op
	return func() {
			q = g.quotient(spec.GELUTanhLowest, spec.GELUTanhHighest)
			c0, c0Low = g.AtHand(g.Constant(spec.TanhC0High)), g.AtHand(g.Constant(spec.TanhC0Low))
			c1, c1Low = g.AtHand(g.Constant(spec.TanhC1High)), g.AtHand(g.Constant(spec.TanhC1Low))
		}, func(x reg.VecVirtual) reg.VecVirtual {
			z, c := q.limit(g, x)
			s, e := g.square(c)
			g.Comment("high + low = C0 + C1·c²")
			high, low := g.Vec(), g.Vec()
			g.VMOVUPS(c0, high)
			g.VFMADD231PS(c1, s, high)
			g.VMOVUPS(c0, low)
			g.VSUBPS(high, low, low)
			g.VFMADD231PS(c1, s, low)
			g.VFMADD231PS(c1Low, s, low)
			g.VFMADD231PS(c1, e, low)
			g.VADDPS(c0Low, low, low)
			return q.divide(g, z, c, high, low)
		}
}

// square emits s + e = a², exactly.
func (g *gen) square(a reg.Register) (s, e reg.VecVirtual) {
	s, e = g.Vec(), g.Vec()
	g.Comment("s + e is the square.")
	g.VMULPS(a, a, s)
	g.VMOVAPS(s, e)
	g.VFMSUB231PS(a, a, e)
	return s, e
}

// gelu is max(x, 0) - T(a)·e^(-a²/2), where a is |x| within limits. VMAXPS returns x if that is
// ±0 or a NaN.
func (g *gen) gelu() (init func(), compute func(x reg.VecVirtual) reg.VecVirtual) {
	var e exponential
	var sign, lowest, zero reg.VecVirtual
	var highest, high, low, unscale, density, start, points operand.Op
	var tables [len(spec.GELUT)]operand.Op
	return func() {
			sign, lowest, zero = g.Vec(), g.Vec(), g.Vec()
			g.VMOVUPS(g.Constant(spec.SignBit), sign)
			g.VMOVUPS(g.Constant(spec.GELULowest), lowest)
			g.Zero(g.Context, zero)
			e = g.exponential(spec.GELURound)
			highest = g.Constant(spec.GELUHighest)
			high, low, unscale = g.Constant(spec.GELUHigh), g.Constant(spec.GELULow), g.Constant(spec.GELUUnscale)
			density, start = g.Constant(spec.GELUDensity), g.Constant(spec.GELUStart)
			points = g.Repeated("geluC", spec.GELUC...)
			for i, t := range spec.GELUT {
				tables[i] = g.Repeated(fmt.Sprintf("geluT%d", i), t...)
			}
		}, func(x reg.VecVirtual) reg.VecVirtual {
			a := g.Vec()
			g.VMAXPS(x, lowest, a)
			g.VMINPS(highest, a, a)
			g.VANDNPS(a, sign, a)
			t := g.geluTail(a, density, start, points, tables[:])
			s, rest := g.square(a)
			k, r := e.split(g, s, high)
			g.VFMADD231PS(low, s, r)
			g.VFMADD231PS(high, rest, r)
			p := e.polynomial(g, r)
			g.Comment("max(x, 0) - T·2^t")
			g.VPSLLD(operand.Imm(23), k, k)
			g.VPADDD(k, p, p)
			g.VMULPS(unscale, p, p)
			g.VMAXPS(x, zero, x)
			g.VFNMADD231PS(p, t, x)
			return x
		}
}

// geluTail emits T(a), a polynomial around the point of the interval in which a lies.
func (g *gen) geluTail(a reg.Register, density, start, points operand.Op, tables []operand.Op) (t reg.VecVirtual) {
	g.Comment("The interval i of a.")
	i, d := g.Vec(), g.Vec()
	g.VMOVUPS(start, i)
	g.VFMADD231PS(density, a, i)
	g.VPSUBD(start, i, i)
	g.VPSRLD(operand.Imm(spec.GELUInterval), i, i)
	g.Comment("T(a), a polynomial in the distance from its point.")
	g.VPERMPS(points, i, d)
	g.VSUBPS(d, a, d)
	last := len(tables) - 1
	t = g.Vec()
	g.VPERMPS(tables[last], i, t)
	for c := last - 1; c >= 0; c-- {
		f := g.Vec()
		g.VPERMPS(tables[c], i, f)
		g.VFMADD213PS(f, d, t)
	}
	return t
}
