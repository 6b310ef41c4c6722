package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The element-wise part of a gated recurrent unit, and its gradients, see amd64/recurrent.go.

// thirds returns pointers to the three parts of a slice. size is that of a part in bytes.
func (g *neon) thirds(name string, size a64.GP) []a64.GP {
	p := []a64.GP{g.Slice(name), g.GP(), g.GP()}
	g.Op("ADD", size, p[0], p[1])
	g.Op("ADD", size, p[1], p[2])
	return p
}

func (g *neon) GRU() {
	g.Kernel(spec.GRU)
	tanh := g.tanhRegs()
	left, size, state := g.LoadParam(g.Len("state")), g.GP(), g.Slice("state")
	g.Op("LSL", 2, left, size)
	gates, in, hidden := g.thirds("gates", size), g.thirds("in", size), g.thirds("hidden", size)
	exp, one, log2E := g.NewExp2(emit.NotPositive, spec.Minus126), g.Broadcast(spec.One), g.Broadcast(spec.Log2E)
	reset, update := g.Vec(), g.Vec()
	g.EachColumn(left, func(op string, bytes int) {
		op += ".P"
		g.Scope(func() {
			e, y := g.Vec(), g.Vec()
			for i, x := range []a64.Vec{reset, update} {
				g.Op(op, a64.At(in[i], bytes), x)
				g.Op(op, a64.At(hidden[i], bytes), y)
				g.FADD(x, x, y)
				g.Op("VORR", tanh.sign.B16(), x.B16(), e.B16())
				g.FMUL(e, e, log2E)
				g.Exp2Vectors(exp, []a64.Vec{e})
				g.Commentf("The gate: 1/(1+e), and e/(1+e) for negative numbers.")
				g.Zero(y)
				g.FCMGT(y, y, x)
				g.FADD(x, e, one)
				g.Op("VBIF", y.B16(), one.B16(), e.B16())
				g.FDIV(x, e, x)
				g.Op(op, x, a64.At(gates[i], bytes))
			}
		})
		g.Scope(func() {
			c := g.Vec()
			g.Op(op, a64.At(hidden[2], bytes), c)
			g.FMUL(reset, reset, c)
			g.Op(op, a64.At(in[2], bytes), c)
			g.FADD(c, c, reset)
			g.tanh(tanh, []a64.Vec{c})
			g.Op(op, c, a64.At(gates[2], bytes))
			g.Op(op[:len("FMOVQ")], a64.At(state, 0), reset)
			g.FSUB(reset, reset, c)
			g.FMUL(reset, reset, update)
			g.FADD(reset, reset, c)
			g.Op(op, reset, a64.At(state, bytes))
		})
	})
	g.Ret()
}

func (g *neon) GRUBackward() {
	g.Kernel(spec.GRUBackward)
	left, size, d, before := g.LoadParam(g.Len("d")), g.GP(), g.Slice("d"), g.Slice("before")
	g.Op("LSL", 2, left, size)
	dIn, dHidden, gates, hidden := g.thirds("dIn", size), g.thirds("dHidden", size), g.thirds("gates", size), g.thirds("hidden", size)
	one := g.Broadcast(spec.One)
	r, z, c, h, s, grad, rest, slope, dc := g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.EachColumn(left, func(op string, bytes int) {
		load := func(p a64.GP, v a64.Vec) { g.Op(op+".P", a64.At(p, bytes), v) }
		store := func(v a64.Vec, p a64.GP) { g.Op(op+".P", v, a64.At(p, bytes)) }
		for i, v := range []a64.Vec{r, z, c} {
			load(gates[i], v)
		}
		g.Op(op, a64.At(d, 0), grad)
		load(before, s)
		g.Commentf("dc = (d·(1-z))·((1-c)·(1+c))")
		g.FSUB(rest, one, z)
		g.FMUL(dc, grad, rest)
		g.FSUB(slope, one, c)
		g.FSUB(s, s, c)
		g.FADD(c, one, c)
		g.FMUL(slope, slope, c)
		g.FMUL(dc, dc, slope)
		store(dc, dIn[2])
		g.Commentf("dz = (d·(before-c))·((1-z)·z)")
		g.FMUL(s, grad, s)
		g.FMUL(rest, rest, z)
		g.FMUL(s, s, rest)
		store(s, dIn[1])
		store(s, dHidden[1])
		g.FMUL(grad, grad, z)
		store(grad, d)
		g.Commentf("dr = (dc·hidden)·((1-r)·r)")
		load(hidden[2], h)
		g.FMUL(h, dc, h)
		g.FMUL(dc, dc, r)
		store(dc, dHidden[2])
		g.FSUB(slope, one, r)
		g.FMUL(slope, slope, r)
		g.FMUL(h, h, slope)
		store(h, dIn[0])
		store(h, dHidden[0])
	})
	g.Ret()
}
