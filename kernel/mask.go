package kernel

import "fmt"

// Mask tells which keys a query may see. It is a value: build it once or per
// call, nothing is allocated. The zero Mask hides nothing. Masks are
// intersected with And.
//
// A hidden key or value never matters, even if it is NaN or Inf, and keys
// outside every row's span are not read at all. A row that sees no key gives
// zeros.
type Mask struct {
	rules [maxRules]rule
	n     int
	err   *ArgumentError // of a constructor or And, reported by the call
}

// maxRules bounds the rules of one Mask, so that a Mask is a plain value.
const maxRules = 6

// A rule lets every query row see one span of keys. All masks that the fused
// path knows are intersections of rules: to add one, add a kind, a case in
// rule.span and a constructor.
type rule struct {
	kind    ruleKind
	offset  int
	lengths []int
}

type ruleKind uint8

const (
	ruleCausal ruleKind = iota
	ruleKeyLengths
)

// Causal lets query i of every batch row see the keys j ≤ offset + i. With
// offset 0 the diagonal starts top left, as for a prompt on its own; with a
// cache that already held past keys when the queries' keys were appended,
// offset is past (the diagonal ends bottom right). Any offset is valid, also a
// negative one.
func Causal(offset int) Mask {
	return single(rule{kind: ruleCausal, offset: offset})
}

// KeyLengths lets the queries of batch row b see the first lengths[b] keys;
// memory past them is never read. There must be one length from 0 to L per
// batch row. The slice is not copied: it must not change during the call.
func KeyLengths(lengths []int) Mask {
	return single(rule{kind: ruleKeyLengths, lengths: lengths})
}

// And returns the mask that hides what m or n hides.
func (m Mask) And(n Mask) Mask {
	if m.err == nil {
		m.err = n.err
	}
	for _, r := range n.rules[:n.n] {
		if m.n == maxRules {
			m.err = &ArgumentError{"Options.Mask", fmt.Sprintf("an intersection of more than %d masks", maxRules), "fewer"}
			break
		}
		m.rules[m.n] = r
		m.n++
	}
	return m
}

func single(r rule) Mask {
	m := Mask{n: 1}
	m.rules[0] = r
	return m
}

// span returns what query i of batch row b sees of keys keys.
func (r *rule) span(b, i, keys int) span {
	switch r.kind {
	case ruleCausal:
		// i ≥ 0, so only a huge positive offset can overflow: it sees all.
		if r.offset >= keys {
			return span{0, keys}
		}
		return span{0, r.offset + i + 1}
	case ruleKeyLengths:
		return span{0, r.lengths[b]}
	}
	panic("attn: unknown mask rule")
}

// perRow tells whether the spans differ between the queries of a batch row.
func (r *rule) perRow() bool { return r.kind == ruleCausal }

// check reports a rule that does not fit the batch.
func (r *rule) check(batch, keys int) error {
	if r.kind != ruleKeyLengths {
		return nil
	}
	if len(r.lengths) != batch {
		return &ArgumentError{"Options.Mask", fmt.Sprintf("%d key lengths", len(r.lengths)), fmt.Sprintf("one per batch row: %d", batch)}
	}
	for b, n := range r.lengths {
		if n < 0 || n > keys {
			return &ArgumentError{"Options.Mask", fmt.Sprintf("key length %d of batch row %d", n, b), fmt.Sprintf("0 to %d", keys)}
		}
	}
	return nil
}

// span returns what query i of batch row b sees under all rules, within
// [0, keys); an empty span is {0, 0}.
func (m *Mask) span(b, i, keys int) span {
	s := span{0, keys}
	for x := range m.rules[:m.n] {
		r := m.rules[x].span(b, i, keys)
		s.lo, s.hi = max(s.lo, r.lo), min(s.hi, r.hi)
	}
	if s.lo >= s.hi {
		return span{}
	}
	return s
}

// perRow tells whether the queries of a batch row see different spans.
func (m *Mask) perRow() bool {
	for x := range m.rules[:m.n] {
		if m.rules[x].perRow() {
			return true
		}
	}
	return false
}

func (m *Mask) check(batch, keys int) error {
	if m.err != nil {
		return m.err
	}
	for x := range m.rules[:m.n] {
		if err := m.rules[x].check(batch, keys); err != nil {
			return err
		}
	}
	return nil
}
