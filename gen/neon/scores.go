package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/neon/emit"
	"github.com/attn-go/attn/gen/spec"
)

// The kernels that change scores and need nothing but the scores and numbers per lane.

// Softcap computes limit·tanh(s·inv), see loop.Scores. Two vectors are computed at once:
// the constants take 15 registers, each vector 7 more.
func (g *neon) Softcap() {
	g.Kernel(spec.Softcap)
	values := g.tanhRegs()
	s, ld, max, limit, inv := g.Slice("s"), g.Stride("ld"), g.Slice("max"), g.BroadcastParam("limit"), g.BroadcastParam("inv")
	loop.Scores(g, []int{2, 1}, g.LoadParam(g.Len("max")), s, []a64.GP{max}, func(name string, perLane [][]a64.Vec) {
		xs, p, rows := g.Vecs(len(perLane[0])), g.GP(), g.Num("n")
		g.scoreRows(name, s, p, rows, ld, func() {
			for v, x := range xs {
				g.LoadVec(p, v, x)
				g.FMUL(x, x, inv)
			}
			g.tanh(values, xs)
			g.Scope(func() {
				scratch := g.Vec()
				for v, x := range xs {
					g.FMUL(x, x, limit)
					g.storeScores(x, p, v, perLane[0][v], scratch)
				}
			})
		})
	})
}

// ALiBi subtracts slope·|pos-j|, see loop.Scores.
func (g *neon) ALiBi() {
	g.Kernel(spec.ALiBi)
	s, ld := g.Slice("s"), g.Stride("ld")
	perLane := []a64.GP{g.Slice("slopes"), g.Slice("pos"), g.Slice("max")}
	one := g.Broadcast(1)
	loop.Scores(g, chunkWidths, g.LoadParam(g.Len("max")), s, perLane, func(name string, perLane [][]a64.Vec) {
		slope, pos, max := perLane[0], perLane[1], perLane[2]
		j, p, rows := g.Vec(), g.Num("j0"), g.Num("n")
		g.Op("VDUP", p, j.S4())
		d, x := g.Vecs(len(max)), g.Vecs(len(max))
		g.scoreRows(name, s, p, rows, ld, func() {
			for v := range max {
				g.Op("VSUB", j.S4(), pos[v].S4(), d[v].S4())
				g.ABS(d[v], d[v])
				g.SCVTF(d[v], d[v])
				g.LoadVec(p, v, x[v])
				g.Op("VFMLS", d[v].S4(), slope[v].S4(), x[v].S4())
				g.storeScores(x[v], p, v, max[v], d[v])
			}
			g.Op("VADD", one.S4(), j.S4(), j.S4())
		})
	})
}

// chunkWidths are the widths of chunks in vectors. Three vectors hide each other's latency
// well enough beside the rows that follow.
var chunkWidths = []int{3, 2, 1}

// scoreRows emits the loop of a chunk over the rows at s. row changes the row at p.
func (g *neon) scoreRows(name string, s, p, rows, ld a64.GP, row func()) {
	g.Op("MOVD", s, p)
	loop.AnyTimes(g, rows, name+"row", name+"done", true, func() {
		row()
		g.Op("ADD", ld, p, p)
	})
}

// storeScores stores vector v of a row at p, and raises its maxima.
func (g *neon) storeScores(x a64.Vec, p a64.GP, v int, max, scratch a64.Vec) {
	g.StoreVec(x, p, v)
	g.Raise(max, x, scratch)
}

// MaskSpan hides scores by select, one vector of lanes at a time, as for amd64.
func (g *neon) MaskSpan() {
	g.Kernel(spec.MaskSpan)
	s, ld, max, left := g.Slice("s"), g.Stride("ld"), g.Slice("max"), g.LoadParam(g.Len("max"))
	lo, hi, rows, p := g.Slice("lo"), g.Slice("hi"), g.GP(), g.GP()
	one, inf := g.Broadcast(1), g.Broadcast(spec.MinusInf)
	g.JumpIfZero(left, "done")
	g.Commentf("One vector of lanes: spans, maxima and the row's number in registers.")
	g.Label("columns")
	l, h, m, j := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.LoadVec(lo, 0, l)
	g.LoadVec(hi, 0, h)
	g.LoadVec(max, 0, m)
	g.Load(g.Param("j0"), p)
	g.Op("VDUP", p, j.S4())
	g.Op("MOVD", s, p)
	g.Load(g.Param("n"), rows)
	loop.AnyTimes(g, rows, "row", "next", false, func() {
		g.Commentf("Keep the scores with lo ≤ j < hi.")
		x, after, inside := g.Vec(), g.Vec(), g.Vec()
		g.LoadVec(p, 0, x)
		g.CMGE(after, j, l)
		g.CMGT(inside, h, j)
		g.Op("VAND", after.B16(), inside.B16(), inside.B16())
		g.Op("VBIF", inside.B16(), inf.B16(), x.B16())
		g.storeScores(x, p, 0, m, after)
		g.Op("VADD", one.S4(), j.S4(), j.S4())
		g.Op("ADD", ld, p, p)
	})
	g.StoreVec(m, max, 0)
	g.Advance(emit.VecBytes, s, lo, hi, max)
	g.CountDown(left, emit.VecLanes, "columns")
	g.Label("done")
	g.Return()
}
