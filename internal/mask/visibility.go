package mask

import (
	"math"

	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// Visibility is a mask that fits the shape of a call. The zero Visibility hides
// nothing.
type Visibility struct {
	IsSet  bool // the mask may hide a key
	PerRow bool // queries of a batch row may see different spans

	rules  [MaxRules]Rule
	n      int
	lq, lk int

	Bools  [MaxBools]BoolView // with strides of 0 where they broadcast
	NBools int
	Sparse BlockSparse
}

// Resolve sets v, which must be zero, to a mask that has passed Check for scores of
// shape c. It writes only what is used, as small calls feel a copy of it all.
func (v *Visibility) Resolve(m *Mask, c *view.Scores) {
	if !m.IsSet() {
		return
	}
	v.IsSet = true
	v.n = copy(v.rules[:], m.rules[:m.n])
	v.lq, v.lk = c.Queries, c.Keys
	for x := range v.rules[:v.n] {
		v.PerRow = v.PerRow || v.rules[x].Kind.Length == nil
	}
	v.NBools = copy(v.Bools[:], m.bools[:m.nBools])
	for x := range v.Bools[:v.NBools] {
		g := &v.Bools[x].Grid
		g.Stride, _ = g.Broadcast(Arg, len(v.Bools[x].Data), c)
	}
	if m.sparse.set {
		v.Sparse = m.sparse.resolved(c)
		v.PerRow = true
	}
}

// Span returns the keys that a query sees under all rules, within [0, q.Keys). An
// empty span is {0, 0}. q.Lq and q.Lk need not be set.
func (v *Visibility) Span(q Query) Span {
	s := Span{0, q.Keys}
	q.Lq, q.Lk = v.lq, v.lk
	for x := range v.rules[:v.n] {
		r := &v.rules[x]
		t := r.Kind.Span(r, q)
		s.Lo, s.Hi = max(s.Lo, t.Lo), min(s.Hi, t.Hi)
	}
	for x := range v.Bools[:v.NBools] {
		s.Hi = min(s.Hi, v.Bools[x].Grid.Shape[3])
	}
	if s.Lo >= s.Hi {
		return Span{}
	}
	return s
}

// Length returns the number of keys of batch row b, of keys.
func (v *Visibility) Length(b, keys int) int {
	for x := range v.rules[:v.n] {
		if r := &v.rules[x]; r.Kind.Length != nil {
			keys = min(keys, r.Kind.Length(r, b))
		}
	}
	return keys
}

// HasLengths tells whether batch rows may have different numbers of keys.
func (v *Visibility) HasLengths() bool {
	for x := range v.rules[:v.n] {
		if v.rules[x].Kind.Length != nil {
			return true
		}
	}
	return false
}

// Window returns the most keys that a query sees under the sliding windows of the
// mask, math.MaxInt32 without one.
func (v *Visibility) Window() int {
	left, right := -1, -1
	for x := range v.rules[:v.n] {
		if r := &v.rules[x]; r.Kind.Window != nil {
			l, r := r.Kind.Window(r)
			left, right = narrower(left, l), narrower(right, r)
		}
	}
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
