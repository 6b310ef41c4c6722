package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// Softcap works on chunks of columns; see softcap.go. Two vectors are done at once:
// 15 registers hold what all need, 7 more each vector.
func (g *neon) Softcap() {
	g.function(spec.Softcap)
	c := softcap{neon: g, tanh: g.tanhRegs(), s: g.slice("s"), ld: g.stride("ld"), max: g.slice("max"), limit: g.broadcastParam("limit"), inv: g.broadcastParam("inv")}
	g.chunks(2, g.param(g.Len("max")), c.chunk)
}

type softcap struct {
	*neon
	tanh       tanhValues
	s, ld, max a64.GP
	limit, inv a64.Vec
}

func (g softcap) chunk(vectors int, name string) {
	g.Comment("%d vectors of lanes, one row a turn.", vectors)
	g.Label(name)
	m, xs := g.Vecs(vectors), g.Vecs(vectors)
	for v := range vectors {
		g.load(a64.At(g.max, v*vecBytes), m[v])
	}
	p, rows := g.GP(), g.num("n")
	g.Op("MOVD", g.s, p)
	g.Jump("CBZ", name+"done", rows)
	g.Align(32)
	g.Label(name + "row")
	for v, x := range xs {
		g.load(a64.At(p, v*vecBytes), x)
		g.FMUL(x, x, g.inv)
	}
	g.neon.tanh(g.tanh, xs)
	g.Scope(func() {
		scratch := g.Vec()
		for v, x := range xs {
			g.FMUL(x, x, g.limit)
			g.store(x, a64.At(p, v*vecBytes))
			g.raise(m[v], x, scratch)
		}
	})
	g.Op("ADD", g.ld, p, p)
	g.Op("SUBS", 1, rows, rows)
	g.Jump("BNE", name+"row")
	g.Label(name + "done")
	for v := range vectors {
		g.store(m[v], a64.At(g.max, v*vecBytes))
	}
	g.advance(vectors*vecBytes, g.s, g.max)
}

// ALiBi works on chunks of columns; see alibi.go.
func (g *neon) ALiBi() {
	g.function(spec.ALiBi)
	a := alibi{neon: g, s: g.slice("s"), ld: g.stride("ld"), slopes: g.slice("slopes"), pos: g.slice("pos"), max: g.slice("max"), one: g.broadcast(1)}
	g.chunks(widestChunk, g.param(g.Len("max")), a.chunk)
}

type alibi struct {
	*neon
	s, ld, slopes, pos, max a64.GP
	one                     a64.Vec
}

func (g alibi) chunk(vectors int, name string) {
	g.Comment("%d vectors of lanes, one row a turn.", vectors)
	g.Label(name)
	slope, i, m := g.Vecs(vectors), g.Vecs(vectors), g.Vecs(vectors)
	for v := range vectors {
		g.load(a64.At(g.slopes, v*vecBytes), slope[v])
		g.load(a64.At(g.pos, v*vecBytes), i[v])
		g.load(a64.At(g.max, v*vecBytes), m[v])
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
		g.load(a64.At(p, v*vecBytes), x[v])
		g.Op("VFMLS", d[v].S4(), slope[v].S4(), x[v].S4())
		g.store(x[v], a64.At(p, v*vecBytes))
		g.raise(m[v], x[v], d[v])
	}
	g.Op("VADD", g.one.S4(), j.S4(), j.S4())
	g.Op("ADD", g.ld, p, p)
	g.Op("SUBS", 1, rows, rows)
	g.Jump("BNE", name+"row")
	g.Label(name + "done")
	for v := range vectors {
		g.store(m[v], a64.At(g.max, v*vecBytes))
	}
	g.advance(vectors*vecBytes, g.s, g.slopes, g.pos, g.max)
}
