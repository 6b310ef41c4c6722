package rvv

import (
	"github.com/attn-go/attn/gen/riscv"
	"github.com/attn-go/attn/gen/spec"
)

// Peak measures the FMA rate of a core, see amd64/probe.go. A chain is a register, not a group, so
// that the number of FMAs does not depend on how many of them a CPU takes for a group.
func (g *gen) Peak() {
	const chains = 24
	g.kernel(spec.Peak)
	n, got := g.Load(g.Param("n")), g.GP()
	g.SetLanes(riscv.Zero, 1, got)
	acc, x, f := g.Vecs(chains, 1), g.Vec(1), g.Float(0)
	for _, v := range append(acc, x) {
		g.Op("VMVVI", 0, v)
	}
	g.Label("loop")
	for _, v := range acc {
		g.Op("VFMACCVF", x, f, v)
	}
	g.Op("ADD", -1, n, n)
	g.Jump("BNEZ", "loop", n)
	g.Ret()
}

// Read measures the bandwidth of memory, by loads of groups of any length.
func (g *gen) Read() {
	const size, loads = 4, 4
	g.kernel(spec.Read)
	p, left, got := g.Load(g.Base("p")), g.Load(g.Len("p")), g.GP()
	vs := g.Vecs(loads, size)
	g.Jump("BEQZ", "done", left)
	g.Label("loop")
	for _, v := range vs {
		g.SetLanes(left, size, got)
		g.Op("VLE32V", riscv.At(p, 0), v)
		g.Op("SUB", got, left, left)
		g.Op("SLLI", 2, got, got)
		g.add(got, p)
	}
	g.ForgetLanes()
	g.Jump("BNEZ", "loop", left)
	g.Label("done")
	g.Ret()
}
