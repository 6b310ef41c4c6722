package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// MaskBool hides scores by select, 16 keys per iteration, see amd64/maskbool.go. A select
// needs whole lanes here. So bytes become 0 or 0xff and are spread to the whole lane.
func (g *neon) MaskBool() {
	g.Kernel(spec.MaskBool)
	h := boolMasker{transposer: transposer{neon: g, step: 16, base: g.Slice("keep"), off: g.Slice("off"), d: g.Num("n"), panel: g.Slice("s"), ld: g.Stride("ld"),
		rows: []a64.GP{g.GP(), g.GP(), g.GP(), g.GP()}, p: g.GP(), left: g.GP()}, spread: g.Vecs(4), top: g.Vec()}
	max, lanes := g.Slice("max"), g.LoadParam(g.Len("max"))
	g.JumpIfZero(h.d, "done")
	h.constants()
	loop.Lanes(g, lanes, "One vector of lanes, 16 keys per iteration, its maxima in a register.", []a64.GP{h.panel, max}, []a64.GP{h.off}, func() {
		g.LoadVec(max, 0, h.top)
		h.columns(h.sixteen, h.one)
		g.StoreVec(h.top, max, 0)
	})
	g.Label("done")
	g.Return()
}

type boolMasker struct {
	transposer
	hidden, inf, top a64.Vec
	spread           []a64.Vec
}

// constants sets up hidden, the byte that hides, and spread, the tables that spread the bytes of
// each of the four keys in a vector.
func (h *boolMasker) constants() {
	r := h.GP()
	h.Load(h.Param("hidden"), r)
	h.hidden, h.inf = h.Vec(), h.Broadcast(spec.MinusInf)
	h.Op("VDUP", r, h.hidden.B16())
	var words []uint32
	for i := range uint32(16) {
		words = append(words, i*0x01010101)
	}
	h.Op("MOVD", h.Data("spreadNEON", words...), r)
	for t, v := range h.spread {
		h.LoadFrom(a64.At(r, t*emit.VecBytes), v)
	}
	h.Free(r)
}

// sixteen masks 16 rows.
func (h *boolMasker) sixteen() {
	h.Scope(func() {
		v, t := h.Vecs(4), h.Vecs(4)
		for i, r := range h.rows {
			h.Op("FMOVQ.P", a64.At(r, 16), v[i])
			h.Op("VCMEQ", h.hidden.B16(), v[i].B16(), v[i].B16())
		}
		h.transposeBytes(v, t)
		m := h.Vec()
		for _, keys := range v {
			for _, spread := range h.spread {
				h.Op("VTBL", spread.B16(), []a64.Arr{keys.B16()}, m.B16())
				h.maskRow(m)
			}
		}
	})
}

// transposeBytes transposes a 4×16 matrix of bytes: lane t of v[k] gets column 4·k+t. t
// is scratch.
func (h *boolMasker) transposeBytes(v, t []a64.Vec) {
	zip := func(x, y, low, high a64.Vec) {
		h.Op("VZIP1", y.B16(), x.B16(), low.B16())
		h.Op("VZIP2", y.B16(), x.B16(), high.B16())
	}
	zip(v[0], v[2], t[0], t[1])
	zip(v[1], v[3], t[2], t[3])
	zip(t[0], t[2], v[0], v[1])
	zip(t[1], t[3], v[2], v[3])
}

// one masks a single row.
func (h *boolMasker) one() {
	h.Scope(func() {
		keys, key, m := h.GP(), h.GP(), h.Vec()
		h.Op("MOVD", 0, keys)
		for lane, r := range h.rows {
			h.Op("MOVBU.P", a64.At(r, 1), key)
			h.Op("ADD", key.Shl(8*lane), keys, keys)
		}
		h.Op("VMOV", keys, m.S(0))
		h.Op("VTBL", h.spread[0].B16(), []a64.Arr{m.B16()}, m.B16())
		h.Op("VCMEQ", h.hidden.B16(), m.B16(), m.B16())
		h.maskRow(m)
	})
}

// maskRow hides the scores of a row in the lanes of m.
func (h *boolMasker) maskRow(m a64.Vec) {
	h.Scope(func() {
		x := h.Vec()
		h.LoadVec(h.p, 0, x)
		h.Op("VBIT", m.B16(), h.inf.B16(), x.B16())
		h.storeScores(x, h.p, 0, h.top, m)
		h.Op("ADD", h.ld, h.p, h.p)
	})
}
