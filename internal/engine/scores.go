package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
)

// prepare does what must come before the scores of the current block. It sets block.few
// if these are one product with few keys in place, which score computes by one call of a
// kernel.
func (t *tile) prepare() {
	t.pack()
	copy(t.top(), negInfs[:])
	b, k := &t.block, &t.job.Call.K
	if n := b.keys.Len(); n < ukernel.SkinnyKeys && t.job.plan.isProduct && t.visibleToAll.And(b.keys) == b.keys && ukernel.RowsPerCall(n, t.Lanes*k.Dim(3)) == n {
		b.few = k.Rows(t.Head.Batch, t.Head.Head, t.Key(b.keys.Lo), n)
	}
}

// score computes S of the current block and its maximum per lane.
func (t *tile) score() {
	switch b, k := &t.block, &t.job.Call.K; {
	case b.few != nil: // so few instructions that the next tile's chains begin before these end
		t.kern.GemmMax(b.scores, t.Lanes, b.few, k.Stride(2), 1, t.q, t.Lanes, b.keys.Len(), k.Dim(3), ukernel.ColumnSegment, t.top())
		b.few = nil // the caller's memory
	case t.job.Call.Mask.HasGaps():
		t.scoreGaps(t.top())
	default:
		t.scoreSpan(b.keys, t.top())
	}
}

// scoreGaps computes S of the current block under a bitmap or unions.
func (t *tile) scoreGaps(top []float32) {
	keys := t.block.keys
	for x := keys.Lo; x < keys.Hi; {
		c, end := t.coverage(x)
		for end < keys.Hi { // neighbours with the same coverage are one
			next, e := t.coverage(end)
			if next != c || c == mask.Partial {
				break
			}
			end = e
		}
		part := mask.Span{Lo: x, Hi: min(end, keys.Hi)}
		x = part.Hi
		switch c {
		case mask.Full:
			t.scoreSpan(part, top)
		case mask.Partial:
			seen := &t.scratch.spans
			t.spans(seen)
			t.hideRows(part, seen)
			t.scoreMasked(part, seen, top)
		case mask.None:
			rows.Fill(t.scoresFrom(part)[:part.Len()*t.Lanes], scalar.NegInf)
		}
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

// scoreSeenBySome computes the scores of keys that some rows do not see.
func (t *tile) scoreSeenBySome(part mask.Span, top []float32) {
	if part.Lo < part.Hi {
		t.spans(&t.scratch.spans)
		t.scoreMasked(part, &t.scratch.spans, top)
	}
}

// scoreMasked computes the scores of keys of which every lane sees some.
func (t *tile) scoreMasked(part mask.Span, seen *laneSpans, top []float32) {
	if t.job.derived.mods.n == 0 {
		t.strategy.scores(t, part, nil)
	} else {
		t.scoreForAll(part, t.ignored())
	}
	t.kern.MaskSpan(t.scoresFrom(part), t.Lanes, part.Lo-t.block.lo, part.Len(), seen.lo[:t.Lanes], seen.hi[:t.Lanes], top)
}

// scoreForAll computes the scores of keys as if all rows saw them.
func (t *tile) scoreForAll(part mask.Span, top []float32) {
	if t.job.derived.mods.n == 0 {
		t.strategy.scores(t, part, top)
		return
	}
	for part.Lo < part.Hi {
		chunk := mask.Span{Lo: part.Lo, Hi: min(part.Lo+modKeys, part.Hi)}
		t.strategy.scores(t, chunk, nil)
		t.modify(chunk, top)
		part.Lo = chunk.Hi
	}
}

// raise raises top to the maximum of n rows of scores.
func (t *tile) raise(scores []float32, n int, top []float32) {
	t.kern.MaskSpan(scores, t.Lanes, 0, n, allKeys.lo[:t.Lanes], allKeys.hi[:t.Lanes], top)
}
