package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// QuantizeInt8 follows amd64/quantize.go.
func (g *neon) QuantizeInt8() {
	c := g.rows(spec.QuantizeInt8, 2, 0)
	scales, lsc, group := g.Slice("scales"), g.Stride("lsc"), g.Num("group")
	start, s, rest, number := g.GP(), g.GP(), g.GP(), g.GP()
	one, high, low, magic := g.Broadcast(math.Float32bits(1)), g.Broadcast(math.Float32bits(127)), g.Broadcast(math.Float32bits(-127)), g.Broadcast(spec.RoundMagic)
	divisor, v, t := g.Vec(), g.Vecs(2), g.Vec()
	quotient := func(x a64.Vec) {
		g.FDIV(x, x, divisor)
		g.FMIN(x, x, high)
		g.FMAX(x, x, low)
		g.FADD(x, x, magic)
	}
	c.eachUntil("finite", func() {
		g.Op("MOVD", scales, s)
		g.Op("ADD", lsc, scales, scales)
		g.Op("MOVD", c.d, rest)
		g.Label("group")
		g.Op("SUB", group, rest, rest)
		g.Op("MOVD", c.to, start)
		g.Op("MOVD", group, c.left)
		c.largest(v, t, number)
		g.Jump("BGE", "infinite")
		g.Op("SUB", group.Shl(2), c.from, c.from)
		g.Op("MOVD", start, c.to)
		g.Op("MOVD", group, c.left)
		g.Op("VDUP", number, divisor.S4())
		g.FDIV(divisor, divisor, high)
		g.Op("FMOVS.P", divisor, a64.At(s, 4))
		g.Commentf("Divided by 1, numbers whose scale is 0 become 0.")
		g.FCMEQZero(t, divisor)
		g.Op("VBIT", t.B16(), one.B16(), divisor.B16())
		c.elements("quotient", func() {
			c.loadTwo(v)
			quotient(v[0])
			quotient(v[1])
			g.Op("VUZP1", v[1].H8(), v[0].H8(), v[0].H8())
			g.Op("VUZP1", v[0].B16(), v[0].B16(), v[0].B16())
			g.Op("FMOVD.P", v[0], a64.At(c.to, convertStep))
		}, func() {
			g.Op("FMOVS.P", a64.At(c.from, 4), v[0])
			quotient(v[0])
			g.Op("FMOVS", v[0], number)
			g.Op("MOVB.P", number, a64.At(c.to, 1))
		})
		g.Jump("CBNZ", "group", rest)
	})
	g.returnFinite(number)
}

func (g *neon) Finite() {
	g.Kernel(spec.Finite)
	c := &rowConverter{neon: g, from: g.Slice("src"), to: g.GP(), left: g.LoadParam(g.Len("src")), fromSize: 2}
	number := g.GP()
	g.JumpIfZero(c.left, "finite")
	c.largest(g.Vecs(2), g.Vec(), number)
	g.Jump("BGE", "infinite")
	g.Label("finite")
	g.returnFinite(number)
}

// returnFinite returns true, and false at the label infinite.
func (g *neon) returnFinite(scratch a64.GP) {
	for _, result := range []int{1, 0} {
		if result == 0 {
			g.Label("infinite")
		}
		g.Op("MOVD", result, scratch)
		g.Op("MOVB", scratch, g.Result())
		g.Ret()
	}
}

// largest sets bits to those of the largest magnitude of the left numbers at from, and compares
// them with those of infinity. v and t are scratch.
func (c *rowConverter) largest(v []a64.Vec, t a64.Vec, bits a64.GP) {
	most, infinity := c.Vec(), c.GP()
	c.Zero(most)
	raise := func(x a64.Vec) {
		c.FABS(x, x)
		c.CMGT(t, x, most)
		c.Op("VBIT", t.B16(), x.B16(), most.B16())
	}
	c.elements("magnitude", func() {
		c.loadTwo(v)
		raise(v[0])
		raise(v[1])
	}, func() {
		c.Op("FMOVS.P", a64.At(c.from, 4), v[0])
		raise(v[0])
	})
	for _, bytes := range []int{8, 4} {
		c.Op("VEXT", bytes, most.B16(), most.B16(), v[0].B16())
		raise(v[0])
	}
	c.Op("FMOVS", most, bits)
	c.Op("MOVD", spec.MinusInf&^spec.SignBit, infinity)
	c.Op("CMP", infinity, bits)
	c.Free(infinity)
	c.Free(most)
}
