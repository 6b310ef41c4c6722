package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// A polynomial has its coefficients in vectors, but for the highest one. Where other vectors are more urgent,
// each step of Horner's rule spreads its coefficient first.
type polynomial struct {
	vectors []riscv.Vec // the constant term first; nil if the scalars are all
	scalars []riscv.FP  // the highest is the last one
}

// newPolynomial loads the coefficients.
func (g *gen) newPolynomial(coefficients []uint32, vectors bool) (p polynomial) {
	for i, c := range coefficients {
		if !vectors || i == len(coefficients)-1 {
			p.scalars = append(p.scalars, g.Float(c))
			continue
		}
		v := g.Vec(group)
		g.Scope(func() {
			x := g.GP()
			g.Op("MOV", int(int32(c)), x)
			g.Op("VMVVX", x, v)
		})
		p.vectors = append(p.vectors, v)
	}
	return p
}

// horner emits y, the polynomial of x.
func (g *gen) horner(p polynomial, x, y riscv.Vec) {
	last := len(p.scalars) - 1
	if n := len(p.vectors); n > 0 {
		g.Op("VMVVV", p.vectors[n-1], y)
		g.mac(p.scalars[last], x, y)
		for i := n - 2; i >= 0; i-- {
			g.Op("VFMADDVV", p.vectors[i], x, y)
		}
		return
	}
	g.Scope(func() {
		// The last of the steps ends in y.
		from, to := y, g.Vec(group)
		if last%2 == 1 {
			from, to = to, from
		}
		g.Op("VFMVVF", p.scalars[last-1], to)
		g.mac(p.scalars[last], x, to)
		for i := last - 2; i >= 0; i-- {
			from, to = to, from
			g.Op("VFMVVF", p.scalars[i], to)
			g.mac(from, x, to)
		}
	})
}

// mac emits sum = fma(x, f, sum), f one number or a vector.
func (g *gen) mac(f any, x, sum riscv.Vec) {
	name := "VFMACCVV"
	if _, ok := f.(riscv.FP); ok {
		name = "VFMACCVF"
	}
	g.Op(name, x, f, sum)
}

// loadFloat loads a parameter.
func (g *gen) loadFloat(name string) riscv.FP {
	x := g.FP()
	g.Op("MOVF", g.Param(name), x)
	return x
}

// tables loads tables of 8 numbers, which a group has on every CPU.
func (g *gen) tables(name string, n int) (vs []riscv.Vec) {
	vs = g.Vecs(n, group)
	g.Scope(func() {
		p, lanes := g.Address(name), g.GP()
		g.Op("MOV", 8, lanes)
		g.SetLanes(lanes, group, lanes)
		for i, v := range vs {
			if i > 0 {
				g.Op("ADD", 32, p, p)
			}
			g.Op("VLE32V", riscv.At(p, 0), v)
		}
		g.SetLanes(riscv.Zero, group, lanes)
	})
	return vs
}

// function emits dst = f(src), for an f that works in place and what its constants take.
func (g *gen) function(f spec.Function, constants func() (apply func(x riscv.Vec))) {
	g.kernel(f)
	dst, src, x := g.Load(g.Base("dst")), g.Load(g.Base("src")), g.Vec(group)
	var apply func(x riscv.Vec)
	g.each(g.Load(g.Len("dst")), group, []riscv.GP{dst, src}, func() { apply = constants() }, func() {
		g.Op("VLE32V", riscv.At(src, 0), x)
		apply(x)
		g.Op("VSE32V", x, riscv.At(dst, 0))
	})
}

// Exp2 is exp2 for all x. Beyond 128 x is replaced by 128.
func (g *gen) Exp2() {
	g.function(spec.Exp2, func() func(riscv.Vec) {
		e, most := g.newExp2All(true), g.Float(spec.Plus128)
		return func(x riscv.Vec) {
			g.Op("VMFGTVF", most, x, riscv.V0)
			g.Op("VFMERGEVFM", most, x, riscv.V0, x)
			e.power(x)
			g.Op("VMVVV", e.p, x)
		}
	})
}

// Tanh is tanh for all x.
func (g *gen) Tanh() {
	g.function(spec.Tanh, func() func(riscv.Vec) { return g.newTanh(true).of })
}

const tanhTables = "tanhRVV"

func tanhWords() []uint32 {
	return append(append(append([]uint32{}, spec.TanhC...), spec.TanhT...), spec.TanhV...)
}

// A tanh holds the constants of tanh, see neon/functions.go.
type tanh struct {
	*gen
	tables                []riscv.Vec // c, t, v
	polynomial            polynomial
	limit, density, round riscv.FP
}

func (g *gen) newTanh(vectors bool) *tanh {
	t := &tanh{gen: g, tables: g.tables(tanhTables, 3)}
	t.polynomial = g.newPolynomial(spec.TanhCoefficients[:], vectors)
	t.limit, t.density, t.round = g.Float(spec.TanhLimit), g.Float(spec.TanhDensity), g.Float(spec.RoundMagic)
	return t
}

// of emits tanh(x), in place. It takes 5 groups.
func (t *tanh) of(x riscv.Vec) {
	t.Scope(func() {
		r, k, u, h := t.Vec(group), t.Vec(group), t.Vec(group), t.Vec(group)
		t.Commentf("tanh: the point c nearest to |x|, and r = |x|-c.")
		t.Op("VFABSV", x, r)
		t.Op("VMFGTVF", t.limit, r, riscv.V0)
		t.Op("VFMERGEVFM", t.limit, r, riscv.V0, r)
		t.Op("VFMVVF", t.round, k)
		t.mac(t.density, r, k)
		t.Op("VANDVI", 7, k, k)
		t.Op("VRGATHERVV", k, t.tables[0], u)
		t.Op("VFSUBVV", u, r, r)
		t.Commentf("t + v·r / (h + t·r), h a polynomial in r², with the sign of x.")
		t.Op("VFMULVV", r, r, u)
		t.horner(t.polynomial, u, h)
		t.Op("VRGATHERVV", k, t.tables[1], u)
		t.mac(u, r, h)
		v := t.Vec(group)
		t.Op("VRGATHERVV", k, t.tables[2], v)
		t.Op("VFMULVV", v, r, r)
		t.Op("VFDIVVV", h, r, r)
		t.Op("VFADDVV", u, r, r)
		t.Op("VFSGNJVV", x, r, x)
	})
}
