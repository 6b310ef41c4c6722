package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// group is the size of the groups of kernels of lanes: 12 of them are enough for a row, its maxima and
// sums, and the coefficients of exp2.
const group = 2

// The exp2 of weights is that of neon/emit/exp2.go: x plus 1.5·2^23 + 128 has n+128 in its low bits,
// which the shift makes 2^(n+1), and the polynomial is half of 2^r.
const roundAndBias = 0x4b400080

// An exp2 holds the constants of the exp2 of weights.
type exp2 struct {
	*gen
	coefficients           []riscv.Vec // all but the highest
	highest                riscv.FP
	round, limit, minusInf riscv.FP
	n, r, p                riscv.Vec
}

// newExp2 loads them.
func (g *gen) newExp2() *exp2 {
	const half = 1 << 23
	e := &exp2{gen: g, round: g.Float(roundAndBias), limit: g.Float(spec.LeastWeight), minusInf: g.Float(spec.MinusInf)}
	last := len(spec.Exp2Coefficients) - 1
	e.highest = g.Float(spec.Exp2Coefficients[last] - half)
	for _, c := range spec.Exp2Coefficients[:last] {
		v := g.Vec(group)
		g.Scope(func() {
			x := g.GP()
			g.Op("MOV", int(c-half), x)
			g.Op("VMVVX", x, v)
		})
		e.coefficients = append(e.coefficients, v)
	}
	e.n, e.r, e.p = g.Vec(group), g.Vec(group), g.Vec(group)
	return e
}

// weight emits p = 2^x, and 0 below the least weight.
func (e *exp2) weight(x riscv.Vec) {
	e.Op("VFADDVF", e.round, x, e.n)
	e.Op("VFSUBVF", e.round, e.n, e.r)
	e.Op("VFSUBVV", e.r, x, e.r)
	c := e.coefficients
	e.Op("VMVVV", c[len(c)-1], e.p)
	e.Op("VFMACCVF", e.r, e.highest, e.p)
	for i := len(c) - 2; i >= 0; i-- {
		e.Op("VFMADDVV", c[i], e.r, e.p)
	}
	e.Op("VSLLVI", 23, e.n, e.n)
	e.Op("VFMULVV", e.n, e.p, e.p)
	e.Op("VMFLTVF", e.limit, x, riscv.V0)
	e.Op("VMERGEVXM", riscv.Zero, e.p, riscv.V0, e.p)
}

// finiteMax emits m = 0 for -Inf: a lane that has seen no key must get weights 0, and -Inf - -Inf would
// be NaN.
func (e *exp2) finiteMax(m riscv.Vec) {
	e.Op("VMFEQVF", e.minusInf, m, riscv.V0)
	e.Op("VMERGEVXM", riscv.Zero, m, riscv.V0, m)
}

// eachLanes emits a loop over the lanes of the slice max, as many at a time as a group has.
func (g *gen) eachLanes(pointers []riscv.GP, prepare func(), body func()) {
	left, got := g.Load(g.Len("max")), g.GP()
	g.SetLanes(riscv.Zero, group, got)
	prepare()
	g.Jump("BEQZ", "done", left)
	g.Label("lanes")
	g.SetLanes(left, group, got)
	body()
	g.Op("SUB", got, left, left)
	g.Op("SLLI", 2, got, got)
	for _, p := range pointers {
		g.add(got, p)
	}
	g.Jump("BNEZ", "lanes", left)
	g.Label("done")
	g.Ret()
}

// Softmax holds the maxima and sums of some lanes in registers and takes one row after the other.
func (g *gen) Softmax() {
	g.kernel(spec.Softmax)
	s, ld, n, max, sum := g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Param("n")), g.Load(g.Base("max")), g.Load(g.Base("sum"))
	p, rows, z, sums, x := g.GP(), g.GP(), g.Vec(group), g.Vec(group), g.Vec(group)
	var e *exp2
	g.eachLanes([]riscv.GP{s, max, sum}, func() { e = g.newExp2() }, func() {
		g.Op("VLE32V", riscv.At(max, 0), z)
		e.finiteMax(z)
		g.Op("VMVVI", 0, sums)
		g.Op("MOV", s, p)
		g.Op("MOV", n, rows)
		g.Jump("BEQZ", "sums", rows)
		g.Label("row")
		g.Op("VLE32V", riscv.At(p, 0), x)
		g.Op("VFSUBVV", z, x, x)
		e.weight(x)
		g.Op("VSE32V", e.p, riscv.At(p, 0))
		g.Op("VFADDVV", e.p, sums, sums)
		g.add(ld, p)
		g.Op("ADD", -1, rows, rows)
		g.Jump("BNEZ", "row", rows)
		g.Label("sums")
		g.Op("VSE32V", sums, riscv.At(sum, 0))
	})
}

// MergeStats merges the statistics of a block into the running ones.
func (g *gen) MergeStats() {
	g.kernel(spec.MergeStats)
	var p []riscv.GP
	for _, name := range []string{"max", "sum", "blockMax", "blockSum", "alpha", "beta"} {
		p = append(p, g.Load(g.Base(name)))
	}
	old, x, z := g.Vec(group), g.Vec(group), g.Vec(group)
	var e *exp2
	g.eachLanes(p, func() { e = g.newExp2() }, func() {
		g.Op("VLE32V", riscv.At(p[0], 0), old)
		g.Op("VLE32V", riscv.At(p[2], 0), x)
		g.Op("VMVVV", old, z)
		g.raise(z, x)
		g.Op("VSE32V", z, riscv.At(p[0], 0))
		e.finiteMax(z)
		g.Op("VFSUBVV", z, old, old)
		g.Op("VFSUBVV", z, x, x)
		g.Commentf("sum = fma(blockSum, beta, sum·alpha)")
		e.weight(old)
		g.Op("VSE32V", e.p, riscv.At(p[4], 0))
		g.Op("VLE32V", riscv.At(p[1], 0), old)
		g.Op("VFMULVV", e.p, old, old)
		e.weight(x)
		g.Op("VSE32V", e.p, riscv.At(p[5], 0))
		g.Op("VLE32V", riscv.At(p[3], 0), x)
		g.Op("VFMACCVV", e.p, x, old)
		g.Op("VSE32V", old, riscv.At(p[1], 0))
	})
}
