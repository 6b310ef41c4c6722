package neon

import (
	"math"

	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// HeadScores follows amd64/headrows.go: 4 lanes and 4 columns of a key at a time.
func (g *neon) HeadScores() {
	g.Kernel(spec.HeadScores)
	s, k, off, ldk := g.Slice("s"), g.Slice("k"), g.Slice("off"), g.Stride("ldk")
	q, max, lanes := g.Slice("q"), g.Slice("max"), g.LoadParam(g.Len("max"))
	row, ps, pq, keys, left := g.GP(), g.GP(), g.GP(), g.GP(), g.GP()
	starts := []a64.GP{g.GP(), g.GP(), g.GP(), g.GP()} // of a key of each lane
	back := g.GP()
	g.Op("LSL", 2, lanes, row)
	inf := g.Broadcast(spec.MinusInf)
	top, acc, x, scratch := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	v, t := g.Vecs(4), g.Vecs(4)
	g.Commentf("The distance from the end of a key to the next one.")
	g.Load(g.Param("d"), back)
	g.Op("LSL", 2, back, back)
	g.Op("SUB", back, ldk, ldk)
	g.Label("lanes")
	for lane, r := range starts {
		g.Op("MOVD", a64.At(off, 8*lane), r)
		g.Op("ADD", r.Shl(2), k, r)
	}
	g.Op("MOVD", s, ps)
	g.Load(g.Param("m"), keys)
	g.Op("VORR", inf.B16(), inf.B16(), top.B16())
	g.Label("key")
	g.Op("MOVD", q, pq)
	g.Load(g.Param("d"), left)
	g.Zero(acc)
	g.AlignLoop()
	g.Label("columns")
	for i, r := range starts {
		g.Op("FMOVQ.P", a64.At(r, emit.VecBytes), v[i])
	}
	g.Transpose4(v, t)
	for _, column := range v {
		g.LoadFrom(a64.At(pq, 0), x)
		g.Op("ADD", row, pq, pq)
		g.Op("VFMLA", x.S4(), column.S4(), acc.S4())
	}
	g.Op("SUBS", emit.VecLanes, left, left)
	g.Jump("BNE", "columns")
	g.StoreTo(acc, a64.At(ps, 0))
	g.Op("ADD", row, ps, ps)
	g.Raise(top, acc, scratch)
	for _, r := range starts {
		g.Op("ADD", ldk, r, r)
	}
	g.CountDown(keys, 1, "key")
	g.StoreTo(top, a64.At(max, 0))
	g.Advance(emit.VecBytes, s, q, max)
	g.Advance(8*emit.VecLanes, off)
	g.CountDown(lanes, emit.VecLanes, "lanes")
	g.Ret()
}

// HeadValues follows amd64/headrows.go, but takes a lane at a time: 8 vectors of its columns, then
// one, then single columns. The processor works on the next ones while it waits for their chains.
func (g *neon) HeadValues() {
	g.Kernel(spec.HeadValues)
	h := &headValues{neon: g, dst: g.Slice("dst"), off: g.Slice("off"), v: g.Slice("v"), offV: g.Slice("offv"), ldv: g.Stride("ldv"),
		p: g.Slice("p"), ldp: g.Stride("ldp"), to: g.GP(), from: g.GP(), keys: g.GP(), pv: g.GP(), pp: g.GP(), s: g.GP()}
	sum, n, nans, bit, columns := g.Slice("sum"), g.Num("n"), g.GP(), g.GP(), g.GP()
	one := g.Broadcast(math.Float32bits(1))
	h.zero, h.inv, h.finite = g.Broadcast(0), g.Vec(), g.Vec()
	x := g.Vec()
	g.Op("MOVD", 0, nans)
	g.Op("MOVD", 1, bit)
	g.Label("lane")
	g.Commentf("1/sum, 0 for a sum of 0.")
	g.Op("MOVWU", a64.At(sum, 0), h.s)
	g.Op("VDUP", h.s, x.S4())
	g.FCMEQZero(h.finite, x)
	g.FDIV(h.inv, one, x)
	g.BIC(h.inv, h.inv, h.finite)
	g.FCMEQ(h.finite, h.zero, h.zero) // all lanes
	g.Op("MOVD", a64.At(h.off, 0), h.to)
	g.Op("ADD", h.to.Shl(2), h.dst, h.to)
	g.Op("MOVD", a64.At(h.offV, 0), h.from)
	g.Op("ADD", h.from.Shl(2), h.v, h.from)
	g.Load(g.Param("dv"), columns)
	h.columns("wide", "FMOVQ", 8, columns)
	h.columns("vector", "FMOVQ", 1, columns)
	h.columns("single", "FMOVS", 1, columns)
	g.BIC(x, one, h.finite)
	g.Op("VADDV", x.S4(), x.Whole()) // the sum of up to four times the same bits is not 0
	g.Op("VMOV", x.S(0), h.s)
	g.Jump("CBZ", "finite", h.s)
	g.Op("ORR", bit, nans, nans)
	g.Label("finite")
	g.Advance(4, h.p, sum)
	g.Advance(8, h.off, h.offV)
	g.Op("LSL", 1, bit, bit)
	g.CountDown(n, 1, "lane")
	g.Op("MOVD", nans, g.Result())
	g.Ret()
}

type headValues struct {
	*neon
	dst, off, v, offV, ldv, p, ldp a64.GP // of the lane
	to, from                       a64.GP // its row, and its values, from the current column on
	keys, pv, pp, s                a64.GP
	zero, inv, finite              a64.Vec
}

// columns emits a loop over vectors of columns of a lane, or over single ones, while there are
// enough left.
func (h *headValues) columns(name, move string, vectors int, left a64.GP) {
	count := vectors * emit.VecLanes
	if move == "FMOVS" {
		count = 1
	}
	size := 4 * count / vectors
	h.Op("SUBS", count, left, left)
	h.Jump("BLT", name+"end")
	h.Label(name)
	h.Scope(func() {
		acc, x, weight := h.Vecs(vectors), h.Vec(), h.Vec()
		for _, a := range acc {
			h.Zero(a)
		}
		h.Op("MOVD", h.from, h.pv)
		h.Op("MOVD", h.p, h.pp)
		h.Load(h.Param("m"), h.keys)
		h.AlignLoop()
		h.Label(name + "key")
		h.Op("FMOVS", a64.At(h.pp, 0), weight)
		for i, a := range acc {
			h.Op(move, a64.At(h.pv, i*size), x)
			h.FMLALane(a, x, weight.S(0))
		}
		h.Op("ADD", h.ldp, h.pp, h.pp)
		h.Op("ADD", h.ldv, h.pv, h.pv)
		h.CountDown(h.keys, 1, name+"key")
		for i, a := range acc {
			h.FMUL(a, a, h.inv)
			h.FADD(a, a, h.zero)
			h.Op(move, a, a64.At(h.to, i*size))
			if move == "FMOVS" {
				h.Op("VDUP", a.S(0), a.S4()) // 0·inv is NaN in the other lanes if inv is Inf
			}
			h.FCMEQ(x, a, a)
			h.Op("VAND", x.B16(), h.finite.B16(), h.finite.B16())
		}
	})
	h.Advance(4*count, h.from, h.to)
	h.Op("SUBS", count, left, left)
	h.Jump("BGE", name)
	h.Label(name + "end")
	h.Op("ADD", count, left, left)
}
