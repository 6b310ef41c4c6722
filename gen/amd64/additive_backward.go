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
	a.units("key", g.wholeVectors())
	g.ADDQ(operand.U32(g.VecBytes()), a.offset)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.JGE(operand.LabelRef("vector"))
	g.Comment("Less than a vector is left.")
	g.Label("last")
	g.ADDQ(operand.U32(g.Lanes()), left)
	g.JZ(operand.LabelRef("end"))
	a.units("lastkey", g.firstElements(left))
	g.Label("end")
	g.Return()
}

// A slopeAdder emits AdditiveBackward.
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
func (a *slopeAdder) units(name string, move mover) {
	q, dq, dw, one := a.g.Vec(), a.g.Vec(), a.g.Vec(), a.g.Vec()
	move.load(emit.At(a.from("q"), 0), q)
	move.load(emit.At(a.from("dq"), 0), dq)
	move.load(emit.At(a.from("dw"), 0), dw)
	a.g.VMOVUPS(a.g.Constant(spec.One), one)
	k, dk, x := a.from("k"), a.from("dk"), a.g.Slice("x")
	loop.AnyTimes(a.g, a.g.Num("n"), name, name+"s", true, func() {
		t, u, w := a.g.Vec(), a.g.Vec(), a.g.Vec()
		move.load(emit.At(k, 0), t)
		a.g.VADDPS(q, t, t)
		t = a.g.tanh(a.tanh, t)
		a.g.VBROADCASTSS(emit.At(x, 0), w)
		a.g.VFMADD231PS(t, w, dw)
		a.g.VSUBPS(t, one, u)
		a.g.VADDPS(t, one, t)
		a.g.VMULPS(t, u, u)
		a.g.VFMADD231PS(u, w, dq)
		a.g.VMULPS(u, w, w)
		move.load(emit.At(dk, 0), t)
		a.g.VADDPS(w, t, t)
		move.store(t, emit.At(dk, 0))
		a.g.ADDQ(a.ldk, k)
		a.g.ADDQ(a.ldd, dk)
		a.g.ADDQ(operand.Imm(4), x)
	})
	move.store(dq, emit.At(a.from("dq"), 0))
	move.store(dw, emit.At(a.from("dw"), 0))
}
