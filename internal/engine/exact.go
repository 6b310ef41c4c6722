package engine

import (
	"math/bits"

	"github.com/attn-go/attn/contract"
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

// finishNaNs finishes the rows of a set, which hold a NaN. Bits from n on mean nothing. If the sum
// of a row is NaN, a visible score was NaN or +Inf, as hidden scores are replaced before the
// softmax: the row is NaN. If all values are finite, hidden ones have added 0, and it is NaN too.
// Otherwise it is computed again.
func (t *tile) finishNaNs(nan uint64) {
	again := uint64(0)
	for nan &= 1<<t.N - 1; nan != 0; nan &= nan - 1 {
		if s := t.sum[bits.TrailingZeros64(nan)]; s == s {
			again |= nan & -nan
		} else {
			t.makeNaN(bits.TrailingZeros64(nan))
		}
	}
	isExact := again != 0 && t.areValuesFinite()
	for ; again != 0; again &= again - 1 {
		if lane := bits.TrailingZeros64(again); isExact {
			t.makeNaN(lane)
		} else {
			t.recompute(t.First + lane)
		}
	}
}

// areValuesFinite tells whether nothing is infinite or NaN that multiplies the weights of the tile.
// It is false for unitBFloat16: its segments also have values that only earlier tiles see, which
// weights of 0 multiply, and which are not looked at here.
func (t *tile) areValuesFinite() bool {
	if t.strategy == &unitBFloat16 {
		return false
	}
	j, from := t.job, t.values()
	t.sight.find(j, &t.Rows) // a plain tile has not
	for lo := blockStart(t.visible.Lo); lo < t.visible.Hi; lo = ints.AddSat(lo, BlockKeys) {
		for keys := t.VisibleOf(lo, BlockKeys); keys.Lo < keys.Hi; {
			var x []float32
			var stride, n, width int
			if key := t.Key(keys.Lo); j.Call.DynamicInt12 {
				n, width = from.Run(t.Head, key, keys.Len()), j.Call.V.Scales().Dim(3)
				x, stride = from.Scales(t.Head, key, n)
			} else { // rounded to bfloat16, if products are
				x, stride, n = from.Floats(t.Head, key, keys.Len())
				width = j.dv()
			}
			if !rows.AreFinite(j.tier, x, stride, n, width) {
				return false
			}
			keys.Lo += n
		}
	}
	return true
}

// makeNaN makes a row of Out, and its LSE, NaN.
func (t *tile) makeNaN(lane int) {
	out := &t.job.Call.Out
	fillNaN(t.job.tier, out, t.Index(out, lane))
	if t.job.Call.LSE.IsSet() {
		t.Row(&t.job.Call.LSE, lane)[0] = scalar.NaN
	}
}

// oneNaN is a row of one NaN. (The slice of a local array would escape through the kernel.)
var oneNaN = []float32{scalar.NaN}

// fillNaN makes the row of x that starts at at a row of NaN.
func fillNaN(t *tier.Tier, x *view.Tensor, at int) {
	for i := range x.Dim(3) {
		rows.Store(t, x, at+i, oneNaN)
	}
}

// recompute computes row r, counted from query 0 on, of the tile's KV head again, as the only row
// of an exact tile. The bits of a row do not depend on its tile, so nothing else changes.
func (t *tile) recompute(r int) {
	s, j := t.scratch, t.job
	x := &s.exact
	x.fit(j, &s.memory, j.tier.Tile(1).Lanes)
	x.begin(s, t.Head, r-j.firstRow(t.Head), 1, j.plan.how.exact)
	for lo := blockStart(x.visible.Lo); lo < x.visible.Hi && !x.isNaNForGood(); lo = ints.AddSat(lo, BlockKeys) {
		if x.scoreAgain(lo) {
			x.softmax()
			x.addValues()
		}
	}
	x.finishAgain()
}

// isNaNForGood tells whether the row of an exact tile holds a NaN. It stays NaN whatever follows,
// so the blocks after it are skipped; but not the blocks of a partial result, of which every
// element counts.
func (t *tile) isNaNForGood() bool {
	return t.started && !t.job.Call.Partial.isSet() && t.hasNaN()
}

// hasNaN tells whether the row of an exact tile holds a NaN.
func (t *tile) hasNaN() bool {
	for e := range t.job.dv() {
		if x := t.o[e*t.Lanes]; x != x {
			return true
		}
	}
	return false
}

// finishAgain is finish for an exact tile: what is wanted beside Out has been written,
// and a row that holds a NaN again is one.
func (t *tile) finishAgain() {
	t.end()
	if t.job.Call.Partial.isSet() {
		t.unpackPartial()
		t.storePartial(0)
	} else if t.unpackRows()&1 != 0 {
		t.makeNaN(0)
	}
}

func exactSoftmax(t *tile, n int, max, sum []float32) {
	t.findRuns()
	panelSoftmax(t, n, max, sum)
}

// findRuns sets the scratch's runs to the keys of the current block that the row of an
// exact tile sees, counted from the first: those with a score above -Inf or NaN.
func (t *tile) findRuns() {
	runs := t.scratch.runs[:0]
	hidden := true
	for i := range t.block.keys.Len() {
		if was := hidden; t.block.scores[i*t.Lanes] == scalar.NegInf {
			hidden = true
		} else if hidden = false; was {
			runs = append(runs, mask.Span{Lo: i, Hi: i + 1})
		} else {
			runs[len(runs)-1].Hi = i + 1
		}
	}
	t.scratch.runs = runs // its memory is recycled
}

// exactValues takes the values of visible keys alone: the skinny kernel continues a chain
// from one run of them to the next.
func exactValues(t *tile) {
	o, first := t.scratch.partial[:t.job.dv()], t.block.keys.Lo
	clear(o)
	for _, r := range t.scratch.runs {
		for r.Lo < r.Hi {
			v, stride, n := t.values().Floats(t.Head, t.Key(first+r.Lo), ukernel.RowsPerCall(r.Len(), len(o)))
			t.job.tier.Skinny().PV(o, len(o), v, stride, t.block.scores[r.Lo*t.Lanes:], t.Lanes, 1, n, len(o), true, v, 0)
			r.Lo += n
		}
	}
	for e, x := range o {
		to := &t.o[e*t.Lanes]
		if t.started {
			x = scalar.FMA(x, t.block.beta[0], float32(*to*t.block.alpha[0]))
		}
		*to = x
	}
}

// exactIntegersValues is exactValues for quantized calls: hidden keys do not count,
// whatever their scales.
func exactIntegersValues(t *tile) { roundedValues(t, (*tile).visibleScales) }

// visibleScales is valueScales with 0 in place of the scales of keys that are in none of
// the runs.
func (t *tile) visibleScales(keys mask.Span, group int) ([]float32, int) {
	scales, stride := t.valueScales(keys, group)
	var of [contract.ValueSegment]float32
	for _, r := range t.scratch.runs {
		seen := mask.Span{Lo: r.Lo + t.block.keys.Lo, Hi: r.Hi + t.block.keys.Lo}.And(keys)
		for i := seen.Lo; i < seen.Hi; i++ {
			of[i-keys.Lo] = scales[(i-keys.Lo)*stride]
		}
	}
	return t.scratch.valueScales[:copy(t.scratch.valueScales[:], of[:keys.Len()])], 1
}
