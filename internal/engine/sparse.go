package engine

import "github.com/attn-go/attn/internal/mask"

// coverage returns how many rows of the tile see the bitmap's block of key x, and the
// end of that block.
func (t *tile) coverage(x int) (c mask.Coverage, end int) {
	last := (t.row + t.n - 1) / t.job.derived.group
	c, end = t.job.Call.Mask.Sparse().Coverage(t.query, last, x-t.phase)
	return c, end + t.phase
}

// trimSparse returns keys without the bitmap's blocks at both ends that no row sees.
func (t *tile) trimSparse(keys mask.Span) mask.Span {
	seen := mask.Nothing
	for x := keys.Lo; x < keys.Hi; {
		c, end := t.coverage(x)
		end = min(end, keys.Hi)
		if c != mask.None {
			seen = seen.Union(mask.Span{Lo: x, Hi: end})
		}
		x = end
	}
	return keys.And(seen)
}

// scoreSparse computes S of the current block under a bitmap.
func (t *tile) scoreSparse(top []float32) {
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
			lo, hi := t.laneSpans()
			t.hideRows(part, lo, hi)
			t.scoreMasked(part, lo, hi, top)
		case mask.None:
			fill(t.scoresFrom(part)[:part.Len()*t.kern.Lanes], negInf)
		}
	}
}

// hideRows empties the spans of the rows that do not see the bitmap's block that part
// lies in.
func (t *tile) hideRows(part mask.Span, lo, hi []int32) {
	for lane := range lo {
		i := (t.row + min(lane, t.n-1)) / t.job.derived.group
		if !t.job.Call.Mask.Sparse().Sees(i, part.Lo-t.phase) {
			lo[lane], hi[lane] = 0, 0
		}
	}
}
