package main

import "github.com/attn-go/attn/gen/a64"

// each emits a function over len(dst) elements, as in function.go; compute works in
// place.
func (g *neon) each(compute func(x a64.Vec)) {
	dst, src, left := g.slice("dst"), g.slice("src"), g.param(g.Len("dst"))
	x, last, lastPlace := g.Vec(), g.Vec(), g.GP()
	g.Op("CMP", neonLanes, left)
	g.Jump("BLT", "single")
	g.Op("SUB", neonLanes, left, left)
	g.Comment("The last vector waits in a register.")
	g.Op("ADD", left.Shl(2), src, lastPlace)
	g.load(a64.At(lastPlace, 0), last)
	compute(last)
	g.Op("ADD", left.Shl(2), dst, lastPlace)
	g.Jump("CBZ", "last", left)
	g.Align(32)
	g.Label("vector")
	g.Op("FMOVQ.P", a64.At(src, neonBytes), x)
	compute(x)
	g.Op("FMOVQ.P", x, a64.At(dst, neonBytes))
	g.Op("SUBS", neonLanes, left, left)
	g.Jump("BGT", "vector")
	g.Label("last")
	g.store(last, a64.At(lastPlace, 0))
	g.Ret()

	g.Label("single")
	g.Jump("CBZ", "done", left)
	g.Op("FMOVS.P", a64.At(src, 4), x)
	compute(x)
	g.Op("FMOVS.P", x, a64.At(dst, 4))
	g.Op("SUB", 1, left, left)
	g.Jump("B", "single")
	g.Label("done")
	g.Ret()
}

// exp2Each is exp2 for all x, see neon_softmax.go; beyond 128 x is 128.
func (g *neon) exp2Each() {
	g.function(exp2Function)
	limit, e := g.broadcast(plus128), g.exp2Regs(allNumbers)
	g.each(func(x a64.Vec) {
		g.FMIN(x, x, limit)
		g.exp2(e, []a64.Vec{x})
	})
}

func (g *neon) tanhEach() {
	g.function(tanhFunction)
	e := g.tanhRegs()
	g.each(func(x a64.Vec) { g.tanh(e, []a64.Vec{x}) })
}
