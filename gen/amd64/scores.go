package amd64

import (
	"github.com/attn-go/attn/gen/amd64/emit"
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
	g.Kernel(spec.Softcap)
	s, ld, n, max := g.Slice("s"), g.Stride("ld"), g.Num("n"), g.Slice("max")
	limit, inv := g.Vec(), g.Vec()
	left := g.SliceLen("max")
	g.VBROADCASTSS(g.Argument("limit"), limit)
	g.VBROADCASTSS(g.Argument("inv"), inv)
	values := g.tanhOperands()
	loop.Scores(g, g.chunkWidths(), left, s, []reg.GPVirtual{max}, func(name string, perLane [][]reg.VecVirtual) {
		g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
			for v, m := range perLane[0] {
				x := g.Vec()
				g.VMULPS(emit.At(p, v*g.VecBytes()), inv, x)
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
	g.Kernel(spec.ALiBi)
	s, ld, n := g.Slice("s"), g.Stride("ld"), g.Num("n")
	perLane := []reg.GPVirtual{g.Slice("slopes"), g.Slice("pos"), g.Slice("max")}
	one, left := g.Vec(), g.SliceLen("max")
	g.VMOVUPS(g.Constant(1), one)
	loop.Scores(g, g.chunkWidths(), left, s, perLane, func(name string, perLane [][]reg.VecVirtual) {
		slope, pos, max := perLane[0], perLane[1], perLane[2]
		j := g.Vec()
		g.VPBROADCASTD(g.Argument("j0"), j)
		g.scoreRows(name, s, n, ld, func(p reg.GPVirtual) {
			for v := range max {
				d, x := g.Vec(), g.Vec()
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
	if g.EVEX() {
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
	g.Kernel(spec.MaskSpan)
	s, ld := g.Slice("s"), g.Stride("ld")
	lo, hi, max, left := g.Slice("lo"), g.Slice("hi"), g.Slice("max"), g.SliceLen("max")
	one, inf := g.Vec(), g.Vec()
	g.VMOVUPS(g.Constant(1), one)
	g.VMOVUPS(g.Constant(spec.MinusInf), inf)

	g.Comment("One vector of lanes: spans, maxima and the row's number in registers.")
	g.Label("columns")
	g.JumpIfZero(left, "done")
	l, h, m, j := g.Vec(), g.Vec(), g.Vec(), g.Vec()
	g.LoadVec(lo, 0, l)
	g.LoadVec(hi, 0, h)
	g.LoadVec(max, 0, m)
	g.VPBROADCASTD(g.Argument("j0"), j)
	p, rows := g.GP64(), g.Num("n")
	g.MOVQ(s, p)
	loop.AnyTimes(g, rows, "row", "next", false, func() {
		g.Comment("Keep the scores with lo ≤ j < hi.")
		x := g.Vec()
		g.LoadVec(p, 0, x)
		g.ReplaceOutside(g.Context, x, j, l, h, inf)
		g.storeScores(x, p, 0, m)
		g.VPADDD(one, j, j)
		g.ADDQ(ld, p)
	})
	g.StoreVec(m, max, 0)
	g.Advance(g.VecBytes(), s, lo, hi, max)
	g.SUBQ(operand.U32(g.Lanes()), left)
	g.Goto("columns")
	g.Label("done")
	g.Return()
}
