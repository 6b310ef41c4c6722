package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AdditiveBackward has the hidden units in the lanes, as Additive has. It goes over all keys for one
// vector of units, so that the sums over keys stay in registers. The keys do not depend on each
// other but in these sums, and the CPU computes several tanh at the same time.
func (g *gen) AdditiveBackward() {
	g.Kernel(spec.AdditiveBackward)
	a := &slopeAdder{g: g, offset: g.GP64(), ldd: g.Stride("ldd"), ldk: g.Stride("ldk")}
	a.tanh = g.tanhOperands()
	left := g.SliceLen("q")
	g.XORQ(a.offset, a.offset)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JL(operand.LabelRef("last"))
	g.Label("vector")
	a.units("key", func(m operand.Mem, v reg.VecVirtual) { g.VMOVUPS(m, v) }, func(v reg.VecVirtual, m operand.Mem) { g.VMOVUPS(v, m) })
	g.ADDQ(operand.U32(g.VecBytes()), a.offset)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JGE(operand.LabelRef("vector"))
	g.Comment("Less than a vector is left.")
	g.Label("last")
	g.ADDQ(operand.U32(g.Lanes()), left)
	g.JZ(operand.LabelRef("end"))
	masks := g.Masks(left)
	mask := func() reg.VecVirtual {
		v := g.Vec()
		g.VMOVUPS(emit.At(masks, 0), v)
		return v
	}
	a.units("lastkey", func(m operand.Mem, v reg.VecVirtual) { g.LoadWhere(g.Context, m, mask(), v) },
		func(v reg.VecVirtual, m operand.Mem) { g.StoreWhere(g.Context, v, mask(), m) })
	g.Label("end")
	g.Return()
}

type slopeAdder struct {
	g        *gen
	offset   reg.GPVirtual // of the units, in bytes
	ldd, ldk reg.GPVirtual
	tanh     tanhOperands
}

// from returns the address of the units in a slice.
func (a *slopeAdder) from(slice string) reg.GPVirtual {
	p := a.g.Slice(slice)
	a.g.ADDQ(a.offset, p)
	return p
}

// units emits the loop over the keys for one vector of units.
func (a *slopeAdder) units(name string, load func(m operand.Mem, v reg.VecVirtual), store func(v reg.VecVirtual, m operand.Mem)) {
	q, dq, dw, one := a.g.Vec(), a.g.Vec(), a.g.Vec(), a.g.Vec()
	load(emit.At(a.from("q"), 0), q)
	load(emit.At(a.from("dq"), 0), dq)
	load(emit.At(a.from("dw"), 0), dw)
	a.g.VMOVUPS(a.g.Constant(spec.One), one)
	k, dk, x := a.from("k"), a.from("dk"), a.g.Slice("x")
	loop.AnyTimes(a.g, a.g.Num("n"), name, name+"s", true, func() {
		t, u, w := a.g.Vec(), a.g.Vec(), a.g.Vec()
		load(emit.At(k, 0), t)
		a.g.VADDPS(q, t, t)
		t = a.g.tanh(a.tanh, t)
		a.g.VBROADCASTSS(emit.At(x, 0), w)
		a.g.VFMADD231PS(t, w, dw)
		a.g.VSUBPS(t, one, u)
		a.g.VADDPS(t, one, t)
		a.g.VMULPS(t, u, u)
		a.g.VFMADD231PS(u, w, dq)
		a.g.VMULPS(u, w, w)
		load(emit.At(dk, 0), t)
		a.g.VADDPS(w, t, t)
		store(t, emit.At(dk, 0))
		a.g.ADDQ(a.ldk, k)
		a.g.ADDQ(a.ldd, dk)
		a.g.ADDQ(operand.Imm(4), x)
	})
	store(dq, emit.At(a.from("dq"), 0))
	store(dw, emit.At(a.from("dw"), 0))
}
