// Package mask computes which keys a query sees.
//
// A [Mask] is what the caller asks for: an intersection of span rules, unions of them, bool
// views and at most one block-sparse bitmap. Check compares it with the shape of a call.
// Resolve makes a copy of it ready for this shape, and the engine asks that.
//
// The public type kernel.Mask is defined as a [Mask], which therefore has no
// exported field.
package mask

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
)

// A Mask holds a bounded number of parts, so that it is a plain value.
const (
	MaxRules = 6
	MaxBools = 2
)

// Mask is an intersection of masks. The zero Mask hides nothing.
type Mask struct {
	rules     [MaxRules]Rule
	bools     [MaxBools]BoolView
	sparse    BlockSparse
	n, nBools uint8
	joined    uint8          // bit x: rule x is in a union with the rule before it
	failure   *check.Failure // of a constructor or And, reported by Check

	// Of a mask that is resolved:
	perRow  bool
	hasGaps bool // a query may see keys, not see some after them, and see some after those
	lq, lk  int
}

// OfRule returns the mask of one rule. The call that uses it reports a failure.
func OfRule(r Rule, failure *check.Failure) Mask {
	m := Mask{n: 1, failure: failure}
	m.rules[0] = r
	return m
}

// OfBools returns the mask of one bool view.
func OfBools(v BoolView) Mask {
	m := Mask{nBools: 1}
	m.bools[0] = v
	return m
}

// OfBlocks returns the mask of one bitmap of blocks.
func OfBlocks(s BlockSparse) Mask {
	s.set = true
	return Mask{sparse: s}
}

// And returns the mask that hides what m or n hides. Too many parts are a failure.
func (m Mask) And(n *Mask) Mask {
	if m.failure == nil {
		m.failure = n.failure
	}
	for x := 0; x < int(n.n); x = n.endOfUnion(x) {
		if !m.add(n.rules[x:n.endOfUnion(x)]) {
			return m.tooMany(MaxRules, "masks made of spans")
		}
	}
	for _, v := range n.bools[:n.nBools] {
		if m.nBools == MaxBools {
			return m.tooMany(MaxBools, "bool masks")
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
	m.failure = &check.Failure{Where: Arg, Got: fmt.Sprintf("an intersection of more than %d %s", limit, what), Want: "fewer"}
	return m
}

// IsSet tells whether the mask may hide a key.
func (m *Mask) IsSet() bool { return m.n > 0 || m.nBools > 0 || m.sparse.set }

// IsZero tells whether the mask hides nothing and has not failed.
func (m *Mask) IsZero() bool { return !m.IsSet() && m.failure == nil }

// Arg is the argument that failures of masks name.
const Arg = "Options.Mask"

// Check reports a mask that does not fit scores of shape c.
func (m *Mask) Check(c *view.Scores) *check.Failure {
	if m.failure != nil {
		return m.failure
	}
	for x := range m.rules[:m.n] {
		if r := &m.rules[x]; r.Kind.Check != nil {
			if f := r.Kind.Check(*r, *c); f != nil {
				return f
			}
		}
	}
	for x := range m.bools[:m.nBools] {
		if f := m.bools[x].check(c); f != nil {
			return f
		}
	}
	return m.sparse.check(c)
}

// A BoolView is a strided view [B, H, Lq, Lk] of bools. If it is shorter than the keys of
// a call, the keys after it are hidden, or, if it is of the last keys, those before it visible.
type BoolView struct {
	Data   []bool
	Grid   view.Grid
	Hidden bool // true hides
	Last   bool // it is of the last keys of each batch row
	Exact  bool // there must be exactly one bool for each key, or the view does not fit
}

// First returns the key of the first bool, of the keys that batch row b of length has under mask m.
// It is negative if there are fewer keys than bools.
func (v *BoolView) First(m *Mask, b, length int) int {
	if !v.Last {
		return 0
	}
	return m.Length(b, length) - v.Grid.Shape[3]
}

// check reports a view that does not fit scores of shape c.
func (v *BoolView) check(c *view.Scores) *check.Failure {
	if v.Exact {
		if f := v.checkExact(c); f != nil {
			return f
		}
	}
	_, f := v.Grid.Broadcast(Arg, len(v.Data), c)
	return f
}

// checkExact reports a contiguous view that does not hold one bool for each key in each
// of its rows. It leaves a wrong number of rows to Broadcast.
func (v *BoolView) checkExact(c *view.Scores) *check.Failure {
	shape := v.Grid.Shape
	rows := 1
	for i, n := range [...]int{c.Batch, c.Heads, c.Queries} {
		if shape[i] != 1 && shape[i] != n {
			return nil
		}
		rows = ints.MulSat(rows, shape[i])
	}
	switch want := ints.MulSat(rows, c.Keys); {
	case len(v.Data) != want:
		return &check.Failure{Where: Arg, Got: fmt.Sprintf("%d elements for the shape [%d %d %d Lk]", len(v.Data), shape[0], shape[1], shape[2]),
			Want: fmt.Sprintf("%d: the call has Lk = %d keys", want, c.Keys)}
	case rows > 0 && shape[3] != c.Keys:
		return &check.Failure{Where: Arg, Got: fmt.Sprintf("the shape %v", shape), Want: fmt.Sprintf("Lk = %d, the number of keys", c.Keys)}
	}
	return nil
}
