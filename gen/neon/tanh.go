package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// tanh follows amd64/tanh.go. Tables of 8 numbers are two registers, from which TBL
// takes bytes: a product spreads the number k of the point to the four bytes of a lane,
// 4·k and on.

const (
	tanhSpread = 0x04040404
	// The product of tanhSpread with the bits of 1.5·2^23 is subtracted, the numbers of
	// bytes are added.
	tanhBytes = (0x03020100 - spec.RoundMagic*tanhSpread%(1<<32) + 1<<32) % (1 << 32)
)

// tanhData are the tables, then all coefficients but the highest, four times each.
func tanhData() []uint32 {
	words := append(append(append([]uint32{}, spec.TanhC...), spec.TanhT...), spec.TanhV...)
	for _, c := range spec.TanhCoefficients[:3] {
		words = append(words, c, c, c, c)
	}
	return words
}

// A tanhValues holds the constants of tanh: 13 vectors.
type tanhValues struct {
	c, t, v                []a64.Vec // two registers that follow each other
	coefficients           a64.GP
	highest                a64.Vec // coefficient
	sign, limit, density   a64.Vec
	round, spread, numbers a64.Vec
}

// tanhRegs loads them. It must come before other vectors are allocated, so that the two
// registers of a table follow each other.
func (g *neon) tanhRegs() tanhValues {
	e := tanhValues{coefficients: g.GP()}
	g.Op("MOVD", g.tanhConsts, e.coefficients)
	for _, table := range []*[]a64.Vec{&e.c, &e.t, &e.v} {
		*table = g.Vecs(2)
		for _, v := range *table {
			g.Op("FMOVQ.P", a64.At(e.coefficients, emit.VecBytes), v)
		}
	}
	e.highest = g.Broadcast(spec.TanhCoefficients[3])
	e.sign, e.limit, e.density = g.Broadcast(spec.SignBit), g.Broadcast(spec.TanhLimit), g.Broadcast(spec.TanhDensity)
	e.round, e.spread, e.numbers = g.Broadcast(spec.RoundMagic), g.Broadcast(tanhSpread), g.Broadcast(tanhBytes)
	return e
}

// lookUp emits d = the numbers of a table, by the numbers k of their bytes.
func (g *neon) lookUp(d a64.Vec, table []a64.Vec, k a64.Vec) {
	g.Op("VTBL", k.B16(), []a64.Arr{table[0].B16(), table[1].B16()}, d.B16())
}

// tanh emits tanh(x), in place, for several vectors at once. It takes 5 more for each.
func (g *neon) tanh(e tanhValues, xs []a64.Vec) {
	g.Scope(func() {
		n := len(xs)
		r, k, u, h, t := g.Vecs(n), g.Vecs(n), g.Vecs(n), g.Vecs(n), g.Vecs(n)
		g.Commentf("tanh: the point c nearest to |x|, and r = |x|-c.")
		for i, x := range xs {
			g.FABS(r[i], x)
			g.FMIN(r[i], r[i], e.limit)
			g.Op("VORR", e.round.B16(), e.round.B16(), t[i].B16())
			g.Op("VORR", e.numbers.B16(), e.numbers.B16(), k[i].B16())
			g.Op("VFMLA", e.density.S4(), r[i].S4(), t[i].S4())
			g.MLA(k[i], t[i], e.spread)
			g.lookUp(u[i], e.c, k[i])
			g.FSUB(r[i], r[i], u[i])
		}
		g.Commentf("h, a polynomial in r².")
		for i := range xs {
			g.LoadFrom(a64.At(e.coefficients, 2*emit.VecBytes), h[i])
			g.FMUL(u[i], r[i], r[i])
			g.Op("VFMLA", e.highest.S4(), u[i].S4(), h[i].S4())
		}
		for i := range xs {
			g.LoadFrom(a64.At(e.coefficients, emit.VecBytes), t[i])
			g.Op("VFMLA", h[i].S4(), u[i].S4(), t[i].S4())
		}
		for i := range xs {
			g.LoadFrom(a64.At(e.coefficients, 0), h[i])
			g.Op("VFMLA", t[i].S4(), u[i].S4(), h[i].S4())
		}
		g.Commentf("t + v·r / (h + t·r), with the sign of x.")
		for i, x := range xs {
			g.lookUp(t[i], e.t, k[i])
			g.lookUp(u[i], e.v, k[i])
			g.Op("VFMLA", t[i].S4(), r[i].S4(), h[i].S4())
			g.FMUL(u[i], u[i], r[i])
			g.FDIV(u[i], u[i], h[i])
			g.FADD(t[i], t[i], u[i])
			g.Op("VBIF", e.sign.B16(), t[i].B16(), x.B16())
		}
	})
}
