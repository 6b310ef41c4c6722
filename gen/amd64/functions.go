package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions over slices compute one vector of elements per iteration. If the vector
// does not divide the slice, the last vector overlaps the one before. As dst may be src,
// it is computed first of all and stored last. Slices shorter than a vector are computed
// element by element.

// each emits a function over len(dst) elements. init loads the constants of compute, which
// overwrites a vector and returns the result.
func (g *gen) each(f spec.Function, init func(), compute func(x reg.VecVirtual) reg.VecVirtual) {
	g.Kernel(f)
	dst, src, count := g.Slice("dst"), g.Slice("src"), g.SliceLen("dst")
	init()
	anywhere := func(_ reg.Register, x reg.VecVirtual) reg.VecVirtual { return compute(x) }
	g.elementwise(dst, src, count, anywhere, anywhere)
}

// elementwise emits the loops of a function over count elements. vector and single compute
// the results for the elements x at index i: for a whole vector, or for one element.
func (g *gen) elementwise(dst, src, count reg.GPVirtual, vector, single func(i reg.Register, x reg.VecVirtual) reg.VecVirtual) {
	i, end, x := g.GP64(), g.GP64(), g.Vec()
	g.XORQ(i, i)
	g.MOVQ(count, end)
	g.SUBQ(operand.U32(g.Lanes()), end)
	g.JL(operand.LabelRef("single"))
	g.Comment("The last vector is computed first and kept in a register.")
	g.VMOVUPS(emit.Indexed(src, end, 4), x)
	last := vector(end, x)
	g.JZ(operand.LabelRef("last"))
	g.AlignLoop()
	g.Label("vector")
	x = g.Vec()
	g.VMOVUPS(emit.Indexed(src, i, 4), x)
	g.VMOVUPS(vector(i, x), emit.Indexed(dst, i, 4))
	g.ADDQ(operand.U32(g.Lanes()), i)
	g.CMPQ(i, end)
	g.JLT(operand.LabelRef("vector"))
	g.Label("last")
	g.VMOVUPS(last, emit.Indexed(dst, end, 4))
	g.Return()

	g.Label("single")
	g.CMPQ(i, count)
	g.JGE(operand.LabelRef("done"))
	x = g.Vec()
	g.VMOVSS(emit.Indexed(src, i, 4), x.AsX())
	g.VMOVSS(single(i, x).AsX(), emit.Indexed(dst, i, 4))
	g.INCQ(i)
	g.JMP(operand.LabelRef("single"))
	g.Label("done")
	g.Return()
}

// Exp2 is for all x, not only for x ≤ 0. Beyond 128 x is replaced by 128. There n is 128
// and the polynomial 1, and the scaling makes it +Inf.
func (g *gen) Exp2() {
	var ops []operand.Op
	limit := g.Vec()
	g.each(spec.Exp2, func() {
		ops = g.Exp2Operands(spec.Minus126)
		g.VMOVUPS(g.Constant(spec.Plus128), limit)
	}, func(x reg.VecVirtual) reg.VecVirtual {
		g.VMINPS(x, limit, x) // a NaN stays
		return g.Exp2Vectors(ops, []reg.VecVirtual{x})[0]
	})
}

func (g *gen) Tanh() {
	var o tanhOperands
	g.each(spec.Tanh, func() { o = g.tanhOperands() }, func(x reg.VecVirtual) reg.VecVirtual { return g.tanh(o, x) })
}

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
