package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// AdamW takes one vector at a time, and what is left one by one.
func (g *neon) AdamW() {
	g.Kernel(spec.AdamW)
	w, grad, m, v := g.Slice("w"), g.Slice("g"), g.Slice("m"), g.Slice("v")
	left := g.LoadParam(g.Len("w"))
	keep, gain1, beta2, gain2 := g.BroadcastParam("keep"), g.BroadcastParam("gain1"), g.BroadcastParam("beta2"), g.BroadcastParam("gain2")
	root, epsilon, rate := g.BroadcastParam("root"), g.BroadcastParam("epsilon"), g.BroadcastParam("rate")
	x, mean, square, y := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	least, t := g.Broadcast(spec.LeastNormal), g.Vec()
	g.EachColumn(left, func(move string, bytes int) {
		g.Op(move+".P", a64.At(grad, bytes), x)
		g.Op(move, a64.At(v, 0), square)
		g.FMUL(square, square, beta2)
		g.FMUL(y, x, gain2)
		g.FMUL(y, y, x)
		g.FADD(square, square, y)
		g.flushBelow(square, least, t)
		g.Op(move+".P", square, a64.At(v, bytes))
		g.FSQRT(square, square)
		g.Op(move, a64.At(m, 0), mean)
		g.FSUB(x, x, mean)
		g.FMUL(x, x, gain1)
		g.FADD(mean, mean, x)
		g.flushBelow(mean, least, t)
		g.Op(move+".P", mean, a64.At(m, bytes))
		g.FDIV(square, square, root)
		g.FADD(square, square, epsilon)
		g.FDIV(mean, mean, square)
		g.FMUL(mean, mean, rate)
		g.Op(move, a64.At(w, 0), y)
		g.FMUL(y, y, keep)
		g.FSUB(y, y, mean)
		g.flushBelow(y, least, t)
		g.Op(move+".P", y, a64.At(w, bytes))
	})
	g.Ret()
}
