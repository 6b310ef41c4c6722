package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tanh is t + v·r / (h(r²) + t·r). c, t = tanh c and v = 1-t² come from tables of 8
// points, for the point nearest to |x|. r is |x|-c, and h is a polynomial that
// approximates r/tanh r. That is 15 operations and a division, which has a unit of its
// own. A permutation of lanes reads the tables. Its index is the low bits of |x| scaled
// and added to 1.5·2^23. It ignores the other bits.

// A tanhOperands holds the constants of tanh: in registers those that must be, and the
// others too if the ISA has enough registers.
type tanhOperands struct {
	sign, limit    reg.VecVirtual
	density, round operand.Op
	b              [len(spec.TanhCoefficients)]operand.Op
	c, t, v        operand.Op
}

func (g *gen) tanhOperands() tanhOperands {
	o := tanhOperands{sign: g.Vec(), limit: g.Vec()}
	g.VMOVUPS(g.Constant(spec.SignBit), o.sign)
	g.VMOVUPS(g.Constant(spec.TanhLimit), o.limit)
	o.density, o.round = g.AtHand(g.Constant(spec.TanhDensity)), g.AtHand(g.Constant(spec.RoundMagic))
	for i, bits := range spec.TanhCoefficients {
		o.b[i] = g.AtHand(g.Constant(bits))
	}
	o.c, o.t, o.v = g.AtHand(g.Repeated("tanhC", spec.TanhC...)), g.AtHand(g.Repeated("tanhT", spec.TanhT...)), g.AtHand(g.Repeated("tanhV", spec.TanhV...))
	return o
}

// tanh emits y = tanh(x) for one vector. x is overwritten. The latency is that of 10
// operations and a division. Other work must hide it, such as iterations of a loop that
// do not depend on each other.
func (g *gen) tanh(o tanhOperands, x reg.VecVirtual) (y reg.VecVirtual) {
	r, k, c := g.Vec(), g.Vec(), g.Vec()
	g.Comment("tanh: the point c nearest to |x|, and r = |x|-c.")
	g.VANDNPS(x, o.sign, r)
	g.VMINPS(r, o.limit, r) // a NaN stays
	g.VMOVUPS(o.round, k)
	g.VFMADD231PS(o.density, r, k)
	g.VPERMPS(o.c, k, c)
	g.VSUBPS(c, r, r)
	g.Comment("h, a polynomial in r².")
	u, h := g.Vec(), g.Vec()
	g.VMULPS(r, r, u)
	g.VMOVUPS(o.b[2], h)
	g.VFMADD231PS(o.b[3], u, h)
	g.VFMADD213PS(o.b[1], u, h)
	g.VFMADD213PS(o.b[0], u, h)
	g.Comment("t + v·r / (h + t·r), with the sign of x.")
	y, q := g.Vec(), g.Vec()
	g.VPERMPS(o.t, k, y)
	g.VPERMPS(o.v, k, q)
	g.VFMADD231PS(y, r, h)
	g.VMULPS(r, q, q)
	g.VDIVPS(h, q, q)
	g.VADDPS(q, y, y)
	g.TakeSign(g.Context, y, x, o.sign)
	return y
}
