package amd64

import (
	"github.com/attn-go/attn/gen/loop"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels that change scores and need nothing but the scores and numbers per lane.

// Softcap computes limit·tanh(s·inv), see loop.Scores. The vectors of a row are computed
// one after the other. They do not depend on each other, so the CPU overlaps them.
//
// Vector registers: limit, inv, the maxima, and those of tanh.
func (g *gen) Softcap() {
	g.function(spec.Softcap)
	s, ld, n, max := g.slice("s"), g.stride("ld"), g.num("n"), g.slice("max")
	limit, inv := g.vec(), g.vec()
	left := g.sliceLen("max")
	g.VBROADCASTSS(g.argument("limit"), limit)
	g.VBROADCASTSS(g.argument("inv"), inv)
	values := g.tanhOperands()
	loop.Scores(g, g.chunkWidths(), left, s, []reg.GPVirtual{max}, func(name string, perLane [][]reg.VecVirtual) {
		g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
			for v, m := range perLane[0] {
				x := g.vec()
				g.VMULPS(at(p, v*g.bytes()), inv, x)
				y := g.tanh(values, x)
				g.VMULPS(limit, y, y)
				g.storeScores(y, p, v, m)
			}
		})
	})
}

// ALiBi subtracts slope·|pos-j|, see loop.Scores. The vectors of a row share the number
// of its key. A distance fits into an int32. The fma negates it.
//
// Vector registers: slope, position, maximum and 2 more per vector, key, 1.
func (g *gen) ALiBi() {
	g.function(spec.ALiBi)
	s, ld, n := g.slice("s"), g.stride("ld"), g.num("n")
	perLane := []reg.GPVirtual{g.slice("slopes"), g.slice("pos"), g.slice("max")}
	one, left := g.vec(), g.sliceLen("max")
	g.VMOVUPS(g.constant(1), one)
	loop.Scores(g, g.chunkWidths(), left, s, perLane, func(name string, perLane [][]reg.VecVirtual) {
		slope, pos, max := perLane[0], perLane[1], perLane[2]
		j := g.vec()
		g.VPBROADCASTD(g.argument("j0"), j)
		g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
			for v := range max {
				d, x := g.vec(), g.vec()
				g.VPSUBD(j, pos[v], d)
				g.VPABSD(d, d)
				g.VCVTDQ2PS(d, d)
				g.LoadVec(p, v, x)
				g.VFNMADD231PS(d, slope[v], x)
				g.storeScores(x, p, v, max[v])
			}
			g.VPADDD(one, j, j)
		})
	})
}

// chunkWidths are the widths of chunks in vectors: as wide as registers allow.
func (g *gen) chunkWidths() []int {
	if g.evex() {
		return []int{4, 2, 1}
	}
	return []int{2, 1}
}

// scoreRows emits the loop of a chunk over n rows at s. row changes the row at p.
func (g *gen) scoreRows(name string, s, n, ld reg.GPVirtual, row func(p reg.GPVirtual)) {
	p, rows := g.GP64(), g.GP64()
	g.MOVQ(s, p)
	g.MOVQ(n, rows)
	loop.AnyTimes(g, rows, name+"row", name+"done", true, func() {
		row(p)
		g.ADDQ(ld, p)
	})
}

// storeScores stores vector v of a row at p, and raises its maxima. VMAXPS returns its
// second source if one is NaN or both are zero, which here is the running maximum.
func (g *gen) storeScores(x reg.VecVirtual, p reg.GPVirtual, v int, max reg.VecVirtual) {
	g.StoreVec(x, p, v)
	g.VMAXPS(max, x, max)
}

// MaskSpan hides scores by select, one vector of lanes at a time from the first row to
// the last, with the lanes' spans and maxima in registers.
func (g *gen) MaskSpan() {
	g.function(spec.MaskSpan)
	s, ld := g.slice("s"), g.stride("ld")
	lo, hi, max, left := g.slice("lo"), g.slice("hi"), g.slice("max"), g.sliceLen("max")
	one, inf := g.vec(), g.vec()
	g.VMOVUPS(g.constant(1), one)
	g.VMOVUPS(g.constant(spec.MinusInf), inf)

	g.Comment("One vector of lanes: spans, maxima and the row's number in registers.")
	g.Label("columns")
	g.JumpIfZero(left, "done")
	l, h, m, j := g.vec(), g.vec(), g.vec(), g.vec()
	g.LoadVec(lo, 0, l)
	g.LoadVec(hi, 0, h)
	g.LoadVec(max, 0, m)
	g.VPBROADCASTD(g.argument("j0"), j)
	p, rows := g.GP64(), g.num("n")
	g.MOVQ(s, p)
	loop.AnyTimes(g, rows, "row", "next", false, func() {
		g.Comment("Keep the scores with lo ≤ j < hi.")
		x := g.vec()
		g.LoadVec(p, 0, x)
		g.maskSpan(g.Context, x, j, l, h, inf)
		g.storeScores(x, p, 0, m)
		g.VPADDD(one, j, j)
		g.ADDQ(ld, p)
	})
	g.StoreVec(m, max, 0)
	g.Advance(g.bytes(), s, lo, hi, max)
	g.SUBQ(operand.U32(g.lanes()), left)
	g.Goto("columns")
	g.Label("done")
	g.Return()
}
