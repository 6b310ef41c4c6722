package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// The scores of quantized calls on CPUs with a unit for tiles. Rounded queries are integers of up
// to 12 bits times a power of two, of which bfloat16 holds 8: each is the sum of two such numbers,
// its first bits and the others. Integers of 8 bits are bfloat16 as well. So a sum over the 64
// columns of a segment, first with the one halves and then with the other ones, is exact in every
// step, and has the bits of the other kernels:
//
//	|half| + |other half| = |q| ≤ 2^11,   64 columns · 2^11 · 2^7 = 2^24
//
// The largest number of a query is contract.LeastRounded at least, 2^-100, or all count as 0. The
// unit of a query is 2^contract.QueryBits times smaller, 2^-110 at least, so that no product is
// subnormal.
//
// The values take the kernels for integers. Their segments are half as long, and each has weights
// of its own: with a call of GemmTiles for each half of the weights of 32 keys, most of the time
// would go into tiles that are loaded and stored.

// hasWholeHalves tells whether the groups of columns of the keys are whole segments of the unit,
// and at most one of the contract's, unless there is a single group.
func (j *Job) hasWholeHalves() bool {
	group := j.Call.K.Group()
	return group == j.d() || group <= ukernel.ColumnSegment && kvrows.Depth(group) == group
}

// minusOne is the factor of a half that is subtracted.
var minusOne = [1]float32{-1}

// packHalves packs rounded queries: all first halves, then all others.
func packHalves(t *tile) {
	packRounded(t)
	d, w := t.job.d(), t.Lanes
	t.pairRows(t.words, t.q, 0, d)
	for at, n := 0, 0; at < d; at += n {
		n = min(BlockKeys, d-at)
		q, half := t.q[at*w:], t.scratch.rounded
		t.job.tier.Convert().WidenPairs(half, half[w:], 2*w, t.words[at/2*w:], w, ints.CeilDiv(n, 2), w)
		t.kern.ScaleRows(q, w, half, w, n, minusOne[:], 0, true, t.ignored())
	}
	t.pairRows(t.words[kvrows.Depth(d)/2*w:], t.q, 0, d)
}

// unitIntegersScores computes the products of a segment of columns at a time. They begin in the
// scores, or wait in the memory of rounded weights to be added.
func unitIntegersScores(t *tile, part mask.Span, top []float32) {
	w, d, rest, group := t.Lanes, t.job.d(), t.scratch.rounded, t.job.Call.K.Group()
	depth, segment, whole := kvrows.Depth(d), min(group, ukernel.ColumnSegment), group == d
	top = t.orIgnored(top)
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		s, lo := t.scoresFrom(part), t.Key(part.Lo)
		n = t.keys().Run(t.Head, lo, ukernel.RowsPerCall(part.Len(), w*d))
		k := t.keys().Rounded(t.Head, lo, n)
		scales, lsc := t.keys().Scales(t.Head, lo, n)
		for at := 0; at < d; at += segment {
			a, by, stride, raised := s, ones[:1], 0, t.ignored()
			if at > 0 {
				a = rest
			}
			steps := kvrows.Depth(min(segment, d-at))
			for half := range 2 {
				t.job.tier.Unit().GemmTiles(a, w, k[at:], depth, t.words[(half*depth+at)/2*w:][:steps/2*w], w, n, steps, half == 1)
			}
			if !whole {
				by, stride = scales[at/group:], lsc
				if at+segment == d {
					raised = top
				}
			}
			if at > 0 || !whole {
				t.kern.ScaleRows(s, w, a, w, n, by, stride, at > 0, raised)
			}
		}
		if whole {
			t.kern.ScaleRows(s, w, s, w, n, scales, lsc, false, top)
		}
	}
}
