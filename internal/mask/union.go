package mask

import "github.com/attn-go/attn/internal/check"

// Or returns the mask that hides what m and n both hide. As a Mask is an intersection of unions,
// that is the intersection of all unions of a part of m with a part of n. Bool views and bitmaps,
// and too many rules, are a failure.
func (m Mask) Or(n *Mask) Mask {
	or := Mask{failure: m.failure}
	if or.failure == nil {
		or.failure = n.failure
	}
	if m.nBools+n.nBools > 0 || m.sparse.set || n.sparse.set {
		or.failure = &check.Failure{Where: Arg, Got: "a union with a bool or block-sparse mask", Want: "a union of masks made of spans, or one bool mask"}
	}
	for x := 0; x < int(m.n); x = m.endOfUnion(x) {
		for y := 0; y < int(n.n); y = n.endOfUnion(y) {
			var rules [2 * MaxRules]Rule
			k := copy(rules[:], m.rules[x:m.endOfUnion(x)])
			k += copy(rules[k:], n.rules[y:n.endOfUnion(y)])
			if !or.add(rules[:k]) {
				return or.tooMany(MaxRules, "masks made of spans, in unions of each with each,")
			}
		}
	}
	return or
}

// add adds the union of some rules, if there is room.
func (m *Mask) add(rules []Rule) bool {
	if int(m.n)+len(rules) > MaxRules {
		return false
	}
	for x, r := range rules {
		if x > 0 {
			m.joined |= 1 << m.n
		}
		m.rules[m.n] = r
		m.n++
	}
	return true
}

// endOfUnion returns the number after the last rule of the union that begins with rule x. Most have
// one rule.
func (m *Mask) endOfUnion(x int) int {
	for x++; m.joined>>x&1 == 1; x++ {
	}
	return x
}

// isInUnion tells whether rule x alone does not decide what a query sees.
func (m *Mask) isInUnion(x int) bool { return m.joined>>x&3 != 0 }

// hull returns the smallest span with all keys that q sees under the union of the rules x to end-1.
func (m *Mask) hull(x, end int, q Query) Span {
	s := Nothing
	for ; x < end; x++ {
		s = s.Union(m.seen(x, q))
	}
	return s
}

// seen returns the keys that q sees under rule x alone, within [0, q.Keys).
func (m *Mask) seen(x int, q Query) Span {
	r := &m.rules[x]
	return r.Kind.Span(r, q).And(Span{0, q.Keys})
}

// Gaps are spans of keys that unions hide from a query, between keys that they show. Empty ones are
// {0, 0}. Gaps of one union do not overlap; gaps of several unions may.
type Gaps [MaxRules - 1]Span

// HasUnions tells whether there may be any.
func (m *Mask) HasUnions() bool { return m.joined != 0 }

// Gaps returns the gaps of a query. q.Lq and q.Lk need not be set.
func (m *Mask) Gaps(q Query) (g Gaps) {
	q.Lq, q.Lk = m.lq, m.lk
	n := 0
	for x := 0; x < int(m.n); {
		var spans [MaxRules]Span // sorted by Lo
		k := 0
		for end := m.endOfUnion(x); x < end; x++ {
			s := m.seen(x, q)
			if s.Len() == 0 {
				continue
			}
			at := k
			for ; at > 0 && spans[at-1].Lo > s.Lo; at-- {
				spans[at] = spans[at-1]
			}
			spans[at] = s
			k++
		}
		hi := spans[0].Hi
		for _, s := range spans[:k] {
			if s.Lo > hi {
				g[n] = Span{hi, s.Lo}
				n++
			}
			hi = max(hi, s.Hi)
		}
	}
	return g
}

// At returns how far key j lies in gaps: the end of the last one that holds it, or j. next is the
// least key after j with which a gap begins, or most.
func (g *Gaps) At(j, most int) (end, next int) {
	end, next = j, most
	for _, s := range g {
		switch {
		case s.Lo > j:
			next = min(next, s.Lo)
		case s.Hi > end:
			end = s.Hi
		}
	}
	return end, next
}

// Next returns the first keys of s, part of the span of query q, that q sees one after the other:
// none, at the end of s, if it sees none. Bool views do not count.
func (m *Mask) Next(q Query, s Span) Span {
	if !m.hasGaps {
		return s
	}
	var gaps Gaps
	if m.HasUnions() {
		gaps = m.Gaps(q)
	}
	part := Span{s.Hi, s.Hi}
	for j := s.Lo; j < s.Hi; {
		hidden, end := gaps.At(j, s.Hi)
		isSeen := hidden == j
		if hidden > j {
			end = min(hidden, s.Hi)
		} else if m.sparse.set {
			c, next := m.sparse.Coverage(q.Index, q.Index, j)
			isSeen, end = c != None, min(end, next)
		}
		switch {
		case isSeen:
			part.Lo = min(part.Lo, j)
		case part.Lo < j:
			part.Hi = j
			return part
		}
		j = end
	}
	return part
}
