package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Peak measures the FMA rate of a core, see amd64/probe.go.
func (g *neon) Peak() {
	const chains = 24 // 4 units of latency 4 need 16
	g.Kernel(spec.Peak)
	n := g.Num("n")
	acc, x, y := g.Vecs(chains), g.Vec(), g.Vec()
	for _, v := range append(acc, x, y) {
		g.Zero(v)
	}
	g.Align(32)
	g.Label("loop")
	for _, a := range acc {
		g.FMLALane(a, x, y.S(0))
	}
	g.Op("SUBS", 1, n, n)
	g.Jump("BNE", "loop")
	g.Ret()
}

// Read measures the bandwidth of memory, see amd64/probe.go.
func (g *neon) Read() {
	const lines = 16
	g.Kernel(spec.Read)
	p, left := g.Slice("p"), g.LoadParam(g.Len("p"))
	v := g.Vecs(8)
	g.Op("LSR", 8, left, left) // 16 lines of 16 numbers
	g.Jump("CBZ", "done", left)
	g.Align(32)
	g.Label("loop")
	for i := range lines * spec.LineBytes / emit.VecBytes {
		g.LoadFrom(a64.At(p, i*emit.VecBytes), v[i%len(v)])
	}
	g.Advance(lines*spec.LineBytes, p)
	g.Op("SUBS", 1, left, left)
	g.Jump("BNE", "loop")
	g.Label("done")
	g.Ret()
}

// Pause generates the function Pause, with ISB, which empties the pipeline. YIELD does
// nothing on most CPUs.
func Pause(c spec.Contracts) (spec.Output, error) {
	file := a64.NewFile("asm", "arm64 && !purego")
	p := spec.Pause
	f := file.Func(p.Symbol(""), c.Signature(&p), p.Doc(""))
	f.Op("ISB", 15)
	f.Ret()
	asm, stubs, err := file.Build()
	return spec.Output{Asm: asm, Stubs: stubs, Functions: []spec.Function{p}}, err
}
