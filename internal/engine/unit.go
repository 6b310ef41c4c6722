package engine

import (
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// The steps of calls with products in bfloat16 on CPUs with a unit for tiles. Its A are keys, and
// values transposed, which all tiles of a KV head share. Its B are the queries and the weights in
// pairs. A short segment of columns, or of keys at an end of a block, is continued with zeros,
// which change nothing.

// unitLanes is how wide tiles are at most: the scores of a block and the pairs of their weights
// fill an L1 of 48 KiB then.
const unitLanes = 32

func packUnit(t *tile) {
	x, w, depth := &t.job.Call.Q, t.Lanes, kvrows.Depth(t.job.d())
	if !rows.NarrowsFactors(x) {
		packBFloat16(t)
		t.pairRows(t.words, t.q, 0, t.job.d())
		return
	}
	q := view.As[uint16](view.BytesOf(t.q))[:w*depth]
	off := t.offsets(x, 0)[:t.N]
	for n := 0; len(off) > 0; off = off[n:] {
		stride := 0
		if n = 1; len(off) > 1 {
			stride = off[1] - off[0]
		}
		for stride > 0 && n < len(off) && off[n]-off[n-1] == stride {
			n++
		}
		rows.NarrowFactors(t.job.tier, q[(t.N-len(off))*depth:], depth, x, off[0], stride, n)
	}
	clear(q[t.N*depth:])
	pairs := view.As[uint32](view.BytesOf(q))
	for e, n := 0, 0; e < depth/2; e += n {
		n = ukernel.ColumnsPerCall(depth/2-e, w)
		t.job.tier.Unit().PackPairs(t.words[e*w:], w, pairs[e:], depth/2, w, n)
	}
}

// pairing is what the weights of a call allow.
type pairing struct {
	inPlace bool // they may take the place of their scores as pairs: nobody else wants them
	scaling bool // and they may be made of products that are not scaled
}

// pairing returns it for tiles of unitBFloat16. The largest product is the largest score if a
// positive number scales it.
func (j *Job) pairing() (p pairing) {
	p.inPlace = j.Call.Dropout.Rate == 0 && !j.Call.Weights.IsSet()
	c := j.derived.scale
	p.scaling = p.inPlace && !j.Call.Scores.IsSet() && j.derived.mods.n == 0 && c > 0 && c < -scalar.NegInf
	return p
}

// pairsInPlace tells whether the weights of the current block become pairs at once. They begin with
// a whole segment then, and the last one fits the memory of the scores.
func (t *tile) pairsInPlace() bool {
	keys := t.block.keys
	return t.job.plan.pairing.inPlace && (keys.Lo-t.block.lo)%contract.BF16Segment == 0 && 2*keys.Len() >= contract.BF16Segment
}

func unitScores(t *tile, part mask.Span, top []float32) {
	depth := kvrows.Depth(t.job.d())
	product := func(s []float32, at, n int) {
		k := t.keys().Rounded(t.Head, at, n)
		t.job.tier.Unit().GemmTiles(s, t.Lanes, k, depth, t.words, t.Lanes, n, depth, false, nil)
	}
	if !t.job.plan.pairing.scaling || !t.pairsInPlace() {
		t.scaledScores(part, top, BlockKeys, product)
		return
	}
	for n := 0; part.Lo < part.Hi; part.Lo += n {
		n = ukernel.RowsPerCall(part.Len(), t.Lanes*depth)
		product(t.scoresFrom(part), t.Key(part.Lo), n)
	}
}

func unitSoftmax(t *tile, n int, max, sum []float32) {
	if !t.pairsInPlace() {
		bfloat16Softmax(t, n, max, sum)
		return
	}
	unit, s, scale := t.job.tier.Unit(), t.block.scores, float32(1)
	if t.job.plan.pairing.scaling {
		scale = t.job.derived.scale
		unit.Maxima(s, n, scale, max)
	}
	unit.SoftmaxPairs(s, n, scale, max, sum)
}

// weightPairs returns the pairs of the weights of the current block, and the number of their first
// segment's first key in the block.
func (t *tile) weightPairs() (words []uint32, first int) {
	b, w := &t.block, t.Lanes
	lo, hi := b.keys.Lo-b.lo, b.keys.Hi-b.lo
	first = lo / contract.BF16Segment * contract.BF16Segment
	n := (kvrows.Depth(hi) - first) / 2 * w
	if t.pairsInPlace() {
		words = view.As[uint32](view.BytesOf(b.scores))[:n]
		clear(words[(hi-lo+1)/2*w:])
		return words, first
	}
	t.roundDropped()
	words = t.scratch.words[:n]
	t.pairRows(words, b.scores, lo, hi)
	return words, first
}

func unitValues(t *tile) {
	b, w, dv := &t.block, t.Lanes, t.job.dv()
	words, first := t.weightPairs()
	n := len(words) / w * 2
	v := t.values().Transposed(t.Head, mask.Span{Lo: t.Key(b.keys.Lo), Hi: t.Key(b.keys.Hi)}, t.phase)
	o := t.room()
	for e, m := 0, 0; e < dv; e += m {
		m = valuesPerCall(dv-e, w, n)
		t.job.tier.Unit().GemmTiles(o[e*w:], w, v[e*BlockKeys+first:], BlockKeys, words, w, m, n, false, nil)
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
