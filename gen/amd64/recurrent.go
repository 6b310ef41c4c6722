package amd64

import (
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The element-wise part of a gated recurrent unit, and its gradients. Three parts of n elements
// follow each other in most slices: their distance is one index, 4·n or 8·n bytes.

// A recurrent emits one of the kernels, a vector of units after the other.
type recurrent struct {
	g     *gen
	n     reg.GPVirtual
	load  func(m operand.Mem, v reg.VecVirtual)
	store func(v reg.VecVirtual, m operand.Mem)
}

// part is the memory of part i of a slice, from a pointer into the first part on.
func (r *recurrent) part(p reg.Register, i int) operand.Mem {
	if i == 0 {
		return at(p, 0)
	}
	return indexed(p, r.n, uint8(4*i))
}

// loaded loads a vector.
func (r *recurrent) loaded(m operand.Mem) reg.VecVirtual {
	v := r.g.vec()
	r.load(m, v)
	return v
}

// eachUnit emits a loop over n units, a vector after the other, and what is left under a mask. The
// pointers go on by a vector after each. It returns from the function.
func (r *recurrent) eachUnit(pointers []reg.GPVirtual, body func()) {
	left := r.g.GP64()
	r.load = func(m operand.Mem, v reg.VecVirtual) { r.g.VMOVUPS(m, v) }
	r.store = func(v reg.VecVirtual, m operand.Mem) { r.g.VMOVUPS(v, m) }
	r.g.MOVQ(r.n, left)
	r.g.SUBQ(operand.U32(r.g.lanes()), left)
	r.g.JL(operand.LabelRef("last"))
	r.g.AlignLoop()
	r.g.Label("vector")
	body()
	r.g.Advance(r.g.bytes(), pointers...)
	r.g.SUBQ(operand.U32(r.g.lanes()), left)
	r.g.JGE(operand.LabelRef("vector"))
	r.g.Comment("Less than a vector is left.")
	r.g.Label("last")
	r.g.ADDQ(operand.U32(r.g.lanes()), left)
	r.g.JZ(operand.LabelRef("end"))
	masks := r.g.masks(left)
	mask := func() reg.VecVirtual {
		v := r.g.vec()
		r.g.VMOVUPS(at(masks, 0), v)
		return v
	}
	r.load = func(m operand.Mem, v reg.VecVirtual) { r.g.loadWhere(r.g.Context, m, mask(), v) }
	r.store = func(v reg.VecVirtual, m operand.Mem) { r.g.storeWhere(r.g.Context, v, mask(), m) }
	body()
	r.g.Label("end")
	r.g.Return()
}

// GRU computes the sigmoids of both gates at once.
func (g *gen) GRU() {
	g.function(spec.GRU)
	r := &recurrent{g: g, n: g.sliceLen("state")}
	state, gates, in, hidden := g.slice("state"), g.slice("gates"), g.slice("in"), g.slice("hidden")
	tanh, ops := g.tanhOperands(), g.exp2Operands()
	r.eachUnit([]reg.GPVirtual{state, gates, in, hidden}, func() {
		xs, sums := g.Vecs(2), g.Vecs(2)
		for i, x := range xs {
			r.load(r.part(in, i), x)
			g.VADDPS(r.loaded(r.part(hidden, i)), x, x)
			g.VORPS(tanh.sign, x, sums[i])
			g.VMULPS(g.constant(spec.Log2E), sums[i], sums[i])
		}
		es := g.exp2(ops, sums)
		g.Comment("The gates: 1/(1+e), and e/(1+e) for negative numbers.")
		for i, e := range es {
			y := g.vec()
			g.VMOVUPS(g.constant(spec.One), y)
			g.VADDPS(y, e, sums[i])
			g.selectNegative(g.Context, y, xs[i], e)
			g.VDIVPS(sums[i], y, xs[i])
			r.store(xs[i], r.part(gates, i))
		}
		reset, update := xs[0], xs[1]
		g.VMULPS(r.loaded(r.part(hidden, 2)), reset, reset)
		g.VADDPS(r.loaded(r.part(in, 2)), reset, reset)
		c := g.tanh(tanh, reset)
		r.store(c, r.part(gates, 2))
		s := r.loaded(at(state, 0))
		g.VSUBPS(c, s, s)
		g.VMULPS(update, s, s)
		g.VADDPS(c, s, s)
		r.store(s, at(state, 0))
	})
}

func (g *gen) GRUBackward() {
	g.function(spec.GRUBackward)
	u := &recurrent{g: g, n: g.sliceLen("d")}
	d, dIn, dHidden := g.slice("d"), g.slice("dIn"), g.slice("dHidden")
	gates, hidden, before := g.slice("gates"), g.slice("hidden"), g.slice("before")
	one := g.vec()
	g.VMOVUPS(g.constant(spec.One), one)
	u.eachUnit([]reg.GPVirtual{d, dIn, dHidden, gates, hidden, before}, func() {
		r, z, c := u.loaded(u.part(gates, 0)), u.loaded(u.part(gates, 1)), u.loaded(u.part(gates, 2))
		grad, s := u.loaded(at(d, 0)), u.loaded(at(before, 0))
		rest, slope, dc := g.vec(), g.vec(), g.vec()
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
		u.store(grad, at(d, 0))
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
