package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// AddBias adds a bias to the rows of a product and makes every NaN the same one, see
// amd64/addbias.go.
func (g *neon) AddBias() {
	g.Kernel(spec.AddBias)
	row, ldc, m := g.Slice("c"), g.Stride("ldc"), g.Num("m")
	bias, lanes := g.Slice("bias"), g.LoadParam(g.Len("bias"))
	nan, x, b, scratch := g.Broadcast(spec.NaN), g.Vec(), g.Vec(), g.Vec()
	p, q, left := g.GP(), g.GP(), g.GP()
	g.JumpIfZero(lanes, "done")
	loop.AnyTimes(g, m, "row", "done", false, func() {
		g.Op("MOVD", row, p)
		g.Op("MOVD", bias, q)
		g.Op("MOVD", lanes, left)
		g.Commentf("One vector: x = c + bias.")
		g.Label("vector")
		g.LoadVec(p, 0, x)
		g.Op("FMOVQ.P", a64.At(q, emit.VecBytes), b)
		g.FADD(x, x, b)
		g.replaceNaN(x, nan, scratch)
		g.Op("FMOVQ.P", x, a64.At(p, emit.VecBytes))
		g.CountDown(left, emit.VecLanes, "vector")
		g.Op("ADD", ldc, row, row)
	})
	g.Return()
}
