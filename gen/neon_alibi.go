package main

import "github.com/attn-go/attn/gen/a64"

// alibi works on chunks of columns; see alibi.go.
func (g *neon) alibi() {
	g.function(alibiFunction)
	a := neonAlibi{neon: g, s: g.slice("s"), ld: g.stride("ld"), slopes: g.slice("slopes"), pos: g.slice("pos"), max: g.slice("max"), one: g.broadcast(1)}
	g.chunks(neonChunk, g.param(g.Len("max")), a.chunk)
}

type neonAlibi struct {
	*neon
	s, ld, slopes, pos, max a64.GP
	one                     a64.Vec
}

func (g neonAlibi) chunk(vectors int, name string) {
	g.Comment("%d vectors of lanes, one row a turn.", vectors)
	g.Label(name)
	slope, i, m := g.Vecs(vectors), g.Vecs(vectors), g.Vecs(vectors)
	for v := range vectors {
		g.load(a64.At(g.slopes, v*neonBytes), slope[v])
		g.load(a64.At(g.pos, v*neonBytes), i[v])
		g.load(a64.At(g.max, v*neonBytes), m[v])
	}
	j, p, rows := g.Vec(), g.num("j0"), g.num("n")
	g.Op("VDUP", p, j.S4())
	g.Op("MOVD", g.s, p)
	g.Jump("CBZ", name+"done", rows)
	d, x := g.Vecs(vectors), g.Vecs(vectors)
	g.Align(32)
	g.Label(name + "row")
	for v := range vectors {
		g.Op("VSUB", j.S4(), i[v].S4(), d[v].S4())
		g.ABS(d[v], d[v])
		g.SCVTF(d[v], d[v])
		g.load(a64.At(p, v*neonBytes), x[v])
		g.Op("VFMLS", d[v].S4(), slope[v].S4(), x[v].S4())
		g.store(x[v], a64.At(p, v*neonBytes))
		g.raise(m[v], x[v], d[v])
	}
	g.Op("VADD", g.one.S4(), j.S4(), j.S4())
	g.Op("ADD", g.ld, p, p)
	g.Op("SUBS", 1, rows, rows)
	g.Jump("BNE", name+"row")
	g.Label(name + "done")
	for v := range vectors {
		g.store(m[v], a64.At(g.max, v*neonBytes))
	}
	g.advance(vectors*neonBytes, g.s, g.slopes, g.pos, g.max)
}
