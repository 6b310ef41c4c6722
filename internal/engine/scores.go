package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// prepare packs Q̂ᵀ if that has not been done, and sets the block's maximum to -Inf. It
// sets block.plain if S is one product with K in place, which score computes by one
// call of a kernel.
func (t *tile) prepare() {
	if !t.packed {
		t.pack()
	}
	copy(t.blockTop(), negInfs[:])
	j, b := t.job, &t.block
	n := b.keys.Len()
	if n < ukernel.SkinnyKeys && j.isOneProduct() && t.visibleToAll.And(b.keys) == b.keys && ukernel.RowsPerCall(n, t.kern.Lanes*j.d()) == n {
		b.plain = j.Call.K.Rows(t.head.batch, t.head.head, b.keys.Lo-t.phase, n)
	}
}

// isOneProduct tells whether scores are products with the keys as they lie in
// memory, and nothing else.
func (j *Job) isOneProduct() bool {
	return j.Call.K.DType() == view.Float32 && !j.Call.K.IsPaged() && j.derived.mods.n == 0 && !j.Call.Mask.Sparse().IsSet() && j.derived.additive == nil
}

// score computes S of the current block and its maximum per lane.
func (t *tile) score() {
	j, b, lanes := t.job, &t.block, t.kern.Lanes
	switch {
	case b.plain != nil: // so few instructions that the next tile's chains begin before these end
		t.kern.GemmMax(b.scores, lanes, b.plain, j.Call.K.Stride(2), 1, t.q, lanes, b.keys.Len(), j.d(), ukernel.ColumnSegment, t.blockTop())
		b.plain = nil // the caller's memory
	case j.Call.Mask.Sparse().IsSet():
		t.scoreSparse(t.blockTop())
	default:
		t.scoreSpan(b.keys, t.blockTop())
	}
}

// scoreSpan computes part of S. Keys that all rows see need no mask; those before and
// after them do.
func (t *tile) scoreSpan(part mask.Span, top []float32) {
	seen := t.visibleToAll.And(part)
	if seen == part {
		t.scoreForAll(part, top)
		return
	}
	if seen.Lo == seen.Hi {
		seen = mask.Span{Lo: part.Hi, Hi: part.Hi}
	}
	t.scoreSeenBySome(mask.Span{Lo: part.Lo, Hi: seen.Lo}, top)
	t.scoreForAll(seen, top)
	t.scoreSeenBySome(mask.Span{Lo: seen.Hi, Hi: part.Hi}, top)
}

// scoreForAll computes the scores of keys as if all rows saw them.
func (t *tile) scoreForAll(part mask.Span, top []float32) {
	if t.job.derived.mods.n == 0 {
		t.products(part, top)
		return
	}
	for part.Lo < part.Hi {
		chunk := mask.Span{Lo: part.Lo, Hi: min(part.Lo+modKeys, part.Hi)}
		t.products(chunk, nil)
		t.modify(chunk, top)
		part.Lo = chunk.Hi
	}
}

// scoreSeenBySome computes the scores of keys that some rows do not see.
func (t *tile) scoreSeenBySome(part mask.Span, top []float32) {
	if part.Lo == part.Hi {
		return
	}
	lo, hi := t.laneSpans()
	t.scoreMasked(part, lo, hi, top)
}

// scoreMasked computes the scores of keys of which every lane sees those from lo to
// hi, counted from the start of the block.
func (t *tile) scoreMasked(part mask.Span, lo, hi []int32, top []float32) {
	if t.job.derived.mods.n == 0 {
		t.products(part, nil)
	} else {
		t.scoreForAll(part, t.ignored())
	}
	t.kern.MaskSpan(t.scoresFrom(part), t.kern.Lanes, part.Lo-t.block.lo, part.Len(), lo, hi, top)
}

// products computes the products of the queries and part of the block's keys, or
// their additive scores. A nil top leaves the maximum to what follows.
func (t *tile) products(part mask.Span, top []float32) {
	if t.job.derived.additive != nil {
		t.additiveScores(part, top)
		return
	}
	if t.job.Call.Quantized {
		t.quantizedProducts(part, top)
		return
	}
	if t.skinny && part.Len() >= ukernel.SkinnyKeys {
		t.skinnyProducts(part, top)
		return
	}
	lanes, d := t.kern.Lanes, t.job.d()
	for part.Lo < part.Hi {
		s := t.scoresFrom(part)
		k, rs, n := t.scratch.keys.get(t.job.tier, &t.job.Call.K, t.head, part.Lo-t.phase, ukernel.RowsPerCall(part.Len(), lanes*d))
		if top == nil {
			t.kern.Gemm(s, lanes, k, rs, 1, t.q, lanes, n, d, ukernel.ColumnSegment, false)
		} else {
			t.kern.GemmMax(s, lanes, k, rs, 1, t.q, lanes, n, d, ukernel.ColumnSegment, top)
		}
		part.Lo += n
	}
}

// scoresFrom returns S of the current block from the first key of part on.
func (t *tile) scoresFrom(part mask.Span) []float32 {
	return t.block.scores[(part.Lo-t.block.keys.Lo)*t.kern.Lanes:]
}
