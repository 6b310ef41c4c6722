package kernel

import (
	"fmt"
	"math"
	"slices"
)

// Mask tells which keys a query may see. It is a value: build it once or per
// call, nothing is allocated. The zero Mask hides nothing. Masks are
// intersected with And.
//
// Masks speak of positions: query i of batch row b stands at position
// Options.QueryStart[b] + i and key j at Options.KeyStart[b] + j, both from 0
// by default. Lengths, ids and bitmaps count the queries and keys of the call.
//
// A hidden key or value never matters, even if it is NaN or Inf. Masks made of
// spans ([Causal], [Window], [PrefixLM], [KeyLengths], [QueryLengths],
// [Segments]) and [BlockSparse] cost nothing where a block of 256 keys is
// hidden from, or seen by, all queries at hand, and keys that no query sees are not
// read at all. [Visible] and [Hidden] look at every score. A row that sees no
// key gives zeros.
type Mask struct {
	rules  [maxRules]rule
	n      int
	bools  [maxBools]boolView
	nBools int
	sparse blockSparse
	err    *ArgumentError // of a constructor or And, reported by the call
}

// What a Mask may hold is bounded, so that it is a plain value.
const (
	maxRules = 6
	maxBools = 2
)

// And returns the mask that hides what m or n hides. It holds at most 6 masks made of
// spans, 2 of [Visible] and [Hidden], and one [BlockSparse]; more of
// them is an error of the call.
func (m Mask) And(n Mask) Mask {
	if m.err == nil {
		m.err = n.err
	}
	for _, r := range n.rules[:n.n] {
		if m.n == maxRules {
			return m.tooMany(maxRules, "masks made of spans")
		}
		m.rules[m.n] = r
		m.n++
	}
	for _, v := range n.bools[:n.nBools] {
		if m.nBools == maxBools {
			return m.tooMany(maxBools, "bool masks")
		}
		m.bools[m.nBools] = v
		m.nBools++
	}
	if n.sparse.set {
		if m.sparse.set {
			return m.tooMany(1, "block-sparse masks")
		}
		m.sparse = n.sparse
	}
	return m
}

func (m Mask) tooMany(limit int, what string) Mask {
	m.err = &ArgumentError{"Options.Mask", fmt.Sprintf("an intersection of more than %d %s", limit, what), "fewer"}
	return m
}

func single(r rule) Mask {
	m := Mask{n: 1}
	m.rules[0] = r
	return m
}

// isSet tells whether m may hide a key.
func (m *Mask) isSet() bool { return m.n > 0 || m.nBools > 0 || m.sparse.set }

// span returns the keys that a query may see under all rules, within
// [0, at.keys); an empty span is {0, 0}.
func (m *Mask) span(at place) span {
	s := span{0, at.keys}
	for x := range m.rules[:m.n] {
		r := m.rules[x].span(at)
		s.lo, s.hi = max(s.lo, r.lo), min(s.hi, r.hi)
	}
	for x := range m.bools[:m.nBools] {
		s.hi = min(s.hi, m.bools[x].shape[3])
	}
	if s.lo >= s.hi {
		return span{}
	}
	return s
}

// length returns how many keys of batch row b there are at all, of keys.
func (m *Mask) length(b, keys int) int {
	for x := range m.rules[:m.n] {
		if r := &m.rules[x]; r.kind == ruleKeyLengths {
			keys = min(keys, r.ints[b])
		}
	}
	return keys
}

// hasLengths tells whether batch rows may have different numbers of keys.
func (m *Mask) hasLengths() bool {
	return slices.ContainsFunc(m.rules[:m.n], func(r rule) bool { return r.kind == ruleKeyLengths })
}

// window returns the most keys that a query sees under the sliding windows of m, all ints
// without one.
func (m *Mask) window() int {
	n := math.MaxInt32
	left, right := -1, -1
	for x := range m.rules[:m.n] {
		switch r := &m.rules[x]; r.kind {
		case ruleWindow:
			left, right = narrower(left, r.left), narrower(right, r.right)
		case ruleCausal:
			right = narrower(right, max(0, r.right))
		}
	}
	if left >= 0 && right >= 0 {
		n = addClamp(addClamp(left, right), 1)
	}
	return n
}

// narrower returns the lesser of two sides of a window, of which -1 has no end.
func narrower(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// perRow tells whether the queries of a batch row see different spans.
func (m *Mask) perRow() bool {
	for x := range m.rules[:m.n] {
		if m.rules[x].kind != ruleKeyLengths {
			return true
		}
	}
	return m.sparse.set
}

// check reports a mask that does not fit the call, and completes those that depend on its
// shape.
func (m *Mask) check(c *callShape) error {
	if m.err != nil {
		return m.err
	}
	for x := range m.rules[:m.n] {
		if err := m.rules[x].check(c); err != nil {
			return err
		}
	}
	for x := range m.bools[:m.nBools] {
		if err := m.bools[x].check(c); err != nil {
			return err
		}
	}
	return m.sparse.check(c)
}

// callShape is what masks and per-row options must fit.
type callShape struct{ batch, heads, queries, keys int }
