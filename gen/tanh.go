package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tanh is t + v·r / (h(r²) + t·r), with c, t = tanh c and v = 1-t² from tables of 8
// points, of which that nearest to |x| is taken, and r = |x|-c; h is a polynomial
// for r/tanh r. It has 15 operations and a division, which has a unit for itself.
// A permutation of lanes reads the tables: its index is the low bits of |x|
// scaled and added to 1.5·2^23, and the rest of the bits does not matter to it.

// The tables and constants are the contract's, as float32 bits.
var (
	tanhC = []uint32{0x00000000, 0x3f9960b9, 0x401973b4, 0x40669340, 0x4099a70b, 0x40c05395, 0x40e7034e, 0x410aa123}
	tanhT = []uint32{0x00000000, 0x3f5547a4, 0x3f7bcd32, 0x3f7f9ec0, 0x3f7ff727, 0x3f7fff36, 0x3f7fffee, 0x3f7fffff}
	tanhV = []uint32{0x3f800000, 0x3e9c9f6a, 0x3d053fb8, 0x3b425b0e, 0x398d8d8e, 0x37c9ffb0, 0x360ffffb, 0x34000000}

	tanhCoefficients = [...]uint32{0x3f800000, 0x3eaaaa79, 0xbcb5d1e4, 0x3b01b40b} // of h, the constant term first
)

const (
	tanhLimit   = 0x41103000 // tanh is 1 from here on
	tanhDensity = 0x3f550000 // points in a unit of x
	roundMagic  = 0x4b400000 // 1.5·2^23
	signBit     = 0x80000000
)

// A tanhOperands holds what tanh needs throughout: in registers what must be and,
// where the ISA has enough of them, the rest.
type tanhOperands struct {
	sign, limit    reg.VecVirtual
	density, round operand.Op
	b              [len(tanhCoefficients)]operand.Op
	c, t, v        operand.Op
}

func (g *gen) tanhOperands() tanhOperands {
	o := tanhOperands{sign: g.vec(), limit: g.vec()}
	g.VMOVUPS(g.constant(signBit), o.sign)
	g.VMOVUPS(g.constant(tanhLimit), o.limit)
	o.density, o.round = g.atHand(g.constant(tanhDensity)), g.atHand(g.constant(roundMagic))
	for i, bits := range tanhCoefficients {
		o.b[i] = g.atHand(g.constant(bits))
	}
	o.c, o.t, o.v = g.atHand(g.repeated("tanhC", tanhC...)), g.atHand(g.repeated("tanhT", tanhT...)), g.atHand(g.repeated("tanhV", tanhV...))
	return o
}

// tanh emits y = tanh(x) for one vector; x is overwritten. The latency is that of
// 10 operations and a division: it takes other work to hide behind, such as that of
// the turns of a loop that do not wait for each other.
func (g *gen) tanh(o tanhOperands, x reg.VecVirtual) (y reg.VecVirtual) {
	r, k, c := g.vec(), g.vec(), g.vec()
	g.Comment("tanh: the point c nearest to |x|, and r = |x|-c.")
	g.VANDNPS(x, o.sign, r)
	g.VMINPS(r, o.limit, r) // a NaN stays
	g.VMOVUPS(o.round, k)
	g.VFMADD231PS(o.density, r, k)
	g.VPERMPS(o.c, k, c)
	g.VSUBPS(c, r, r)
	g.Comment("h, a polynomial in r².")
	u, h := g.vec(), g.vec()
	g.VMULPS(r, r, u)
	g.VMOVUPS(o.b[2], h)
	g.VFMADD231PS(o.b[3], u, h)
	g.VFMADD213PS(o.b[1], u, h)
	g.VFMADD213PS(o.b[0], u, h)
	g.Comment("t + v·r / (h + t·r), with the sign of x.")
	y, q := g.vec(), g.vec()
	g.VPERMPS(o.t, k, y)
	g.VPERMPS(o.v, k, q)
	g.VFMADD231PS(y, r, h)
	g.VMULPS(r, q, q)
	g.VDIVPS(h, q, q)
	g.VADDPS(q, y, y)
	g.takeSign(g.Context, y, x, o.sign)
	return y
}
