package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// group is the size of the groups of kernels of lanes: 12 of them are enough for a row, its maxima and
// sums, and the coefficients of exp2.
const group = 2

// The exp2 is that of neon/emit/exp2.go. That of weights takes no numbers above 0: x plus 1.5·2^23 + 128 has
// n+128 in its low bits, which the shift makes 2^(n+1), and the polynomial is half of 2^r. That of all
// numbers up to 128 adds n to the exponent of the polynomial. The NaN of an operation has no bits that the sum
// would change.
const roundAndBias = 0x4b400080

// An exp2 holds the constants of exp2.
type exp2 struct {
	*gen
	all                    bool // numbers up to 128, not up to 0
	polynomial             polynomial
	round, limit, minusInf riscv.FP // below the limit 2^x is 0
	n, r, p                riscv.Vec
}

// newExp2 loads those of weights.
func (g *gen) newExp2() *exp2 {
	const half = 1 << 23
	var halves []uint32
	for _, c := range spec.Exp2Coefficients {
		halves = append(halves, c-half)
	}
	e := &exp2{gen: g, polynomial: g.newPolynomial(halves, true), round: g.Float(roundAndBias), limit: g.Float(spec.LeastWeight), minusInf: g.Float(spec.MinusInf)}
	e.n, e.r, e.p = g.Vec(group), g.Vec(group), g.Vec(group)
	return e
}

// newExp2All loads those of all numbers.
func (g *gen) newExp2All(vectors bool) *exp2 {
	e := &exp2{gen: g, all: true, polynomial: g.newPolynomial(spec.Exp2Coefficients[:], vectors), round: g.Float(spec.RoundMagic), limit: g.Float(spec.Minus126)}
	e.n, e.r, e.p = g.Vec(group), g.Vec(group), g.Vec(group)
	return e
}

// power emits p = 2^x, and 0 below the limit.
func (e *exp2) power(x riscv.Vec) {
	e.Op("VFADDVF", e.round, x, e.n)
	e.Op("VFSUBVF", e.round, e.n, e.r)
	e.Op("VFSUBVV", e.r, x, e.r)
	e.horner(e.polynomial, e.r, e.p)
	e.Op("VSLLVI", 23, e.n, e.n)
	if e.all {
		e.Op("VADDVV", e.n, e.p, e.p)
	} else {
		e.Op("VFMULVV", e.n, e.p, e.p)
	}
	e.Op("VMFLTVF", e.limit, x, riscv.V0)
	e.Op("VMERGEVXM", riscv.Zero, e.p, riscv.V0, e.p)
}

// finiteMax emits m = 0 for -Inf: a lane that has seen no key must get weights 0, and -Inf - -Inf would
// be NaN.
func (e *exp2) finiteMax(m riscv.Vec) {
	e.Op("VMFEQVF", e.minusInf, m, riscv.V0)
	e.Op("VMERGEVXM", riscv.Zero, m, riscv.V0, m)
}

// each emits the rest of a function: a loop over left elements, as many at a time as a group has. Then the
// pointers go on. prepare loads what stays in registers, of all lanes of a group.
func (g *gen) each(left riscv.GP, size int, pointers []riscv.GP, prepare, body func()) {
	got := g.GP()
	if prepare != nil {
		g.SetLanes(riscv.Zero, size, got)
		prepare()
		g.ForgetLanes()
	}
	g.Jump("BEQZ", "done", left)
	g.Label("lanes")
	g.SetLanes(left, size, got)
	body()
	g.Op("SUB", got, left, left)
	g.Op("SLLI", 2, got, got)
	for _, p := range pointers {
		g.add(got, p)
	}
	g.ForgetLanes()
	g.Jump("BNEZ", "lanes", left)
	g.Label("done")
	g.Ret()
}

// rows emits a loop over the rows that the parameter n counts, in the register count. After each the pointers go
// on by their strides.
func (g *gen) eachRow(count riscv.GP, body func(), move ...[2]riscv.GP) {
	g.Op("MOV", g.Param("n"), count)
	g.Jump("BEQZ", "rows", count)
	g.Label("row")
	body()
	for _, m := range move {
		g.add(m[1], m[0])
	}
	g.Op("ADD", -1, count, count)
	g.Jump("BNEZ", "row", count)
	g.Label("rows")
}

// Softmax holds the maxima and sums of some lanes in registers and takes one row after the other.
func (g *gen) Softmax() {
	g.kernel(spec.Softmax)
	s, ld, max, sum := g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Base("max")), g.Load(g.Base("sum"))
	p, rows, z, sums, x := g.GP(), g.GP(), g.Vec(group), g.Vec(group), g.Vec(group)
	var e *exp2
	g.each(g.Load(g.Len("max")), group, []riscv.GP{s, max, sum}, func() { e = g.newExp2() }, func() {
		g.Op("VLE32V", riscv.At(max, 0), z)
		e.finiteMax(z)
		g.Op("VMVVI", 0, sums)
		g.Op("MOV", s, p)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(p, 0), x)
			g.Op("VFSUBVV", z, x, x)
			e.power(x)
			g.Op("VSE32V", e.p, riscv.At(p, 0))
			g.Op("VFADDVV", e.p, sums, sums)
		}, [2]riscv.GP{p, ld})
		g.Op("VSE32V", sums, riscv.At(sum, 0))
	})
}

// SkinnySoftmax is Softmax for 4 lanes.
func (g *gen) SkinnySoftmax() {
	g.kernel(spec.SkinnySoftmax)
	g.TailJump(spec.Softmax.Symbol(isa))
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
	g.each(g.Load(g.Len("max")), group, p, func() { e = g.newExp2() }, func() {
		g.Op("VLE32V", riscv.At(p[0], 0), old)
		g.Op("VLE32V", riscv.At(p[2], 0), x)
		g.Op("VMVVV", old, z)
		g.raise(z, x)
		g.Op("VSE32V", z, riscv.At(p[0], 0))
		e.finiteMax(z)
		g.Op("VFSUBVV", z, old, old)
		g.Op("VFSUBVV", z, x, x)
		g.Commentf("sum = fma(blockSum, beta, sum·alpha)")
		e.power(old)
		g.Op("VSE32V", e.p, riscv.At(p[4], 0))
		g.Op("VLE32V", riscv.At(p[1], 0), old)
		g.Op("VFMULVV", e.p, old, old)
		e.power(x)
		g.Op("VSE32V", e.p, riscv.At(p[5], 0))
		g.Op("VLE32V", riscv.At(p[3], 0), x)
		g.Op("VFMACCVV", e.p, x, old)
		g.Op("VSE32V", old, riscv.At(p[1], 0))
	})
}
