package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// Gather copies as many bytes at a time as a group has lanes of 32 bits. There is no instruction to
// prefetch.
func (g *gen) Gather() {
	const size = 8
	g.kernel(spec.Gather)
	dst, src, off, n, row, left, got := g.Load(g.Base("dst")), g.Load(g.Base("src")), g.Load(g.Base("off")), g.Load(g.Len("off")), g.GP(), g.GP(), g.GP()
	v := g.Vec(size).Last(4)
	g.Jump("BEQZ", "done", n)
	g.Label("row")
	g.Op("MOV", riscv.At(off, 0), row)
	g.add(src, row)
	g.Op("ADD", 8, off, off)
	g.Op("MOV", g.Param("size"), left)
	g.ForgetLanes()
	g.Label("bytes")
	g.SetLanes(left, size, got)
	g.Op("VLE8V", riscv.At(row, 0), v)
	g.Op("VSE8V", v, riscv.At(dst, 0))
	g.add(got, row)
	g.add(got, dst)
	g.Op("SUB", got, left, left)
	g.ForgetLanes()
	g.Jump("BNEZ", "bytes", left)
	g.Op("ADD", -1, n, n)
	g.Jump("BNEZ", "row", n)
	g.Label("done")
	g.Ret()
}

// Finite finds the largest magnitude as an integer.
func (g *gen) Finite() {
	const size = 8
	g.kernel(spec.Finite)
	src, left, got, beyond, v, top, most := g.Load(g.Base("src")), g.Load(g.Len("src")), g.GP(), g.GP(), g.Vec(size), g.Vec(size), g.Vec(1)
	g.SetLanes(riscv.Zero, size, got)
	g.Op("VMVVI", 0, top)
	g.Op("VMVSX", riscv.Zero, most)
	g.Jump("BEQZ", "largest", left)
	g.Label("elements")
	g.SetFirstLanes(left, size, got)
	g.Op("VLE32V", riscv.At(src, 0), v)
	g.Op("VFABSV", v, v)
	g.Op("VMAXUVV", v, top, top)
	g.Op("SUB", got, left, left)
	g.Op("SLLI", 2, got, got)
	g.add(got, src)
	g.Jump("BNEZ", "elements", left)
	g.SetLanes(riscv.Zero, size, got)
	g.Label("largest")
	g.Op("VREDMAXUVS", most, top, most)
	g.Op("VMVXS", most, left)
	g.Op("MOV", int(int32(spec.Exponent&^uint32(spec.SignBit))), beyond)
	g.Op("MOV", riscv.Zero, got)
	g.Jump("BGE", "return", left, beyond)
	g.Op("MOV", 1, got)
	g.Label("return")
	g.Op("MOVB", got, g.Result())
	g.Ret()
}

// PackHalves has rows of numbers in the lanes.
func (g *gen) PackHalves() {
	g.kernel(spec.WeightPackHalves)
	half := func(name string) riscv.GP {
		r := g.Load(g.Param(name))
		g.Op("SLLI", 1, r, r)
		return r
	}
	dst, ld, src, lds, left, got := g.Load(g.Base("dst")), half("ld"), g.Load(g.Base("src")), half("lds"), g.Load(g.Param("n")), g.GP()
	from, to, d, v := g.GP(), g.GP(), g.GP(), g.Vec(wide).Last(2)
	g.Label("lanes")
	g.SetLanes(left, wide, got)
	g.Op("MOV", src, from)
	g.Op("MOV", dst, to)
	g.Op("MOV", g.Param("d"), d)
	g.Label("step")
	g.Op("VLSE16V", riscv.At(from, 0), lds, v)
	g.Op("VSE16V", v, riscv.At(to, 0))
	g.Op("ADD", 2, from, from)
	g.add(ld, to)
	g.Op("ADD", -1, d, d)
	g.Jump("BNEZ", "step", d)
	g.Op("SUB", got, left, left)
	g.Op("MUL", got, lds, from)
	g.add(from, src)
	g.Op("SLLI", 1, got, got)
	g.add(got, dst)
	g.ForgetLanes()
	g.Jump("BNEZ", "lanes", left)
	g.Ret()
}
