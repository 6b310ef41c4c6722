package engine

import (
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// The NaN slow path. A hidden key has weight 0, and 0 times a hidden value is 0
// unless that value is NaN or Inf. No product is guarded; instead, rows that end as
// NaN are computed again from their visible keys alone. That costs nothing while all
// values are finite.

// finishNaN finishes a row of Out that holds a NaN. If its sum is NaN, a visible score was
// NaN or +Inf, as hidden scores are replaced before the softmax: the row is NaN.
// Otherwise a value was NaN or Inf, possibly a hidden one: the row is computed again.
func (t *tile) finishNaN(lane int) {
	if s := t.sum[lane]; s == s && !t.exact {
		t.recompute(t.row + lane)
		return
	}
	out := &t.job.Call.Out
	fillNaN(t.job.tier, out, t.indexOf(out, lane))
	if t.job.Call.LSE.IsSet() {
		t.rowOf(&t.job.Call.LSE, lane)[0] = canonicalNaN
	}
}

// oneNaN is a row of one NaN. (The slice of a local array would escape through the kernel.)
var oneNaN = []float32{canonicalNaN}

// fillNaN makes the row of x that starts at at a row of NaN.
func fillNaN(t *tier.Tier, x *view.Tensor, at int) {
	for i := range x.Dim(3) {
		rows.Store(t, x, at+i, oneNaN)
	}
}

// recompute computes row r of the tile's KV head again, as the only row of an exact
// tile. The bits of a row do not depend on its tile, so nothing else changes.
func (t *tile) recompute(r int) {
	s, j := t.scratch, t.job
	x := &s.exact
	width := j.tier.Tile(1).Lanes
	x.fit(j, &s.memory, width)
	x.begin(s, t.head, r, 1, false)
	x.exact = true
	for lo := blockStart(x.visible.Lo); lo < x.visible.Hi && !x.isNaNForGood(); lo = ints.AddSat(lo, BlockKeys) {
		if x.scoreAgain(lo) {
			runs := x.visibleRuns() // before the softmax replaces the scores
			x.softmax()
			x.exactPV(runs)
		}
	}
	x.finish()
}

// isNaNForGood tells whether the row of an exact tile holds a NaN. It stays NaN whatever
// follows, so the blocks after it are skipped; but not those of a partial result, of which
// every element counts.
func (t *tile) isNaNForGood() bool {
	return t.started && !t.job.Call.Partial.isSet() && t.hasNaN()
}

// hasNaN tells whether the row of an exact tile holds a NaN.
func (t *tile) hasNaN() bool {
	for e := range t.job.dv() {
		if x := t.o[e*t.kern.Lanes]; x != x {
			return true
		}
	}
	return false
}

// visibleRuns returns the keys of the current block that the row of an exact tile
// sees, counted from the first: those with a score above -Inf or NaN.
func (t *tile) visibleRuns() []mask.Span {
	runs := t.scratch.runs[:0]
	hidden := true
	for i := range t.block.keys.Len() {
		if was := hidden; t.block.scores[i*t.kern.Lanes] == negInf {
			hidden = true
		} else if hidden = false; was {
			runs = append(runs, mask.Span{Lo: i, Hi: i + 1})
		} else {
			runs[len(runs)-1].Hi = i + 1
		}
	}
	t.scratch.runs = runs // its memory is recycled
	return runs
}

// exactPV is accumulatePV with runs of keys of the current block alone. The skinny kernel
// continues a chain from one run to the next.
func (t *tile) exactPV(runs []mask.Span) {
	if t.job.Call.Quantized {
		t.quantizedPV(runs)
		t.started = true
		return
	}
	lanes, o := t.kern.Lanes, t.scratch.partial[:t.job.dv()]
	clear(o)
	for _, r := range runs {
		for r.Lo < r.Hi {
			rows := ukernel.RowsPerCall(r.Len(), len(o))
			v, stride, n := t.scratch.values.get(t.job.tier, &t.job.Call.V, t.head, t.block.keys.Lo+r.Lo-t.phase, rows)
			t.job.tier.Skinny().PV(o, len(o), v, stride, t.block.scores[r.Lo*lanes:], lanes, 1, n, len(o), true, v, 0)
			r.Lo += n
		}
	}
	for e, x := range o {
		to := &t.o[e*lanes]
		if t.started {
			x = scalar.FMA(x, t.beta[0], float32(*to*t.alpha[0]))
		}
		*to = x
	}
	t.started = true
}
