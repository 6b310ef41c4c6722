package main

import "github.com/attn-go/attn/gen/a64"

// peak is the probe of the machine's FMA rate; see probe.go.
func (g *neon) peak() {
	const chains = 24 // 4 units of latency 4 need 16
	g.function(peakFunction)
	n := g.num("n")
	acc, x, y := g.Vecs(chains), g.Vec(), g.Vec()
	for _, v := range append(acc, x, y) {
		g.zero(v)
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

// read is the probe of the memory; see probe.go.
func (g *neon) read() {
	const lines = 16
	g.function(readFunction)
	p, left := g.slice("p"), g.param(g.Len("p"))
	v := g.Vecs(8)
	g.Op("LSR", 8, left, left) // 16 lines of 16 numbers
	g.Jump("CBZ", "done", left)
	g.Align(32)
	g.Label("loop")
	for i := range lines * lineBytes / neonBytes {
		g.load(a64.At(p, i*neonBytes), v[i%len(v)])
	}
	g.advance(lines*lineBytes, p)
	g.Op("SUBS", 1, left, left)
	g.Jump("BNE", "loop")
	g.Label("done")
	g.Ret()
}
