package main

import "github.com/attn-go/attn/gen/a64"

// softcap works on chunks of columns; see softcap.go. Two vectors are done at once:
// 15 registers hold what all need, 7 more each vector.
func (g *neon) softcap() {
	g.function(softcapFunction)
	c := neonSoftcap{neon: g, tanh: g.tanhRegs(), s: g.slice("s"), ld: g.stride("ld"), max: g.slice("max"), limit: g.broadcastParam("limit"), inv: g.broadcastParam("inv")}
	g.chunks(2, g.param(g.Len("max")), c.chunk)
}

type neonSoftcap struct {
	*neon
	tanh       neonTanh
	s, ld, max a64.GP
	limit, inv a64.Vec
}

func (g neonSoftcap) chunk(vectors int, name string) {
	g.Comment("%d vectors of lanes, one row a turn.", vectors)
	g.Label(name)
	m, xs := g.Vecs(vectors), g.Vecs(vectors)
	for v := range vectors {
		g.load(a64.At(g.max, v*neonBytes), m[v])
	}
	p, rows := g.GP(), g.num("n")
	g.Op("MOVD", g.s, p)
	g.Jump("CBZ", name+"done", rows)
	g.Align(32)
	g.Label(name + "row")
	for v, x := range xs {
		g.load(a64.At(p, v*neonBytes), x)
		g.FMUL(x, x, g.inv)
	}
	g.neon.tanh(g.tanh, xs)
	g.Scope(func() {
		scratch := g.Vec()
		for v, x := range xs {
			g.FMUL(x, x, g.limit)
			g.store(x, a64.At(p, v*neonBytes))
			g.raise(m[v], x, scratch)
		}
	})
	g.Op("ADD", g.ld, p, p)
	g.Op("SUBS", 1, rows, rows)
	g.Jump("BNE", name+"row")
	g.Label(name + "done")
	for v := range vectors {
		g.store(m[v], a64.At(g.max, v*neonBytes))
	}
	g.advance(vectors*neonBytes, g.s, g.max)
}
