package engine

import (
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
	rowSpans   []mask.Span // of each row; unused if all see the same
	spansUsage parallel.Usage
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
	f.visible = j.visibleTo(b, 0, f.phase)
	f.visibleToAll = f.visible
	return f
}

// visibleTo returns the tile coordinates of the keys that query i of batch row b may see.
func (j *Job) visibleTo(b, i, phase int) mask.Span {
	s := mask.Span{Lo: 0, Hi: j.Call.K.Length(b)}
	if j.Call.Mask.IsSet() {
		start := position.Of(j.Call.KeyStart, b)
		s = j.Call.Mask.Span(mask.Query{Batch: b, Index: i, Keys: s.Hi, KeyStart: start, Diagonal: i + position.Of(j.Call.QueryStart, b) - start})
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
	b := r.Head.Batch
	if s.keyFrame = j.keyFrameOf(b); !j.Call.Mask.PerRow() {
		return
	}
	s.visible, s.visibleToAll = mask.Nothing, mask.Everything
	i, g := r.Query, r.GroupHead
	span := j.visibleTo(b, i, s.phase)
	for lane := range r.N {
		s.rowSpans[lane] = span
		s.visibleToAll = s.visibleToAll.And(span)
		s.visible = s.visible.Union(span)
		if g++; g == r.Group && lane+1 < r.N {
			i, g = i+1, 0
			span = j.visibleTo(b, i, s.phase)
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

// VisibleOf returns those of the keys lo to lo+n-1 that any row may see.
func (t *tile) VisibleOf(lo, n int) mask.Span {
	keys := t.visible.And(mask.Span{Lo: lo, Hi: ints.AddSat(lo, n)})
	if t.job.Call.Mask.Sparse().IsSet() {
		keys = t.trimSparse(keys)
	}
	return keys
}

// coverage returns how many rows of the tile see the bitmap's block of key x, and the
// end of that block.
func (t *tile) coverage(x int) (c mask.Coverage, end int) {
	c, end = t.job.Call.Mask.Sparse().Coverage(t.Query, t.LastQuery(), t.Key(x))
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

// hideRows empties the spans of the rows that do not see the bitmap's block that part
// lies in.
func (t *tile) hideRows(part mask.Span, of *laneSpans) {
	for lane := range t.Lanes {
		if !t.job.Call.Mask.Sparse().Sees(t.QueryOf(lane), t.Key(part.Lo)) {
			of.lo[lane], of.hi[lane] = 0, 0
		}
	}
}
