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
// A call of GemmTiles for each half of the weights of 32 keys would spend most of its time in tiles
// that are loaded and stored. So values have GemmHalves, which takes all segments of a block.

// groupsFillSegments tells whether each group of columns of the keys is whole segments of the unit,
// and no longer than a segment of the contract, unless there is a single group.
func (j *Job) groupsFillSegments() bool {
	group := j.Call.K.Group()
	return group == j.d() || group <= ukernel.ColumnSegment && kvrows.Depth(group) == group
}

// minusOne is the factor of a half that is subtracted.
var minusOne = [1]float32{-1}

// packHalves packs rounded queries: all first halves, then all others.
func packHalves(t *tile) {
	packRounded(t)
	d, w := t.job.d(), t.Lanes
	t.halve(t.words, t.words[kvrows.Depth(d)/2*w:], t.q, 0, d, t.scratch.rounded)
}

// halve writes the first halves of rows of x and the other ones as pairRows writes rows. It uses up
// x, and memory for up to BlockKeys rows.
func (t *tile) halve(first, other []uint32, x []float32, lo, hi int, memory []float32) {
	w, skip := t.Lanes, lo%contract.BF16Segment
	t.pairRows(first, x, lo, hi)
	rows := skip + hi - lo
	for at, n := 0, 0; at < rows; at += n {
		n = min(BlockKeys, rows-at)
		t.job.tier.Convert().WidenPairs(memory, memory[w:], 2*w, first[at/2*w:], w, ints.CeilDiv(n, 2), w)
		begin := max(skip-at, 0)
		t.kern.ScaleRows(x[(at+begin-skip)*w:], w, memory[begin*w:], w, n-begin, minusOne[:], 0, true, t.ignored())
	}
	t.pairRows(other, x, lo, hi)
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

// unitIntegersValues rounds the weights of a segment of keys after the other, for each group of
// columns that share scales.
func unitIntegersValues(t *tile) {
	const seg = contract.ValueSegment
	b, s, w, dv, group := &t.block, t.scratch, t.Lanes, t.job.dv(), t.job.Call.V.Group()
	first := (b.keys.Lo - b.lo) / seg * seg
	n := kvrows.Depth(b.keys.Hi-b.lo) - first
	v := t.values().Transposed(t.Head, mask.Span{Lo: t.Key(b.keys.Lo), Hi: t.Key(b.keys.Hi)}, t.phase)
	o, rounded, memory := t.room(), s.rounded[:seg*w], s.rounded[seg*w:]
	for at := 0; at < dv; at += group {
		for part := range segments(b.keys) {
			scales, lsc := t.valueScales(part, at/group)
			t.kern.Round(rounded, t.scoresFrom(part), w, part.Len(), scales, lsc, contract.WeightBits, s.units[:w])
			lo, hi := part.Lo-b.lo, part.Hi-b.lo
			words := s.words[(lo-first)/seg*seg*w:]
			t.halve(words[:seg/2*w], words[seg/2*w:seg*w], rounded, lo, hi, memory)
		}
		for e, m := at, 0; e < at+group; e += m {
			m = valuesPerCall(at+group-e, w, n)
			t.job.tier.Unit().GemmHalves(o[e*w:], w, v[e*BlockKeys+first:], BlockKeys, s.words, w, m, n, false)
		}
	}
	t.mergeBlock(o)
}
