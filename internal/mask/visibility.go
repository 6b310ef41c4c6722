package mask

import (
	"math"

	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// Resolve makes m, which has passed Check for scores of shape c, ready to be asked what queries
// see. It is called once.
func (m *Mask) Resolve(c *view.Scores) {
	m.lq, m.lk = c.Queries, c.Keys
	m.hasGaps = m.joined != 0
	m.perRow = m.perRow || m.hasGaps
	for x := range m.rules[:m.n] {
		m.perRow = m.perRow || m.rules[x].Kind.Length == nil
	}
	for x := range m.bools[:m.nBools] {
		g := &m.bools[x].Grid
		g.Stride, _ = g.Broadcast(Arg, len(m.bools[x].Data), c)
	}
	if m.sparse.set {
		m.sparse = m.sparse.resolved(c)
		m.perRow, m.hasGaps = true, true
	}
}

// Split takes all but the bool views out of m, which is resolved, and returns it.
func (m *Mask) Split() Mask {
	rest := *m
	rest.nBools = 0
	m.n, m.joined, m.sparse, m.perRow, m.hasGaps = 0, 0, BlockSparse{}, false, false
	return rest
}

// Mark sets seen to which keys q sees from number first on, whose positions are given. Bool views
// do not count.
func (m *Mask) Mark(seen []bool, q Query, first int, positions []int32) {
	q.Lq, q.Lk = m.lq, m.lk
	inAll := q // as if there were a key at each position
	inAll.Diagonal, inAll.KeyStart, inAll.Keys = q.Diagonal+q.KeyStart, 0, math.MaxInt32
	for i := range seen {
		seen[i] = !m.sparse.set || m.sparse.Sees(q.Index, first+i)
	}
	for x := 0; x < int(m.n); {
		var spans [MaxRules]Span
		begin, end := x, m.endOfUnion(x)
		for ; x < end; x++ {
			if r := &m.rules[x]; r.Kind.InPositions {
				spans[x] = r.Kind.Span(r, inAll)
			} else {
				spans[x] = m.seen(x, q)
			}
		}
		for i, at := range positions[:len(seen)] {
			seen[i] = seen[i] && m.unites(begin, end, &spans, first+i, int(at))
		}
	}
}

// unites tells whether any of the rules' spans has a key.
func (m *Mask) unites(begin, end int, spans *[MaxRules]Span, key, at int) bool {
	for x := begin; x < end; x++ {
		of := key
		if m.rules[x].Kind.InPositions {
			of = at
		}
		if spans[x].Lo <= of && of < spans[x].Hi {
			return true
		}
	}
	return false
}

// PerRow tells whether queries of a batch row may see different spans.
func (m *Mask) PerRow() bool { return m.perRow }

// HasGaps tells whether a query may not see all keys of its span, those aside that bool views hide.
func (m *Mask) HasGaps() bool { return m.hasGaps }

// Bools returns the bool views, with strides of 0 where they broadcast.
func (m *Mask) Bools() []BoolView { return m.bools[:m.nBools] }

// Sparse returns the bitmap of blocks, which may not be set.
func (m *Mask) Sparse() *BlockSparse { return &m.sparse }

// Span returns the keys that a query sees under all rules, within [0, q.Keys), with the gaps of
// unions. An empty span is {0, 0}. q.Lq and q.Lk need not be set.
func (m *Mask) Span(q Query) Span {
	s := Span{0, q.Keys}
	q.Lq, q.Lk = m.lq, m.lk
	for x := 0; x < int(m.n); x++ {
		r := &m.rules[x]
		t := r.Kind.Span(r, q)
		if end := m.endOfUnion(x); end > x+1 {
			t, x = m.hull(x, end, q), end-1
		}
		s.Lo, s.Hi = max(s.Lo, t.Lo), min(s.Hi, t.Hi)
	}
	for x := range m.bools[:m.nBools] {
		if v := &m.bools[x]; !v.Last {
			s.Hi = min(s.Hi, v.Grid.Shape[3])
		}
	}
	if s.Lo >= s.Hi {
		return Span{}
	}
	return s
}

// Length returns the number of keys of batch row b, of keys.
func (m *Mask) Length(b, keys int) int {
	for x := range m.rules[:m.n] {
		if r := &m.rules[x]; r.Kind.Length != nil && !m.isInUnion(x) {
			keys = min(keys, r.Kind.Length(r, b))
		}
	}
	return keys
}

// HasLengths tells whether batch rows may have different numbers of keys.
func (m *Mask) HasLengths() bool {
	for x := range m.rules[:m.n] {
		if m.rules[x].Kind.Length != nil && !m.isInUnion(x) {
			return true
		}
	}
	return false
}

// Sides returns bounds of how many keys before and after its own position a query sees, -1 for no
// limit. exact tells whether it sees all of them.
func (m *Mask) Sides() (left, right int, exact bool) {
	left, right, exact = -1, -1, m.failure == nil && m.joined == 0 && m.nBools == 0 && !m.sparse.set
	for x := range m.rules[:m.n] {
		r := &m.rules[x]
		exact = exact && r.Kind.IsWindow != nil && r.Kind.IsWindow(r)
		if r.Kind.Window != nil && !m.isInUnion(x) {
			l, r := r.Kind.Window(r)
			left, right = narrower(left, l), narrower(right, r)
		}
	}
	return left, right, exact
}

// Window returns the most keys that a query sees under the sliding windows of the
// mask, math.MaxInt32 without one.
func (m *Mask) Window() int {
	left, right, _ := m.Sides()
	if left < 0 || right < 0 {
		return math.MaxInt32
	}
	return position.AddClamp(position.AddClamp(left, right), 1)
}

// narrower returns the lesser of two sides of a window, of which -1 has no end.
func narrower(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
