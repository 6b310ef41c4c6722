package engine

import (
	"github.com/attn-go/attn/internal/engine/kvrows"
	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
)

// Calls with KeyRows. The keys of a tile are the entries of a list, which all of its rows share: if
// each query has its own list, a KV head has the rows of one query alone, see lanes.Head. The tile
// coordinate of a key is the number of its entry. Kernels for few rows of queries take the rows of
// entries by their offsets; for others, readers copy them side by side. What depends on positions
// goes through entries by runs of neighbouring rows, and masks are looked up entry by entry.

// deriveListed derives what others ask first.
func (j *Job) deriveListed() {
	j.derived.listed, j.derived.perQuery = true, j.Call.KeyRows.PerQuery()
	j.listedMask, j.named = j.Call.Mask.Split(), kvrows.Rows{Lists: &j.Call.KeyRows}
}

// listOf returns the list of the rows of a tile.
func (j *Job) listOf(h lanes.Head) []int32 { return j.Call.KeyRows.Of(h.Batch, h.Head, h.Query) }

// existing returns how many keys the rows of the tile have, visible or not.
func (t *tile) existing() int {
	j, b := t.job, t.Head.Batch
	if j.derived.listed {
		return j.listedMask.Length(b, len(j.listOf(t.Head)))
	}
	if j.derived.tree {
		return j.Call.Mask.Length(b, t.onPath.Keys)
	}
	return j.Call.Mask.Length(b, j.Call.K.Length(b))
}

// listedFrame returns the frame of the rows of a tile.
func (j *Job) listedFrame(r *lanes.Rows) (f keyFrame) {
	b := r.Head.Batch
	n := j.listedMask.Length(b, len(j.listOf(r.Head)))
	if j.derived.biased {
		n = min(n, j.Call.Bias.Dim(3))
	}
	f.visible = j.Call.Mask.Span(j.Call.Query(b, r.Query, n)) // ends with the shortest bool view
	f.visibleToAll = f.visible
	return f
}

// eachRun calls f for parts of keys at neighbouring positions, with the position of the first.
func (t *tile) eachRun(keys mask.Span, f func(part mask.Span, at int)) {
	if !t.job.derived.listed {
		f(keys, t.start+keys.Lo)
		return
	}
	list, start := t.job.listOf(t.Head), position.Of(t.job.Call.KeyStart, t.Head.Batch)
	for keys.Lo < keys.Hi {
		row, n := int(list[keys.Lo]), 1
		for keys.Lo+n < keys.Hi && int(list[keys.Lo+n]) == row+n {
			n++
		}
		f(mask.Span{Lo: keys.Lo, Hi: keys.Lo + n}, start+row)
		keys.Lo += n
	}
}

// maskListed hides what the mask hides, but for its bool views.
func (t *tile) maskListed(part mask.Span, top []float32) {
	list, start := t.job.listOf(t.Head), position.Of(t.job.Call.KeyStart, t.Head.Batch)
	positions, n := t.scratch.keyPositions[:part.Len()], t.existing()
	for i := range positions {
		positions[i] = int32(start) + list[part.Lo+i]
	}
	off := t.scratch.off[:t.Lanes]
	last, to := -1, -modKeys
	t.EachLane(func(lane, _, query int) {
		if query != last {
			last, to = query, to+modKeys
			t.job.listedMask.Mark(t.scratch.seen[to:][:part.Len()], t.job.Call.Query(t.Head.Batch, query, n), part.Lo, positions)
		}
		off[lane] = to
	})
	t.kern.MaskBool(t.scoresFrom(part), t.Lanes, part.Len(), t.scratch.seen, off, false, top)
}
