package neon

import (
	"fmt"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// Hadamard goes over x once for the stages of up to 16 neighbouring vectors, and then once
// for every stage of larger distances, see amd64/hadamard.go.
func (g *neon) Hadamard() {
	g.Kernel(spec.Hadamard)
	h := &hadamard{neon: g, x: g.Slice("x"), left: g.LoadParam(g.Len("x")), n: g.Num("n"), scale: g.BroadcastParam("scale"), nan: g.Broadcast(spec.NaN)}
	h.t = g.Vecs(2)
	g.JumpIfZero(h.left, "end")
	const most, least = 16, 16 / emit.VecLanes // vectors
	for v := most; v > least; v /= 2 {
		g.Op("CMP", v*emit.VecLanes, h.n)
		g.Jump("BGE", fmt.Sprint("near", v))
	}
	for v := least; v <= most; v *= 2 {
		if v > least {
			g.Label(fmt.Sprint("near", v))
		}
		g.Scope(func() { h.near(v) })
		if v < most {
			g.Ret()
		}
	}
	g.Scope(func() { h.far(most) })
	g.Label("end")
	g.Ret()
}

type hadamard struct {
	*neon
	x, left, n a64.GP
	scale, nan a64.Vec
	t          []a64.Vec
}

// near emits the loop over groups of so many vectors: the scale, and the stages within a group.
func (h *hadamard) near(vectors int) {
	name, p, left, x := fmt.Sprint("near", vectors), h.GP(), h.GP(), h.Vecs(vectors)
	h.Op("MOVD", h.x, p)
	h.Op("MOVD", h.left, left)
	h.AlignLoop()
	h.Label(name + "group")
	for v, y := range x {
		h.LoadVec(p, v, y)
		h.FMUL(y, y, h.scale)
	}
	for _, lanes := range []func(a64.Vec) a64.Arr{a64.Vec.S4, a64.Vec.D2} {
		for v := 0; v < vectors; v += 2 {
			h.butterfly(lanes, x[v], x[v+1])
		}
	}
	for s := 1; s < vectors; s *= 2 {
		for v := range x {
			if v&s == 0 {
				h.pair(x[v], x[v+s])
			}
		}
	}
	for v, y := range x {
		h.replaceNaN(y, h.nan, h.t[0])
		h.StoreVec(y, p, v)
	}
	h.Advance(vectors*emit.VecBytes, p)
	h.CountDown(left, vectors*emit.VecLanes, name+"group")
}

// butterfly replaces neighbouring lanes of x, and of y, by their sum and their difference: it
// gathers the first lanes of both, and the second lanes, and puts the results back.
func (h *hadamard) butterfly(lanes func(a64.Vec) a64.Arr, x, y a64.Vec) {
	first, second := h.t[0], h.t[1]
	h.Op("VTRN1", lanes(y), lanes(x), lanes(first))
	h.Op("VTRN2", lanes(y), lanes(x), lanes(second))
	h.FADD(x, first, second)
	h.FSUB(second, first, second)
	h.Op("VTRN2", lanes(second), lanes(x), lanes(y))
	h.Op("VTRN1", lanes(second), lanes(x), lanes(x))
}

// pair replaces a and b by a + b and a - b.
func (h *hadamard) pair(a, b a64.Vec) {
	h.FSUB(h.t[0], a, b)
	h.FADD(a, a, b)
	h.Op("VORR", h.t[0].B16(), h.t[0].B16(), b.B16())
}

// far emits the stages whose distances are so many vectors and more, one after the other
// over all of x.
func (h *hadamard) far(vectors int) {
	const unroll = 4 // pairs of vectors
	distance, a, b, left, pairs := h.GP(), h.GP(), h.GP(), h.GP(), h.GP()
	x, y := h.Vecs(unroll), h.Vecs(unroll)
	h.Op("MOVD", vectors*emit.VecBytes, distance)
	h.Op("LSL", 2, h.n, h.n) // in bytes, as distance
	h.Label("stage")
	h.Op("CMP", h.n, distance)
	h.Jump("BGE", "end")
	h.Op("MOVD", h.x, a)
	h.Op("LSL", 2, h.left, left)
	h.Label("block")
	h.Op("MOVD", distance, pairs)
	h.Op("ADD", distance, a, b)
	h.AlignLoop()
	h.Label("pairs")
	for v := range unroll {
		h.LoadVec(a, v, x[v])
		h.LoadVec(b, v, y[v])
		h.FADD(h.t[0], x[v], y[v])
		h.FSUB(y[v], x[v], y[v])
		h.replaceNaN(h.t[0], h.nan, h.t[1])
		h.replaceNaN(y[v], h.nan, h.t[1])
		h.StoreVec(h.t[0], a, v)
		h.StoreVec(y[v], b, v)
	}
	h.Advance(unroll*emit.VecBytes, a, b)
	h.CountDown(pairs, unroll*emit.VecBytes, "pairs")
	h.Op("MOVD", b, a)
	h.Op("SUB", distance.Shl(1), left, left)
	h.Jump("CBNZ", "block", left)
	h.Op("LSL", 1, distance, distance)
	h.Goto("stage")
}
