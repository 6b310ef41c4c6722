package main

import "github.com/attn-go/attn/gen/a64"

// settle is that of settle.go.
func (g *neon) settle() {
	g.function(addBiasFunction)
	row, ldc, m := g.slice("c"), g.stride("ldc"), g.num("m")
	bias, lanes := g.slice("bias"), g.param(g.Len("bias"))
	nan, x, b, scratch := g.broadcast(nanF32), g.Vec(), g.Vec(), g.Vec()
	p, q, left := g.GP(), g.GP(), g.GP()
	g.Jump("CBZ", "done", lanes)
	g.Jump("CBZ", "done", m)

	g.Comment("One row.")
	g.Label("row")
	g.Op("MOVD", row, p)
	g.Op("MOVD", bias, q)
	g.Op("MOVD", lanes, left)
	g.Comment("One vector: x = c + bias.")
	g.Label("vector")
	g.load(a64.At(p, 0), x)
	g.Op("FMOVQ.P", a64.At(q, neonBytes), b)
	g.FADD(x, x, b)
	g.replaceNaN(x, nan, scratch)
	g.Op("FMOVQ.P", x, a64.At(p, neonBytes))
	g.Op("SUBS", neonLanes, left, left)
	g.Jump("BNE", "vector")
	g.Op("ADD", ldc, row, row)
	g.Op("SUBS", 1, m, m)
	g.Jump("BNE", "row")
	g.Label("done")
	g.Ret()
}
