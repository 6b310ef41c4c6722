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
	g.eachLanes([]riscv.GP{s, max, lo, hi}, func() {}, func() {
		g.Op("VLE32V", riscv.At(lo, 0), low)
		g.Op("VLE32V", riscv.At(hi, 0), high)
		g.Op("VLE32V", riscv.At(max, 0), top)
		g.Op("MOV", s, p)
		g.Op("MOV", g.Param("j0"), j)
		g.Op("MOV", g.Param("n"), rows)
		g.Jump("BEQZ", "max", rows)
		g.Label("row")
		g.Op("VLE32V", riscv.At(p, 0), x)
		g.Op("VMSGTVX", j, low, riscv.V0)
		g.Op("VFMERGEVFM", hidden, x, riscv.V0, x)
		g.Op("VMSLEVX", j, high, riscv.V0)
		g.Op("VFMERGEVFM", hidden, x, riscv.V0, x)
		g.Op("VSE32V", x, riscv.At(p, 0))
		g.raise(top, x)
		g.add(ld, p)
		g.Op("ADD", 1, j, j)
		g.Op("ADD", -1, rows, rows)
		g.Jump("BNEZ", "row", rows)
		g.Label("max")
		g.Op("VSE32V", top, riscv.At(max, 0))
	})
}

// Add is the sum of two slices.
func (g *gen) Add() {
	const size = 8
	g.kernel(spec.Add)
	dst, x, y, left, got, v, w := g.Load(g.Base("dst")), g.Load(g.Base("x")), g.Load(g.Base("y")), g.Load(g.Len("dst")), g.GP(), g.Vec(size), g.Vec(size)
	g.Jump("BEQZ", "done", left)
	g.Label("elements")
	g.SetLanes(left, size, got)
	g.Op("VLE32V", riscv.At(x, 0), v)
	g.Op("VLE32V", riscv.At(y, 0), w)
	g.Op("VFADDVV", w, v, v)
	g.Op("VSE32V", v, riscv.At(dst, 0))
	g.Op("SUB", got, left, left)
	g.Op("SLLI", 2, got, got)
	for _, p := range []riscv.GP{dst, x, y} {
		g.add(got, p)
	}
	g.ForgetLanes()
	g.Jump("BNEZ", "elements", left)
	g.Label("done")
	g.Ret()
}
