package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
)

// The products of quantized calls on CPUs with a unit for tiles. Rounded queries and weights are
// integers of up to 12 bits times a power of two, of which bfloat16 holds 8: each is the sum of two
// such numbers, its first bits and the others. Integers of 8 bits are bfloat16 as well. So a sum
// over the 64 columns or the 32 keys of a segment, first with the one halves and then with the
// other ones, is exact in every step, and has the bits of the other kernels:
//
//	|half| + |other half| = |q| ≤ 2^11,   64 columns · 2^11 · 2^7 = 2^24
//	|first half| ≤ 2^12, |p| ≤ 2^12,      32 keys · 2^12 · 2^7 = 2^24
//
// The largest number of a query is contract.LeastRounded at least, 2^-100, or all count as 0. The
// unit of a query is 2^contract.QueryBits times smaller, 2^-110 at least, so that no product is
// subnormal.
//
// A call of GemmTiles for each half would spend most of its time in tiles that are loaded and
// stored. So scores have ScoreHalves, which scales them, too, and values have GemmHalves, which
// takes all segments of a block.

// groupsFillSegments tells whether each group of columns of the keys is whole segments of the unit,
// and no longer than a segment of the contract, unless there is a single group.
func (j *Job) groupsFillSegments() bool {
	group := j.Call.K.Group()
	return group == j.d() || group <= ukernel.ColumnSegment && kvrows.Depth(group) == group
}

// packHalves packs rounded queries: all first halves, then all others.
func packHalves(t *tile) {
	packPanel(t)
	d, w := t.job.d(), t.Lanes
	depth := kvrows.Depth(d)
	first, other := t.words[:depth/2*w], t.words[depth/2*w:depth*w]
	t.job.tier.Unit().RoundHalves(first, other, t.q, w, d, ones[:1], 0, contract.QueryBits, t.unit)
	clear(first[ints.CeilDiv(d, 2)*w:])
	clear(other[ints.CeilDiv(d, 2)*w:])
}

// unitIntegersScores computes the products of a segment of columns at a time.
func unitIntegersScores(t *tile, part mask.Span, top []float32) {
	w, d, group := t.Lanes, t.job.d(), t.job.Call.K.Group()
	depth, segment := kvrows.Depth(d), min(group, ukernel.ColumnSegment)
	waits := group > segment // the sum of all segments is scaled
	top = t.orIgnored(top)
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		s, lo := t.scoresFrom(part), t.Key(part.Lo)
		n = t.keys().Run(t.Head, lo, ukernel.RowsPerCall(part.Len(), w*d))
		k := t.keys().Rounded(t.Head, lo, n)
		scales, lsc := t.keys().Scales(t.Head, lo, n)
		for at := 0; at < d; at += segment {
			by, stride, raised := ones[:1], 0, t.ignored()
			if !waits {
				by, stride = scales[at/group:], lsc
				if at+segment >= d {
					raised = top
				}
			}
			t.job.tier.Unit().ScoreHalves(s, k[at:], depth, t.words[at/2*w:], t.words[(depth+at)/2*w:], by, stride, n, kvrows.Depth(min(segment, d-at)), at > 0, raised)
		}
		if waits {
			t.kern.ScaleRows(s, w, s, w, n, scales, lsc, false, top)
		}
	}
}

// unitIntegersValues rounds the weights of a segment of keys after the other, for each group of
// columns that share scales. It takes the products for float32 if a pair of keys would begin before
// the block.
func unitIntegersValues(t *tile) {
	const seg = contract.ValueSegment
	b, s, w, dv, group := &t.block, t.scratch, t.Lanes, t.job.dv(), t.job.Call.V.Group()
	if b.keys.Lo%2 != 0 {
		asFloatsValues(t)
		return
	}
	first := (b.keys.Lo - b.lo) / seg * seg
	n := kvrows.Depth(b.keys.Hi-b.lo) - first
	v := t.values().Transposed(t.Head, mask.Span{Lo: t.Key(b.keys.Lo), Hi: t.Key(b.keys.Hi)}, t.phase)
	o := t.room()
	for at := 0; at < dv; at += group {
		for part := range segments(b.keys) {
			scales, lsc := t.valueScales(part, at/group)
			lo, end := (part.Lo-b.lo)%seg/2*w, ints.CeilDiv((part.Hi-1-b.lo)%seg+1, 2)*w
			words := s.words[(part.Lo-b.lo-first)/seg*seg*w:][:seg*w]
			for _, half := range [2][]uint32{words[:seg/2*w], words[seg/2*w:]} {
				clear(half[:lo])
				clear(half[end:])
			}
			t.job.tier.Unit().RoundHalves(words[lo:], words[seg/2*w+lo:], t.scoresFrom(part), w, part.Len(), scales, lsc, contract.WeightBits, s.units[:w])
		}
		for e, m := at, 0; e < at+group; e += m {
			m = valuesPerCall(at+group-e, w, n)
			t.job.tier.Unit().GemmHalves(o[e*w:], w, v[e*BlockKeys+first:], BlockKeys, s.words, w, m, n, false)
		}
	}
	t.mergeBlock(o)
}
