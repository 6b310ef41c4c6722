package kernel

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// announce tells the race detector what a call, which has passed the check, reads and
// writes. c.out is nil for a call without this output.
func (c *call) announce() {
	s := &c.scores
	resolved := *c.scoring
	resolved.Resolve(s)
	m, bias := &resolved.Mask, &resolved.Bias
	for b := range s.Batch {
		queries := c.q.Length(b)
		c.announceOutputs(b)
		if c.scoring.KeyRows.IsSet() {
			c.q.AnnounceRows(view.Read, b, 0, queries)
			c.announceLists(b)
			c.announceEntries(b, &resolved)
			continue
		}
		if c.outputs.Scores.view().IsSet() && c.outputs.ScoreStage < ScoresMasked { // of hidden keys too
			c.k.AnnounceRows(view.Read, b, 0, m.Length(b, c.k.Length(b)))
		}
		var rows, keys mask.Span // what has been seen and not yet announced
		for i := range queries {
			query := c.query(b, i)
			span := m.Span(query)
			if bias.IsSet() {
				span = span.And(mask.Span{Lo: 0, Hi: bias.Dim(3)})
			}
			if span.Len() == 0 {
				continue
			}
			if i > rows.Hi {
				c.q.AnnounceRows(view.Read, b, rows.Lo, rows.Hi)
				rows.Lo = i
			}
			rows.Hi = i + 1
			for part := (mask.Span{Hi: span.Lo}); part.Hi < span.Hi; {
				if part = m.Next(query, mask.Span{Lo: part.Hi, Hi: span.Hi}); part.Len() == 0 {
					break
				}
				seen := part
				if c.scoring.Parents != nil {
					seen = c.announcePath(b, i, part)
				}
				if seen.Lo > keys.Hi || seen.Hi < keys.Lo {
					c.announceKeys(b, keys)
					keys = seen
				}
				keys = keys.Union(seen)
			}
			announceColumns(m, bias, query, span, mask.Span{Hi: s.Heads})
		}
		c.q.AnnounceRows(view.Read, b, rows.Lo, rows.Hi)
		c.announceKeys(b, keys)
	}
}

// announceOutputs announces that the rows of a batch row of all outputs are written.
func (c *call) announceOutputs(b int) {
	if c.out != nil {
		c.out.AnnounceRows(view.Write, b, 0, c.q.Length(b))
	}
	for _, t := range c.outputs.tensors() {
		if t.IsSet() && t.Dim(3) > 0 {
			t.AnnounceRows(view.Write, b, 0, c.q.Length(b))
		}
	}
}

// query returns query i of batch row b as masks see it.
func (c *call) query(b, i int) mask.Query {
	if c.scoring.Parents != nil {
		return c.scoring.OnPath(b, i, c.scores.Queries, c.k.Length(b))
	}
	return c.scoring.Query(b, i, c.k.Length(b))
}

// announcePath announces reads of the keys of query i that are on its path, and returns those
// before the tree.
func (c *call) announcePath(b, i int, keys mask.Span) mask.Span {
	past := c.scoring.Past(b)
	if keys.Hi <= past {
		return keys
	}
	path := view.Parents(c.scoring.Parents).Path(make([]int32, c.scores.Queries), b, i, c.scores.Queries)
	for _, query := range path[max(keys.Lo, past)-past : keys.Hi-past] {
		c.announceKeys(b, mask.Span{Lo: past + int(query), Hi: past + int(query) + 1})
	}
	return mask.Span{Lo: min(keys.Lo, past), Hi: past}
}

// announceLists announces that the keys of batch row b that lists name, and their values, are read.
func (c *call) announceLists(b int) {
	lists := &c.scoring.KeyRows
	for h := range c.k.Dim(1) {
		for i := range min(lists.Shape[2], c.q.Length(b)) {
			list := lists.Of(b, h, i)
			view.Announce(view.Read, list)
			for _, row := range list {
				c.k.AnnounceRow(view.Read, b, h, int(row))
				c.v.AnnounceRow(view.Read, b, h, int(row))
			}
		}
	}
}

// announceEntries announces that the bias and the bool masks are read, whose columns are entries of
// lists. What depends on positions reads no memory.
func (c *call) announceEntries(b int, s *scoring.Scoring) {
	bools, group := s.Mask, c.scores.Heads/c.k.Dim(1)
	rest := bools.Split()
	for h := range c.k.Dim(1) {
		for i := range c.q.Length(b) {
			query := s.Query(b, i, rest.Length(b, len(s.KeyRows.Of(b, h, i))))
			seen := query
			if s.Bias.IsSet() {
				seen.Keys = min(seen.Keys, s.Bias.Dim(3))
			}
			announceColumns(&bools, &s.Bias, query, bools.Span(seen), mask.Span{Lo: h * group, Hi: (h + 1) * group})
		}
	}
}

// announceKeys announces that some keys of batch row b and their values are read.
func (c *call) announceKeys(b int, keys mask.Span) {
	c.k.AnnounceRows(view.Read, b, keys.Lo, keys.Hi)
	c.v.AnnounceRows(view.Read, b, keys.Lo, keys.Hi)
}

// announceColumns announces that the bool masks of a query and the bias are read for some keys and
// heads.
func announceColumns(m *mask.Mask, bias *view.Tensor, q mask.Query, keys, heads mask.Span) {
	if bias.IsSet() {
		for h := heads.Lo; h < heads.Hi; h++ {
			if h == heads.Lo || bias.Stride(1) > 0 {
				bias.AnnouncePart(view.Read, q.Batch, h, q.Index, keys.Lo, keys.Hi)
			}
		}
	}
	for _, v := range m.Bools() {
		first := v.First(m, q.Batch, q.Keys)
		lo, hi := max(keys.Lo-first, 0), max(keys.Hi-first, 0)
		for h := heads.Lo; h < heads.Hi; h++ {
			if h == heads.Lo || v.Grid.Stride[1] > 0 {
				at := v.Grid.At(q.Batch, h, q.Index)
				view.Announce(view.Read, v.Data[at+lo:at+hi])
			}
		}
	}
}

// announce tells the race detector how a call accesses partial results.
func (p *Partials) announce(a view.Access) {
	view.Announce(a, p.Max)
	view.Announce(a, p.Sum)
	view.Announce(a, p.Out)
}

// announceMerge tells the race detector what a merge reads and writes.
func announceMerge(out *view.Tensor, parts []Partials, o *MergeOptions) {
	for x := range parts {
		parts[x].announce(view.Read)
	}
	for b := range out.Dim(0) {
		out.AnnounceRows(view.Write, b, 0, out.Dim(2))
		if lse := o.LSE.view(); lse.IsSet() {
			lse.AnnounceRows(view.Write, b, 0, out.Dim(2))
		}
	}
}
