package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// A quantizer emits a quantization to integers. It follows amd64/quantize.go.
type quantizer struct {
	*rowConverter
	number         a64.GP // scratch
	divisor, magic a64.Vec
	limit          func(quotient a64.Vec) // nil if none is beyond the integers
}

// quantize makes quotients integers, which are in the low bits.
func (q *quantizer) quantize(quotients ...a64.Vec) {
	for _, x := range quotients {
		q.FDIV(x, x, q.divisor)
		if q.limit != nil {
			q.limit(x)
		}
		q.FADD(x, x, q.magic)
	}
}

// quantizer starts a function, whose integers take up a byte or half of one. A rowConverter counts
// bytes of them.
func (g *neon) quantizer(f spec.Function, perByte int) *quantizer {
	c := g.rows(f, 2, 0)
	if perByte == 2 {
		c.fromSize = 3 // bytes of two numbers, as a logarithm
		g.Op("LSR", 1, c.d, c.d)
	}
	return &quantizer{rowConverter: c, number: g.GP(), divisor: g.Vec(), magic: g.Broadcast(spec.RoundMagic)}
}

// groups emits the loops over rows and their groups. scale sets all lanes of the divisor to the
// scale of the group that is at from, and jumps to infinite where that has none.
func (q *quantizer) groups(scale, vector, single func()) {
	scales, lsc, group := q.Slice("scales"), q.Stride("lsc"), q.Num("group")
	s, rest, one, none := q.GP(), q.GP(), q.Broadcast(math.Float32bits(1)), q.Vec()
	if q.fromSize == 3 {
		q.Op("LSR", 1, group, group)
	}
	q.eachUntil("finite", func() {
		q.Op("MOVD", scales, s)
		q.Op("ADD", lsc, scales, scales)
		q.Op("MOVD", q.d, rest)
		q.Label("group")
		q.Op("SUB", group, rest, rest)
		q.Op("MOVD", group, q.left)
		start := q.GP()
		q.Op("MOVD", q.to, start)
		scale()
		q.Op("FMOVS.P", q.divisor, a64.At(s, 4))
		q.Commentf("Divided by 1, numbers whose scale is 0 become 0.")
		q.FCMEQZero(none, q.divisor)
		q.Op("VBIT", none.B16(), one.B16(), q.divisor.B16())
		q.Op("SUB", group.Shl(q.fromSize), q.from, q.from)
		q.Op("MOVD", start, q.to)
		q.Op("MOVD", group, q.left)
		q.elements("quotient", vector, single)
		q.Jump("CBNZ", "group", rest)
	})
	q.returnFinite(q.number)
}

func (g *neon) QuantizeInt8() {
	q, codes := g.quantizer(spec.QuantizeInt8, 1), g.Broadcast(math.Float32bits(spec.MostCode))
	v, t, least, most := g.Vecs(2), g.Vec(), g.Broadcast(spec.LeastInt8), g.Broadcast(spec.MostInt8)
	q.groups(func() {
		q.largest(v, t, q.number)
		g.Jump("BGE", "infinite")
		g.Op("VDUP", q.number, q.divisor.S4())
		g.flushBelow(q.divisor, least, t)
		g.FMIN(q.divisor, q.divisor, most)
		g.FDIV(q.divisor, q.divisor, codes)
	}, func() {
		q.loadVectors(v)
		q.quantize(v...)
		g.Op("VUZP1", v[1].H8(), v[0].H8(), v[0].H8())
		g.Op("VUZP1", v[0].B16(), v[0].B16(), v[0].B16())
		g.Op("FMOVD.P", v[0], a64.At(q.to, convertStep))
	}, func() {
		g.Op("FMOVS.P", a64.At(q.from, 4), v[0])
		q.quantize(v[0])
		g.Op("FMOVS", v[0], q.number)
		g.Op("MOVB.P", q.number, a64.At(q.to, 1))
	})
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

// largest sets bits to the largest magnitude of the left numbers at from, and compares it with
// infinity. v and t are scratch.
func (c *rowConverter) largest(v []a64.Vec, t a64.Vec, bits a64.GP) {
	most := c.Vec()
	c.Zero(most)
	raise := func(x a64.Vec) {
		c.FABS(x, x)
		c.CMGT(t, x, most)
		c.Op("VBIT", t.B16(), x.B16(), most.B16())
	}
	c.elements("magnitude", func() {
		c.loadVectors(v)
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
	c.Free(most)
	c.compareInfinity(bits)
}

// compareInfinity compares the bits of a magnitude with infinity's. A NaN's are larger.
func (g *neon) compareInfinity(bits a64.GP) {
	infinity := g.GP()
	g.Op("MOVD", spec.MinusInf&^spec.SignBit, infinity)
	g.Op("CMP", infinity, bits)
	g.Free(infinity)
}
