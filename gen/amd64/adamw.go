package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/reg"
)

// AdamW takes two vectors at a time, as a root and two divisions follow each other for each, then one,
// and then less than one under a mask.
//
// Vector registers: the seven factors, two for each vector, and one or two more.
func (g *gen) AdamW() {
	g.Kernel(spec.AdamW)
	a := &adam{gen: g, w: g.Slice("w"), g: g.Slice("g"), m: g.Slice("m"), v: g.Slice("v")}
	left := g.SliceLen("w")
	for _, f := range []struct {
		name string
		v    *reg.VecVirtual
	}{
		{"keep", &a.keep}, {"gain1", &a.gain1}, {"beta2", &a.beta2}, {"gain2", &a.gain2},
		{"root", &a.root}, {"epsilon", &a.epsilon}, {"rate", &a.rate},
	} {
		*f.v = g.Vec()
		g.VBROADCASTSS(g.Argument(f.name), *f.v)
	}
	g.columns(2, left, []reg.GPVirtual{a.w, a.g, a.m, a.v}, a.step)
	g.Return()
}

// An adam emits AdamW.
type adam struct {
	*gen
	w, g, m, v                                     reg.GPVirtual
	keep, gain1, beta2, gain2, root, epsilon, rate reg.VecVirtual
}

// step emits some vectors of weights.
func (a *adam) step(_ string, vectors int, move mover) {
	means, squares := a.Vecs(vectors), a.Vecs(vectors)
	for i, v := range squares {
		at, m, x := i*a.VecBytes(), means[i], a.Vec()
		move.load(emit.At(a.v, at), v)
		a.VMULPS(a.beta2, v, v)
		move.load(emit.At(a.g, at), m)
		a.VMULPS(a.gain2, m, x)
		a.VMULPS(m, x, x)
		a.VADDPS(x, v, v)
		a.ZeroWithout(a.Context, v, a.Constant(spec.Exponent&^spec.SignBit)) // subnormal
		move.store(v, emit.At(a.v, at))
		a.VSQRTPS(v, v)
		move.load(emit.At(a.m, at), x)
		a.VSUBPS(x, m, m)
		a.VMULPS(a.gain1, m, m)
		a.VADDPS(x, m, m)
		a.ZeroWithout(a.Context, m, a.Constant(spec.Exponent&^spec.SignBit)) // subnormal
		move.store(m, emit.At(a.m, at))
	}
	for i, d := range squares {
		at, m, w := i*a.VecBytes(), means[i], a.Vec()
		a.VDIVPS(a.root, d, d)
		a.VADDPS(a.epsilon, d, d)
		a.VDIVPS(d, m, m)
		a.VMULPS(a.rate, m, m)
		move.load(emit.At(a.w, at), w)
		a.VMULPS(a.keep, w, w)
		a.VSUBPS(m, w, w)
		a.ZeroWithout(a.Context, w, a.Constant(spec.Exponent&^spec.SignBit)) // subnormal
		move.store(w, emit.At(a.w, at))
	}
}
