package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// The element-wise kernels of the backward pass of attention hold the statistics of some lanes and take one row after
// the other.

// clear emits 0 in the lanes of the mask.
func (g *gen) clear(x riscv.Vec) { g.Op("VMERGEVXM", riscv.Zero, x, riscv.V0, x) }

func (g *gen) BackwardWeights() {
	g.kernel(spec.BackwardWeights)
	s, dp, ld, lse, sum, dot := g.Load(g.Base("s")), g.Load(g.Base("dp")), g.stride("ld"), g.Load(g.Base("lse")), g.Load(g.Base("sum")), g.Load(g.Base("dot"))
	p, other, rows, zero := g.GP(), g.GP(), g.GP(), g.Float(0)
	ls, sums, dots, x, grad := g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group)
	var e *exp2
	g.each(g.Load(g.Len("lse")), group, []riscv.GP{s, dp, lse, sum, dot}, func() { e = g.newExp2() }, func() {
		g.Op("VLE32V", riscv.At(lse, 0), ls)
		g.Op("VMVVI", 0, sums)
		g.Op("VMVVI", 0, dots)
		g.Op("MOV", s, p)
		g.Op("MOV", dp, other)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(p, 0), x)
			g.Op("VLE32V", riscv.At(other, 0), grad)
			g.Commentf("min(s-lse, 0), but a hidden score stays, so that its weight is 0.")
			g.Op("VFSUBVV", ls, x, e.r)
			g.Op("VMFGTVF", zero, e.r, riscv.V0)
			g.clear(e.r)
			g.Op("VMFEQVF", e.minusInf, x, riscv.V0)
			g.Op("VFMERGEVFM", e.minusInf, e.r, riscv.V0, x)
			e.power(x)
			g.Op("VSE32V", e.p, riscv.At(p, 0))
			g.Op("VFADDVV", e.p, sums, sums)
			g.Op("VMFEQVF", zero, e.p, riscv.V0)
			g.clear(grad)
			g.mac(grad, e.p, dots)
		}, [2]riscv.GP{p, ld}, [2]riscv.GP{other, ld})
		g.Op("VSE32V", sums, riscv.At(sum, 0))
		g.Op("VSE32V", dots, riscv.At(dot, 0))
	})
}

func (g *gen) BackwardScores() {
	g.kernel(spec.BackwardScores)
	weights, dp, ld, inv, mean := g.Load(g.Base("p")), g.Load(g.Base("dp")), g.stride("ld"), g.Load(g.Base("inv")), g.Load(g.Base("mean"))
	p, other, rows, zero := g.GP(), g.GP(), g.GP(), g.Float(0)
	i, m, x, grad, t := g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group)
	least := g.Float(spec.LeastGradient)
	g.each(g.Load(g.Len("inv")), group, []riscv.GP{weights, dp, inv, mean}, nil, func() {
		g.Op("VLE32V", riscv.At(inv, 0), i)
		g.Op("VLE32V", riscv.At(mean, 0), m)
		g.Op("MOV", weights, p)
		g.Op("MOV", dp, other)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(p, 0), x)
			g.Op("VLE32V", riscv.At(other, 0), grad)
			g.Op("VMFEQVF", zero, x, riscv.V0)
			g.Op("VFMULVV", i, x, x)
			g.Op("VFSUBVV", m, grad, grad)
			g.Op("VFMULVV", x, grad, grad)
			g.clear(x)
			g.clear(grad)
			g.flushBelow(grad, least, t)
			g.Op("VSE32V", x, riscv.At(p, 0))
			g.Op("VSE32V", grad, riscv.At(other, 0))
		}, [2]riscv.GP{p, ld}, [2]riscv.GP{other, ld})
	})
}

func (g *gen) BackwardSoftcap() {
	g.kernel(spec.BackwardSoftcap)
	ds, s, ld := g.Load(g.Base("ds")), g.Load(g.Base("s")), g.stride("ld")
	p, other, rows, zero, one, inv := g.GP(), g.GP(), g.GP(), g.Float(0), g.Float(spec.One), g.loadFloat("inv")
	u, grad, f := g.Vec(group), g.Vec(group), g.Vec(group)
	g.each(g.Load(g.Param("lanes")), group, []riscv.GP{ds, s}, nil, func() {
		g.Op("MOV", ds, p)
		g.Op("MOV", s, other)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(other, 0), u)
			g.Op("VLE32V", riscv.At(p, 0), grad)
			g.Op("VFMULVF", inv, u, u)
			g.Op("VFMVVF", one, f)
			g.Op("VFNMSACVV", u, u, f)
			g.Op("VMFEQVF", zero, grad, riscv.V0)
			g.Op("VFMULVV", f, grad, grad)
			g.clear(grad)
			g.Op("VSE32V", grad, riscv.At(p, 0))
		}, [2]riscv.GP{p, ld}, [2]riscv.GP{other, ld})
	})
}
