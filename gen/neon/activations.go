package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The activations follow amd64/activations.go. As a fused multiply-add overwrites its addend,
// the second float of a square has the opposite sign here, and is subtracted.

// An activation loads its constants and returns its computation, in place.
type activation func(g *neon) (compute func(x a64.Vec))

func (g *neon) SiLU()      { g.activate(spec.SiLU, "src", "", (*neon).silu) }
func (g *neon) GELU()      { g.activate(spec.GELU, "src", "", (*neon).gelu) }
func (g *neon) GELUTanh()  { g.activate(spec.GELUTanh, "src", "", (*neon).geluTanh) }
func (g *neon) SwiGLU()    { g.activate(spec.SwiGLU, "gate", "up", (*neon).silu) }
func (g *neon) GeGLU()     { g.activate(spec.GeGLU, "gate", "up", (*neon).gelu) }
func (g *neon) GeGLUTanh() { g.activate(spec.GeGLUTanh, "gate", "up", (*neon).geluTanh) }

func (g *neon) activate(f spec.Function, of, factor string, a activation) {
	g.Kernel(f)
	g.elementwise(of, factor, a(g))
}

// expSplit emits k = c·high plus the number that rounds it, which leaves n in its low bits,
// and r = c·high - n.
func (g *neon) expSplit(k, r, c, high, round a64.Vec) {
	g.Commentf("t = n + r, n an integer in the low bits of k.")
	g.Op("VORR", round.B16(), round.B16(), k.B16())
	g.Op("VFMLA", high.S4(), c.S4(), k.S4())
	g.FSUB(r, round, k)
	g.Op("VFMLA", high.S4(), c.S4(), r.S4())
}

// expPolynomial emits p = 2^r by Horner's rule.
func (g *neon) expPolynomial(e emit.Exp2Regs, p, r a64.Vec) {
	g.Scope(func() {
		g.Commentf("The polynomial in r, by Horner's rule.")
		g.Horner(e, []a64.Vec{p}, []a64.Vec{r}, g.Vecs(1))
	})
}

// polynomialRegs loads the constants of expPolynomial.
func (g *neon) polynomialRegs() emit.Exp2Regs {
	e := emit.Exp2Regs{Domain: emit.AllNumbers, Coefficients: g.GP(), Highest: g.Vec()}
	g.Op("MOVD", g.Exp2Consts[emit.AllNumbers], e.Coefficients)
	g.LoadFrom(a64.At(e.Coefficients, 6*emit.VecBytes), e.Highest)
	return e
}

// A quotient holds the constants of SiLU and GELUTanh: z/(1+2^t).
type quotient struct {
	exp                                   emit.Exp2Regs
	lowest, highest, round, one, exponent a64.Vec
}

func (g *neon) quotient(lowest, highest uint32) quotient {
	return quotient{g.polynomialRegs(), g.Broadcast(lowest), g.Broadcast(highest), g.Broadcast(spec.RoundMagic), g.Broadcast(spec.One), g.Broadcast(spec.Exponent)}
}

// limit emits x, at least the lowest, and c = x, at most the highest. A NaN stays.
func (g *neon) limit(q quotient, x, c a64.Vec) {
	g.FMAX(x, x, q.lowest)
	g.FMIN(c, x, q.highest)
}

// divide emits z/(1+2^t), t = c·(high+low), in place of z.
func (g *neon) divide(q quotient, z, c, high, low a64.Vec) {
	g.Scope(func() {
		k, r, p, half := g.Vec(), g.Vec(), g.Vec(), g.Vec()
		g.expSplit(k, r, c, high, q.round)
		g.Op("VFMLA", low.S4(), c.S4(), r.S4())
		g.expPolynomial(q.exp, p, r)
		g.Commentf("z/(g + 2^t·g)·g with g = 2^-(n/2).")
		g.Op("VSHL", 22, k.S4(), half.S4())
		g.Op("VAND", q.exponent.B16(), half.B16(), half.B16())
		g.Op("VSHL", 23, k.S4(), k.S4())
		g.Op("VADD", k.S4(), p.S4(), p.S4())
		g.Op("VSUB", half.S4(), p.S4(), p.S4())
		g.Op("VSUB", half.S4(), q.one.S4(), half.S4())
		g.FADD(p, p, half)
		g.FDIV(z, z, p)
		g.FMUL(z, z, half)
	})
}

func (g *neon) silu() func(x a64.Vec) {
	q := g.quotient(spec.SiLULowest, spec.SiLUHighest)
	high, low := g.Broadcast(spec.NegLog2EHigh), g.Broadcast(spec.NegLog2ELow)
	return func(x a64.Vec) {
		g.Scope(func() {
			c := g.Vec()
			g.limit(q, x, c)
			g.divide(q, x, c, high, low)
		})
	}
}

func (g *neon) geluTanh() func(x a64.Vec) {
	q := g.quotient(spec.GELUTanhLowest, spec.GELUTanhHighest)
	c0, c0Low := g.Broadcast(spec.TanhC0High), g.Broadcast(spec.TanhC0Low)
	c1, c1Low := g.Broadcast(spec.TanhC1High), g.Broadcast(spec.TanhC1Low)
	return func(x a64.Vec) {
		g.Scope(func() {
			c, s, e, high, low := g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec()
			g.limit(q, x, c)
			g.square(s, e, c)
			g.Commentf("high + low = C0 + C1·c²")
			g.Op("VORR", c0.B16(), c0.B16(), high.B16())
			g.Op("VFMLA", c1.S4(), s.S4(), high.S4())
			g.FSUB(low, c0, high)
			g.Op("VFMLA", c1.S4(), s.S4(), low.S4())
			g.Op("VFMLA", c1Low.S4(), s.S4(), low.S4())
			g.Op("VFMLS", c1.S4(), e.S4(), low.S4())
			g.FADD(low, low, c0Low)
			g.divide(q, x, c, high, low)
		})
	}
}

// square emits s - e = a², exactly.
func (g *neon) square(s, e, a a64.Vec) {
	g.Commentf("s - e is the square.")
	g.FMUL(s, a, a)
	g.Op("VORR", s.B16(), s.B16(), e.B16())
	g.Op("VFMLS", a.S4(), a.S4(), e.S4())
}

// GELU has tables of 8 numbers in two registers each, like tanh. They leave no room for its
// other constants, which are loaded where they are used.

// The places of constants in geluData, after the tables.
const (
	geluLowest = iota
	geluHighest
	geluDensity
	geluStart
	geluRound
	geluHigh
	geluLow
	geluUnscale
	geluSpread
	geluBytes
	geluValues
)

func geluData() []uint32 {
	words := append([]uint32{}, spec.GELUC...)
	for _, t := range spec.GELUT {
		words = append(words, t...)
	}
	for _, bits := range [geluValues]uint32{
		geluLowest: spec.GELULowest, geluHighest: spec.GELUHighest, geluDensity: spec.GELUDensity, geluStart: spec.GELUStart, geluRound: spec.GELURound,
		geluHigh: spec.GELUHigh, geluLow: spec.GELULow, geluUnscale: spec.GELUUnscale,
		geluSpread: tanhSpread, geluBytes: firstBytes,
	} {
		words = append(words, bits, bits, bits, bits)
	}
	return words
}

// firstBytes are the numbers of the bytes of a table's first number.
const firstBytes = 0x03020100

// geluTables is the number of tables: the points, and a coefficient of every degree.
const geluTables = 1 + len(spec.GELUT)

// A geluRegs holds the tables of GELU and the place of its constants.
type geluRegs struct {
	tables [geluTables][]a64.Vec // two registers that follow each other
	data   a64.GP
	exp    emit.Exp2Regs
}

// geluRegs loads the tables. The two registers of a table follow each other if no register
// was freed before.
func (g *neon) geluRegs() geluRegs {
	e := geluRegs{data: g.GP()}
	g.Op("MOVD", g.geluConsts, e.data)
	for i := range e.tables {
		e.tables[i] = g.Vecs(2)
		for half, v := range e.tables[i] {
			g.LoadFrom(a64.At(e.data, (2*i+half)*emit.VecBytes), v)
		}
	}
	e.exp = g.polynomialRegs()
	return e
}

// value loads a constant.
func (g *neon) geluValue(e geluRegs, value int) a64.Vec {
	v := g.Vec()
	g.LoadFrom(a64.At(e.data, (2*geluTables+value)*emit.VecBytes), v)
	return v
}

func (g *neon) gelu() func(x a64.Vec) {
	e := g.geluRegs()
	return func(x a64.Vec) {
		g.Scope(func() {
			a, t, p := g.Vec(), g.Vec(), g.Vec()
			g.Scope(func() {
				g.FMAX(a, x, g.geluValue(e, geluLowest))
				g.FMIN(a, a, g.geluValue(e, geluHighest))
				g.FABS(a, a)
			})
			g.Scope(func() { g.geluTail(e, t, a) })
			g.Scope(func() { g.geluPower(e, p, a) })
			g.Commentf("max(x, 0) - T·2^t; the maximum of +0 and -0 is x, and that of a NaN.")
			g.Zero(a)
			g.FCMGT(a, a, x)
			g.BIC(x, x, a)
			g.Op("VFMLS", p.S4(), t.S4(), x.S4())
		})
	}
}

// geluTail emits t = T(a), a polynomial around the point of the interval in which a lies.
func (g *neon) geluTail(e geluRegs, t, a a64.Vec) {
	k, d, f := g.Vec(), g.Vec(), g.Vec()
	g.Commentf("The interval of a, as the numbers of the bytes of its numbers in the tables.")
	g.Scope(func() {
		start, density := g.geluValue(e, geluStart), g.geluValue(e, geluDensity)
		g.Op("VORR", start.B16(), start.B16(), f.B16())
		g.Op("VFMLA", density.S4(), a.S4(), f.S4())
		g.Op("VSUB", start.S4(), f.S4(), f.S4())
		g.Op("VUSHR", spec.GELUInterval, f.S4(), f.S4())
	})
	g.Scope(func() {
		g.LoadFrom(a64.At(e.data, (2*geluTables+geluBytes)*emit.VecBytes), k)
		g.MLA(k, f, g.geluValue(e, geluSpread))
	})
	g.Commentf("T(a), a polynomial in the distance from its point.")
	g.lookUp(d, e.tables[0], k)
	g.FSUB(d, a, d)
	last := geluTables - 1
	g.lookUp(t, e.tables[last], k)
	for c := last - 1; c >= 1; c-- {
		g.lookUp(f, e.tables[c], k)
		g.Op("VFMLA", d.S4(), t.S4(), f.S4())
		t, f = f, t // the sixth and last step ends in t again
	}
}

// geluPower emits p = e^(-a²/2).
func (g *neon) geluPower(e geluRegs, p, a a64.Vec) {
	s, rest, k, r := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.square(s, rest, a)
	g.Scope(func() {
		high := g.geluValue(e, geluHigh)
		g.expSplit(k, r, s, high, g.geluValue(e, geluRound))
		g.Op("VFMLA", g.geluValue(e, geluLow).S4(), s.S4(), r.S4())
		g.Op("VFMLS", high.S4(), rest.S4(), r.S4())
	})
	g.expPolynomial(e.exp, p, r)
	g.Op("VSHL", 23, k.S4(), k.S4())
	g.Op("VADD", k.S4(), p.S4(), p.S4())
	g.Scope(func() { g.FMUL(p, p, g.geluValue(e, geluUnscale)) })
}
