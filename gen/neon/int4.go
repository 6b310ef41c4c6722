package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The conversions of integers of 4 bits follow amd64/int4.go, with 8 bytes per iteration. A
// rowConverter counts bytes here, of which each is two numbers.

// A nibbler has the constants that unpack takes.
type nibbler struct {
	*neon
	low, sign, second a64.Vec
}

func (g *neon) nibbler() nibbler {
	return nibbler{g, g.Broadcast(0x0f0f0f0f), g.Broadcast(0x08080808), g.Vec()}
}

// unpack makes 16 int8 of the 8 bytes of x.
func (n nibbler) unpack(x a64.Vec) {
	n.Op("VUSHR", 4, x.B16(), n.second.B16())
	n.Op("VZIP1", n.second.B16(), x.B16(), x.B16())
	n.Op("VAND", n.low.B16(), x.B16(), x.B16())
	n.Op("VEOR", n.sign.B16(), x.B16(), x.B16())
	n.Op("VSUB", n.sign.B16(), x.B16(), x.B16())
}

// split makes two integers of the byte at from: the first and the second.
func (n nibbler) split(from, first, second a64.GP) {
	n.Op("MOVB.P", a64.At(from, 1), second)
	n.Op("LSL", 60, second, first)
	n.Op("ASR", 60, first, first)
	n.Op("ASR", 4, second, second)
}

// WidenInt4 works group by group within a row, as WidenInt8 does.
func (g *neon) WidenInt4() {
	c := g.rows(spec.WidenInt4, 0, 2)
	c.toSize = 3 // bytes of two numbers, as a logarithm
	n, scale, v := g.nibbler(), g.Vec(), g.Vecs(4)
	c.eachGroup(2, scale, func() {
		g.Op("FMOVD.P", a64.At(c.from, convertStep), v[0])
		n.unpack(v[0])
		g.Op("VEXT", 8, v[0].B16(), v[0].B16(), v[2].B16())
		for i := 0; i < len(v); i += 2 {
			g.SXTLBytes(v[i], v[i])
			g.SXTL2(v[i+1], v[i])
			g.SXTL(v[i], v[i])
		}
		for i, x := range v {
			g.SCVTF(x, x)
			g.FMUL(x, x, scale)
			g.StoreTo(x, a64.At(c.to, i*emit.VecBytes))
		}
		g.Advance(len(v)*emit.VecBytes, c.to)
	}, func(first a64.GP) {
		second := g.GP()
		n.split(c.from, first, second)
		for i, number := range []a64.GP{first, second} {
			g.Op("FMOVS", number, v[i])
			g.SCVTF(v[i], v[i])
			g.FMUL(v[i], v[i], scale)
			g.Op("FMOVS.P", v[i], a64.At(c.to, 4))
		}
	})
}

func (g *neon) UnpackInt4() {
	c := g.rows(spec.UnpackInt4, 0, 1)
	n, v, first, second := g.nibbler(), g.Vec(), g.GP(), g.GP()
	g.Op("LSR", 1, c.d, c.d)
	c.convert(func() {
		g.Op("FMOVD.P", a64.At(c.from, convertStep), v)
		n.unpack(v)
		g.StoreTo(v, a64.At(c.to, 0))
		g.Advance(emit.VecBytes, c.to)
	}, func() {
		n.split(c.from, first, second)
		g.Op("MOVB.P", first, a64.At(c.to, 1))
		g.Op("MOVB.P", second, a64.At(c.to, 1))
	})
}

// QuantizeInt4 makes the scale of the number that is farthest from 0: the largest one or the
// smallest one.
func (g *neon) QuantizeInt4() {
	q, low, high := g.quantizer(spec.QuantizeInt4, 2), g.Broadcast(math.Float32bits(-8)), g.Broadcast(math.Float32bits(7))
	q.limit = func(x a64.Vec) {
		g.FMIN(x, x, high)
		g.FMAX(x, x, low)
	}
	v, most, least, second := g.Vecs(4), g.Vecs(2), g.Vecs(2), g.Vec()
	zero, eighth := g.Broadcast(0), g.Broadcast(math.Float32bits(-0.125))
	tiny := g.Broadcast(spec.LeastInt4)
	raise := func(i int) {
		g.FMAX(most[i%2], most[i%2], v[i])
		g.FMIN(least[i%2], least[i%2], v[i])
	}
	q.groups(func() {
		for i := range most {
			g.Zero(most[i])
			g.Zero(least[i])
		}
		q.elements("extremes", func() {
			q.loadVectors(v)
			for i := range v {
				raise(i)
			}
		}, func() {
			g.Op("FMOVD.P", a64.At(q.from, 8), v[0])
			raise(0)
		})
		g.FMAX(most[0], most[0], most[1])
		g.FMIN(least[0], least[0], least[1])
		g.FMAXV(most[0], most[0])
		g.FMINV(least[0], least[0])
		g.Commentf("Of two magnitudes that are equal, the number is the positive one. A NaN is in both.")
		g.FSUB(second, zero, least[0])
		g.FCMGT(second, second, most[0])
		g.Op("VBIT", second.B16(), least[0].B16(), most[0].B16())
		g.FABS(second, most[0])
		g.Op("FMOVS", second, q.number)
		q.compareInfinity(q.number)
		g.Jump("BGE", "infinite")
		g.flushBelow(most[0], tiny, second)
		g.FMUL(most[0], most[0], eighth)
		g.FADD(most[0], most[0], zero)
		g.Op("VDUP", most[0].S(0), q.divisor.S4())
	}, func() {
		q.loadVectors(v)
		q.quantize(v...)
		g.Op("VUZP1", v[1].H8(), v[0].H8(), v[0].H8())
		g.Op("VUZP1", v[3].H8(), v[2].H8(), v[2].H8())
		g.Op("VUZP2", v[2].H8(), v[0].H8(), second.H8())
		g.Op("VUZP1", v[2].H8(), v[0].H8(), v[0].H8())
		g.Op("VSLI", 4, second.H8(), v[0].H8())
		g.Op("VUZP1", v[0].B16(), v[0].B16(), v[0].B16())
		g.Op("FMOVD.P", v[0], a64.At(q.to, convertStep))
	}, func() {
		g.Op("FMOVD.P", a64.At(q.from, 8), v[0])
		q.quantize(v[0])
		g.Op("VUZP2", v[0].S4(), v[0].S4(), second.S4())
		g.Op("VSLI", 4, second.S4(), v[0].S4())
		g.Op("FMOVS", v[0], q.number)
		g.Op("MOVB.P", q.number, a64.At(q.to, 1))
	})
}
