package amd64

import (
	"fmt"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Hadamard goes over x once for the stages of up to 8 neighbouring vectors, which stay in
// registers, and then once for every stage of larger distances.
func (g *gen) Hadamard() {
	g.Kernel(spec.Hadamard)
	h := &hadamard{g: g, x: g.Slice("x"), left: g.SliceLen("x"), n: g.Num("n"), scale: g.Vec(), nan: g.Vec()}
	g.VBROADCASTSS(g.Argument("scale"), h.scale)
	g.VMOVUPS(g.Constant(spec.NaN), h.nan)
	h.butterfly = g.Butterfly(g.Context)
	g.JumpIfZero(h.left, "end")
	const most = 8
	least := max(1, 16/g.Lanes()) // n is 16 or more
	for v := most; v > least; v /= 2 {
		g.CMPQ(h.n, operand.U32(v*g.Lanes()))
		g.JGE(operand.LabelRef(fmt.Sprint("near", v)))
	}
	for v := least; v <= most; v *= 2 {
		if v > least {
			g.Label(fmt.Sprint("near", v))
		}
		h.near(v)
		if v < most {
			g.Return()
		}
	}
	h.far(most)
	g.Label("end")
	g.Return()
}

type hadamard struct {
	g          *gen
	x, left, n reg.GPVirtual
	scale, nan reg.VecVirtual
	butterfly  func(x reg.VecVirtual, distance int)
}

// near emits the loop over groups of so many vectors: the scale, and the stages within a group.
func (h *hadamard) near(vectors int) {
	g, name := h.g, fmt.Sprint("near", vectors)
	p, left := g.GP64(), g.GP64()
	g.MOVQ(h.x, p)
	g.MOVQ(h.left, left)
	g.AlignLoop()
	g.Label(name + "group")
	x := g.Vecs(vectors)
	for v := range x {
		g.VMULPS(emit.At(p, v*g.VecBytes()), h.scale, x[v])
	}
	for distance := 1; distance < g.Lanes(); distance *= 2 {
		for _, y := range x {
			h.butterfly(y, distance)
		}
	}
	for s := 1; s < vectors; s *= 2 {
		for v := range x {
			if v&s == 0 {
				x[v], x[v+s] = h.pair(x[v], x[v+s])
			}
		}
	}
	for v, y := range x {
		h.store(y, emit.At(p, v*g.VecBytes()))
	}
	g.Advance(vectors*g.VecBytes(), p)
	g.CountDown(left, vectors*g.Lanes(), name+"group")
}

// pair returns a + b and a - b, the first in the register of a.
func (h *hadamard) pair(a, b reg.VecVirtual) (sum, difference reg.VecVirtual) {
	difference = h.g.Vec()
	h.g.VSUBPS(b, a, difference)
	h.g.VADDPS(b, a, a)
	return a, difference
}

func (h *hadamard) store(y reg.VecVirtual, m operand.Mem) {
	h.g.ReplaceNaN(h.g.Context, y, h.nan)
	h.g.VMOVUPS(y, m)
}

// far emits the stages whose distances are so many vectors and more, one after the other
// over all of x.
func (h *hadamard) far(vectors int) {
	g := h.g
	const unroll = 4 // pairs of vectors
	distance, a, b, left, pairs := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(operand.U32(vectors*g.VecBytes()), distance)
	g.SHLQ(operand.U8(2), h.n) // in bytes, as distance
	g.Label("stage")
	g.CMPQ(distance, h.n)
	g.JGE(operand.LabelRef("end"))
	g.MOVQ(h.x, a)
	g.MOVQ(h.left, left)
	g.SHLQ(operand.U8(2), left)
	g.Label("block")
	g.MOVQ(distance, pairs)
	g.LEAQ(operand.Mem{Base: a, Index: distance, Scale: 1}, b)
	g.AlignLoop()
	g.Label("pairs")
	for v := range unroll {
		x, y := g.Vec(), g.Vec()
		g.VMOVUPS(emit.At(a, v*g.VecBytes()), x)
		g.VMOVUPS(emit.At(b, v*g.VecBytes()), y)
		sum, difference := h.pair(x, y)
		h.store(sum, emit.At(a, v*g.VecBytes()))
		h.store(difference, emit.At(b, v*g.VecBytes()))
	}
	g.Advance(unroll*g.VecBytes(), a, b)
	g.CountDown(pairs, unroll*g.VecBytes(), "pairs")
	g.MOVQ(b, a)
	g.SUBQ(distance, left)
	g.SUBQ(distance, left)
	g.JNZ(operand.LabelRef("block"))
	g.ADDQ(distance, distance)
	g.JMP(operand.LabelRef("stage"))
}
