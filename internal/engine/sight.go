package engine

import (
	"math"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/ukernel"
)

// A sight says which keys the rows of a tile see.
type sight struct {
	keyFrame
	onPath     mask.Query  // the query, in a call with a tree
	rowSpans   []mask.Span // of each row; unused if all see the same
	rowGaps    []mask.Gaps // of each row, in tile coordinates; unused if the mask has no unions
	spansUsage parallel.Usage
	gapsUsage  parallel.Usage
}

// A keyFrame says where the keys of a tile lie and which are visible.
type keyFrame struct {
	// Key j of the call has the tile coordinate phase + j, so that the blocks of the
	// contract begin at multiples of BlockKeys. start is the position of coordinate 0.
	phase, start int

	visible      mask.Span // keys that any row sees
	visibleToAll mask.Span // keys that all rows see
}

// keyFrameOf returns the frame of batch row b, for rows that see what query 0 sees.
func (j *Job) keyFrameOf(b int) (f keyFrame) {
	start := position.Of(j.Call.KeyStart, b)
	f.phase = start % BlockKeys
	f.start = start - f.phase
	f.visible = j.visibleTo(j.query(b, 0), f.phase)
	f.visibleToAll = f.visible
	return f
}

// visibleTo returns the tile coordinates of the keys that a query may see.
func (j *Job) visibleTo(q mask.Query, phase int) mask.Span {
	s := mask.Span{Lo: 0, Hi: q.Keys}
	if j.Call.Mask.IsSet() {
		s = j.Call.Mask.Span(q)
	}
	if j.derived.biased {
		s = s.And(mask.Span{Lo: 0, Hi: j.Call.Bias.Dim(3)})
	}
	if s.Lo < s.Hi {
		s.Lo, s.Hi = s.Lo+phase, s.Hi+phase
	}
	return s.And(j.derived.keyRange)
}

// find sets which keys the rows see, and where their coordinates begin.
func (s *sight) find(j *Job, r *lanes.Rows) {
	if j.derived.sameKeys {
		s.keyFrame = j.derived.frame
		return
	}
	if j.derived.listed {
		s.keyFrame = j.listedFrame(r)
		return
	}
	b := r.Head.Batch
	if s.keyFrame = j.keyFrameOf(b); !j.Call.Mask.PerRow() && !j.derived.tree {
		return
	}
	s.visible, s.visibleToAll = mask.Nothing, mask.Everything
	i, g := r.Query, r.GroupHead
	query := j.query(b, i)
	s.onPath = query
	span := j.visibleTo(query, s.phase)
	for lane := range r.N {
		s.rowSpans[lane] = span
		s.visibleToAll = s.visibleToAll.And(span)
		s.visible = s.visible.Union(span)
		if g++; g == r.Group && lane+1 < r.N {
			i, g = i+1, 0
			span = j.visibleTo(j.query(b, i), s.phase)
		}
	}
	if j.Call.Mask.HasUnions() {
		s.findGaps(j, r)
	}
}

// findGaps sets the gaps of all rows.
func (s *sight) findGaps(j *Job, r *lanes.Rows) {
	for lane := range r.N {
		if lane > 0 && r.QueryOf(lane) == r.QueryOf(lane-1) {
			s.rowGaps[lane] = s.rowGaps[lane-1]
			continue
		}
		s.rowGaps[lane] = j.Call.Mask.Gaps(j.query(r.Head.Batch, r.QueryOf(lane)))
		for x := range s.rowGaps[lane] {
			g := &s.rowGaps[lane][x]
			g.Lo, g.Hi = g.Lo+s.phase, g.Hi+s.phase
		}
	}
}

// A laneSpans has one element per lane: which keys its row sees, counted from some key on.
type laneSpans struct{ lo, hi [ukernel.MaxLanes]int32 }

// spans sets to to the keys that each row sees of the current block, counted from its
// first key.
func (t *tile) spans(to *laneSpans) {
	for lane := range t.Lanes {
		s := t.rowSpans[min(lane, t.N-1)]
		to.lo[lane] = int32(clampBlock(s.Lo - t.block.lo))
		to.hi[lane] = int32(clampBlock(s.Hi - t.block.lo))
	}
}

func clampBlock(x int) int { return min(max(x, 0), BlockKeys) }

// allKeys hide nothing.
var allKeys = func() (s laneSpans) {
	for lane := range s.hi {
		s.hi[lane] = BlockKeys
	}
	return s
}()

// VisibleOf returns the keys among lo to lo+n-1 that any row may see.
func (t *tile) VisibleOf(lo, n int) mask.Span {
	keys := t.visible.And(mask.Span{Lo: lo, Hi: ints.AddSat(lo, n)})
	if t.job.Call.Mask.HasGaps() {
		keys = t.trim(keys)
	}
	return keys
}

// seenFrom returns how many keys from keys.Lo on may be read: all of keys, which VisibleOf has
// returned in whole or in part, and keys right after them that rows of the tile see.
func (t *tile) seenFrom(keys mask.Span) int {
	if t.job.Call.Mask.HasGaps() {
		return keys.Len()
	}
	return t.visible.Hi - keys.Lo
}

// coverage returns how many rows of the tile see key x, but for the ends of their spans, and
// up to which key that holds. If some do, then every row sees of the keys up to there the
// last ones, or none.
func (t *tile) coverage(x int) (c mask.Coverage, end int) {
	c, end = mask.Full, math.MaxInt
	if m := t.job.Call.Mask.Sparse(); m.IsSet() {
		c, end = m.Coverage(t.Query, t.LastQuery(), t.Key(x))
		end += t.phase
	}
	if t.job.Call.Mask.HasUnions() {
		inGaps, until := t.gapCoverage(x)
		c, end = min(c, inGaps), min(end, until)
	}
	return c, end
}

// gapCoverage is coverage for the gaps of unions. Keys up to the next beginning of a gap are
// one part: a row that lies in a gap sees those after its end.
func (t *tile) gapCoverage(x int) (c mask.Coverage, end int) {
	end = math.MaxInt
	first, last, inGap := math.MaxInt, 0, 0
	for lane := range t.N {
		hidden, next := t.rowGaps[lane].At(x, end)
		end = next
		if hidden > x {
			first, last, inGap = min(first, hidden), max(last, hidden), inGap+1
		}
	}
	switch inGap {
	case 0:
		return mask.Full, end
	case t.N:
		return mask.None, min(end, first)
	}
	return mask.Partial, min(end, last)
}

// trim returns keys without those at both ends that lie in blocks or gaps of all rows.
func (t *tile) trim(keys mask.Span) mask.Span {
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

// hideRows empties the spans of the rows that do not see the bitmap's block that part
// lies in, and cuts off what lies in gaps.
func (t *tile) hideRows(part mask.Span, of *laneSpans) {
	m := &t.job.Call.Mask
	for lane := range t.Lanes {
		if m.Sparse().IsSet() && !m.Sparse().Sees(t.QueryOf(lane), t.Key(part.Lo)) {
			of.lo[lane], of.hi[lane] = 0, 0
		}
		if m.HasUnions() {
			end, _ := t.rowGaps[min(lane, t.N-1)].At(part.Lo, part.Hi)
			if end > part.Lo {
				of.lo[lane] = max(of.lo[lane], int32(clampBlock(end-t.block.lo)))
			}
		}
	}
}
