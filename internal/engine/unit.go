package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/ukernel"
)

// The steps of calls with products in bfloat16 on CPUs with a unit for tiles. Its A are keys, and
// values transposed, which all tiles of a KV head share. Its B are the queries and the weights in
// pairs. A short segment of columns, or of keys at an end of a block, is continued with zeros,
// which change nothing.

// unitLanes is how wide tiles are at most: the scores of a block and the pairs of their weights
// fill an L1 of 48 KiB then.
const unitLanes = 32

func packUnit(t *tile) {
	packBFloat16(t)
	t.pairRows(t.words, t.q, 0, t.job.d())
}

func unitScores(t *tile, part mask.Span, top []float32) {
	depth := kvrows.Depth(t.job.d())
	t.scaledScores(part, top, BlockKeys, func(s []float32, at, n int) {
		k := t.keys().Rounded(t.Head, at, n)
		t.job.tier.Unit().GemmTiles(s, t.Lanes, k, depth, t.words, t.Lanes, n, depth, false)
	})
}

func unitValues(t *tile) {
	t.roundDropped()
	b, w, dv := &t.block, t.Lanes, t.job.dv()
	lo, hi := b.keys.Lo-b.lo, b.keys.Hi-b.lo
	first := lo / contract.BF16Segment * contract.BF16Segment
	n := kvrows.Depth(hi) - first
	t.pairRows(t.scratch.words, b.scores, lo, hi)
	v := t.values().Transposed(t.Head, mask.Span{Lo: t.Key(b.keys.Lo), Hi: t.Key(b.keys.Hi)}, t.phase)
	o := t.room()
	for e, m := 0, 0; e < dv; e += m {
		m = valuesPerCall(dv-e, w, n)
		t.job.tier.Unit().GemmTiles(o[e*w:], w, v[e*BlockKeys+first:], BlockKeys, t.scratch.words, w, m, n, false)
	}
	t.mergeBlock(o)
}

// pairRows writes pairs of rows of x to words. x has rows lo to hi of whole segments, whose other
// rows are zeros. Words begin with the segment of row lo.
func (t *tile) pairRows(words []uint32, x []float32, lo, hi int) {
	w, zeros := t.Lanes, noRow[:]
	first := lo / contract.BF16Segment * contract.BF16Segment
	end := words[(kvrows.Depth(hi)-first)/2*w:]
	words = words[:len(words)-len(end)]
	skip := (lo - first) / 2 * w
	clear(words[:skip])
	words = words[skip:]
	narrow := func(even, odd []float32, n int) {
		t.job.tier.Convert().NarrowPairs(words, w, even, odd, 2*w, n, w)
		words = words[n*w:]
	}
	if lo%2 != 0 {
		narrow(zeros, x, 1)
		x, lo = x[w:], lo+1
	}
	for n := 0; lo+1 < hi; lo += 2 * n {
		n = min((hi-lo)/2, rows.MaxConvert/(2*w))
		narrow(x, x[w:], n)
		x = x[2*n*w:]
	}
	if lo < hi {
		narrow(x, zeros, 1)
	}
	clear(words)
}

// noRow is a row of zeros.
var noRow [ukernel.MaxLanes]float32
