package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The element-wise part of a gated recurrent unit, and its gradients. Three parts of n elements
// follow each other in most slices: their distance is one index, 4·n or 8·n bytes.

// A recurrent emits one of the kernels, a vector of units after the other.
type recurrent struct {
	g *gen
	n reg.GPVirtual
	mover
}

// part is the memory of part i of a slice, from a pointer into the first part on.
func (r *recurrent) part(p reg.Register, i int) operand.Mem {
	if i == 0 {
		return emit.At(p, 0)
	}
	return emit.Indexed(p, r.n, uint8(4*i))
}

// loaded loads a vector.
func (r *recurrent) loaded(m operand.Mem) reg.VecVirtual {
	v := r.g.Vec()
	r.load(m, v)
	return v
}

// eachUnit emits a loop over n units, a vector after the other, and what is left under a mask. The
// pointers go on by a vector after each. It returns from the function.
func (r *recurrent) eachUnit(pointers []reg.GPVirtual, body func()) {
	left := r.g.GP64()
	r.mover = r.g.wholeVectors()
	r.g.MOVQ(r.n, left)
	r.g.SUBQ(operand.U32(r.g.Lanes()), left)
	r.g.JL(operand.LabelRef("last"))
	r.g.AlignLoop()
	r.g.Label("vector")
	body()
	r.g.Advance(r.g.VecBytes(), pointers...)
	r.g.SUBQ(operand.U32(r.g.Lanes()), left)
	r.g.JGE(operand.LabelRef("vector"))
	r.g.Comment("Less than a vector is left.")
	r.g.Label("last")
	r.g.ADDQ(operand.U32(r.g.Lanes()), left)
	r.g.JZ(operand.LabelRef("end"))
	r.mover = r.g.firstElements(left)
	body()
	r.g.Label("end")
	r.g.Return()
}

// GRU computes the sigmoids of both gates at once.
func (g *gen) GRU() {
	g.Kernel(spec.GRU)
	r := &recurrent{g: g, n: g.SliceLen("state")}
	state, gates, in, hidden := g.Slice("state"), g.Slice("gates"), g.Slice("in"), g.Slice("hidden")
	tanh, ops := g.tanhOperands(), g.Exp2Operands(spec.Minus126)
	r.eachUnit([]reg.GPVirtual{state, gates, in, hidden}, func() {
		xs, sums := g.Vecs(2), g.Vecs(2)
		for i, x := range xs {
			r.load(r.part(in, i), x)
			g.VADDPS(r.loaded(r.part(hidden, i)), x, x)
			g.VORPS(tanh.sign, x, sums[i])
			g.VMULPS(g.Constant(spec.Log2E), sums[i], sums[i])
		}
		es := g.Exp2Vectors(ops, sums)
		g.Comment("The gates: 1/(1+e), and e/(1+e) for negative numbers.")
		for i, e := range es {
			y := g.Vec()
			g.VMOVUPS(g.Constant(spec.One), y)
			g.VADDPS(y, e, sums[i])
			g.SelectNegative(g.Context, y, xs[i], e)
			g.VDIVPS(sums[i], y, xs[i])
			r.store(xs[i], r.part(gates, i))
		}
		reset, update := xs[0], xs[1]
		g.VMULPS(r.loaded(r.part(hidden, 2)), reset, reset)
		g.VADDPS(r.loaded(r.part(in, 2)), reset, reset)
		c := g.tanh(tanh, reset)
		r.store(c, r.part(gates, 2))
		s := r.loaded(emit.At(state, 0))
		g.VSUBPS(c, s, s)
		g.VMULPS(update, s, s)
		g.VADDPS(c, s, s)
		r.store(s, emit.At(state, 0))
	})
}

func (g *gen) GRUBackward() {
	g.Kernel(spec.GRUBackward)
	u := &recurrent{g: g, n: g.SliceLen("d")}
	d, dIn, dHidden := g.Slice("d"), g.Slice("dIn"), g.Slice("dHidden")
	gates, hidden, before := g.Slice("gates"), g.Slice("hidden"), g.Slice("before")
	one := g.Vec()
	g.VMOVUPS(g.Constant(spec.One), one)
	u.eachUnit([]reg.GPVirtual{d, dIn, dHidden, gates, hidden, before}, func() {
		r, z, c := u.loaded(u.part(gates, 0)), u.loaded(u.part(gates, 1)), u.loaded(u.part(gates, 2))
		grad, s := u.loaded(emit.At(d, 0)), u.loaded(emit.At(before, 0))
		rest, slope, dc := g.Vec(), g.Vec(), g.Vec()
		g.Comment("dc = (d·(1-z))·((1-c)·(1+c))")
		g.VSUBPS(z, one, rest)
		g.VMULPS(rest, grad, dc)
		g.VSUBPS(c, one, slope)
		g.VSUBPS(c, s, s)
		g.VADDPS(c, one, c)
		g.VMULPS(c, slope, slope)
		g.VMULPS(slope, dc, dc)
		u.store(dc, u.part(dIn, 2))
		g.Comment("dz = (d·(before-c))·((1-z)·z)")
		g.VMULPS(s, grad, s)
		g.VMULPS(z, rest, rest)
		g.VMULPS(rest, s, s)
		u.store(s, u.part(dIn, 1))
		u.store(s, u.part(dHidden, 1))
		g.VMULPS(z, grad, grad)
		u.store(grad, emit.At(d, 0))
		g.Comment("dr = (dc·hidden)·((1-r)·r)")
		h := u.loaded(u.part(hidden, 2))
		g.VMULPS(dc, h, h)
		g.VMULPS(r, dc, dc)
		u.store(dc, u.part(dHidden, 2))
		g.VSUBPS(r, one, slope)
		g.VMULPS(r, slope, slope)
		g.VMULPS(slope, h, h)
		u.store(h, u.part(dIn, 0))
		u.store(h, u.part(dHidden, 0))
	})
}
