package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// MaskSpan holds the spans and maxima of some lanes and takes one row after the other.
func (g *gen) MaskSpan() {
	g.kernel(spec.MaskSpan)
	s, ld, max, lo, hi := g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Base("max")), g.Load(g.Base("lo")), g.Load(g.Base("hi"))
	p, j, rows, x, top, low, high := g.GP(), g.GP(), g.GP(), g.Vec(group), g.Vec(group), g.Vec(group), g.Vec(group)
	hidden := g.Float(spec.MinusInf)
	g.each(g.Load(g.Len("max")), group, []riscv.GP{s, max, lo, hi}, nil, func() {
		g.Op("VLE32V", riscv.At(lo, 0), low)
		g.Op("VLE32V", riscv.At(hi, 0), high)
		g.Op("VLE32V", riscv.At(max, 0), top)
		g.Op("MOV", s, p)
		g.Op("MOV", g.Param("j0"), j)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(p, 0), x)
			g.Op("VMSGTVX", j, low, riscv.V0)
			g.Op("VFMERGEVFM", hidden, x, riscv.V0, x)
			g.Op("VMSLEVX", j, high, riscv.V0)
			g.Op("VFMERGEVFM", hidden, x, riscv.V0, x)
			g.Op("VSE32V", x, riscv.At(p, 0))
			g.raise(top, x)
			g.Op("ADD", 1, j, j)
		}, [2]riscv.GP{p, ld})
		g.Op("VSE32V", top, riscv.At(max, 0))
	})
}

// Softcap is limit·tanh(s·inv).
func (g *gen) Softcap() {
	g.kernel(spec.Softcap)
	s, ld, max, p, rows := g.Load(g.Base("s")), g.stride("ld"), g.Load(g.Base("max")), g.GP(), g.GP()
	limit, inv, x, top := g.loadFloat("limit"), g.loadFloat("inv"), g.Vec(group), g.Vec(group)
	var t *tanh
	g.each(g.Load(g.Len("max")), group, []riscv.GP{s, max}, func() { t = g.newTanh(true) }, func() {
		g.Op("VLE32V", riscv.At(max, 0), top)
		g.Op("MOV", s, p)
		g.eachRow(rows, func() {
			g.Op("VLE32V", riscv.At(p, 0), x)
			g.Op("VFMULVF", inv, x, x)
			t.of(x)
			g.Op("VFMULVF", limit, x, x)
			g.Op("VSE32V", x, riscv.At(p, 0))
			g.raise(top, x)
		}, [2]riscv.GP{p, ld})
		g.Op("VSE32V", top, riscv.At(max, 0))
	})
}
