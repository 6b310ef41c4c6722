package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
)

// AdditiveBackward has the hidden units in the lanes, see amd64/additive_backward.go.
func (g *neon) AdditiveBackward() {
	g.Kernel(spec.AdditiveBackward)
	tanh := g.tanhRegs()
	left, one := g.LoadParam(g.Len("q")), g.Broadcast(spec.One)
	q, k, dk, dq, dw := g.Slice("q"), g.Slice("k"), g.Slice("dk"), g.Slice("dq"), g.Slice("dw")
	ldk, ldd := g.Stride("ldk"), g.Stride("ldd")
	g.EachColumn(left, func(move string, bytes int) {
		g.Scope(func() {
			query, sumQ, sumW, t, u, w := g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec()
			key, grad, x, n := g.GP(), g.GP(), g.Slice("x"), g.Num("n")
			g.Op(move+".P", a64.At(q, bytes), query)
			g.Op(move, a64.At(dq, 0), sumQ)
			g.Op(move, a64.At(dw, 0), sumW)
			g.Op("MOVD", k, key)
			g.Op("MOVD", dk, grad)
			loop.AnyTimes(g, n, "key"+move, "keys"+move, true, func() {
				g.Op(move, a64.At(key, 0), t)
				g.FADD(t, t, query)
				g.tanh(tanh, []a64.Vec{t})
				g.Op("VLD1R.P", a64.At(x, 4), []a64.Arr{w.S4()})
				g.Op("VFMLA", w.S4(), t.S4(), sumW.S4())
				g.FSUB(u, one, t)
				g.FADD(t, one, t)
				g.FMUL(u, u, t)
				g.Op("VFMLA", w.S4(), u.S4(), sumQ.S4())
				g.FMUL(w, w, u)
				g.Op(move, a64.At(grad, 0), t)
				g.FADD(t, t, w)
				g.Op(move, t, a64.At(grad, 0))
				g.Op("ADD", ldk, key, key)
				g.Op("ADD", ldd, grad, grad)
			})
			g.Op(move+".P", sumQ, a64.At(dq, bytes))
			g.Op(move+".P", sumW, a64.At(dw, bytes))
			g.Advance(bytes, k, dk)
		})
	})
	g.Ret()
}
