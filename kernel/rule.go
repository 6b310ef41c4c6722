package kernel

import (
	"fmt"
	"slices"
	"sort"
)

// A rule lets every query see one span of keys. All masks that cost nothing
// are intersections of rules: to add one, add a kind, a case in rule.span and a
// constructor.
type rule struct {
	kind        ruleKind
	left, right int   // causal: right; window: both; segments: ids per batch row
	ints        []int // lengths or prefixes
	query, key  []int32
}

type ruleKind uint8

const (
	ruleCausal ruleKind = iota
	ruleWindow
	rulePrefix
	ruleKeyLengths
	ruleQueryLengths
	ruleSegments
)

// A place is where a query stands: its batch row, its number, how many keys
// there are, the position of the first, and the number of the key, if there is
// one, that has the query's position.
type place struct{ batch, query, keys, keyStart, diagonal int }

// Causal lets a query see the keys up to its own position and offset more.
// Without positions that is j ≤ offset + i: with offset 0 the diagonal starts
// top left, as for a prompt on its own; with a cache that already held past keys when the
// queries' keys were appended, offset is past (the diagonal ends bottom right).
// Options.QueryStart says the same for every batch row by itself. Any offset is
// valid, also a negative one.
func Causal(offset int) Mask {
	return single(rule{kind: ruleCausal, right: offset})
}

// Window lets a query see the keys from left before its position to right
// after it, p-left ≤ j ≤ p+right; -1 is no limit. Window(255, 0) is a causal
// sliding window of 256 keys. (FlashAttention and ONNX count windows this way.)
func Window(left, right int) Mask {
	m := single(rule{kind: ruleWindow, left: left, right: right})
	if left < -1 || right < -1 {
		m.err = &ArgumentError{"Options.Mask", fmt.Sprintf("a window of %d keys left and %d right", left, right), "0 or more, or -1 for no limit"}
	}
	return m
}

// PrefixLM lets a query see the keys up to its own position and all keys at
// positions below prefix[b], which the whole batch row b sees. There is one
// prefix ≥ 0 for all batch rows or one for each. The slice is not copied.
func PrefixLM(prefix []int) Mask {
	return single(rule{kind: rulePrefix, ints: prefix})
}

// KeyLengths lets the queries of batch row b see the first lengths[b] keys;
// memory past them is never read. There must be one length from 0 to Lk per
// batch row. The slice is not copied: it must not change during the call.
func KeyLengths(lengths []int) Mask {
	return single(rule{kind: ruleKeyLengths, ints: lengths})
}

// QueryLengths makes the queries of batch row b from lengths[b] on see nothing:
// their rows are zeros. There must be one length from 0 to Lq per batch row. The
// slice is not copied.
func QueryLengths(lengths []int) Mask {
	return single(rule{kind: ruleQueryLengths, ints: lengths})
}

// Segments lets a query see the keys that have its id: documents packed into one
// sequence do not see each other. query is [B, Lq], key [B, Lk]. The ids of the keys
// of a batch row must not decrease (documents lie one after another); for any
// other pattern there is [Visible]. The slices are not copied.
func Segments(query, key []int32) Mask {
	return single(rule{kind: ruleSegments, query: query, key: key})
}

// span returns the keys that the rule lets a query see, not clipped to those
// that exist.
func (r *rule) span(at place) span {
	switch p := at.diagonal; r.kind {
	case ruleCausal:
		return span{0, addClamp(p+1, r.right)}
	case ruleWindow:
		s := span{0, at.keys}
		if r.left >= 0 {
			s.lo = addClamp(p, -r.left)
		}
		if r.right >= 0 {
			s.hi = addClamp(p+1, r.right)
		}
		return s
	case rulePrefix:
		return span{0, max(p+1, each(r.ints, at.batch)-at.keyStart)}
	case ruleKeyLengths:
		return span{0, r.ints[at.batch]}
	case ruleQueryLengths:
		if at.query >= r.ints[at.batch] {
			return span{}
		}
		return span{0, at.keys}
	case ruleSegments:
		id := r.query[at.batch*r.left+at.query]
		ids := r.key[at.batch*r.right:][:at.keys]
		lo := sort.Search(len(ids), func(j int) bool { return ids[j] >= id })
		n := sort.Search(len(ids)-lo, func(j int) bool { return ids[lo+j] > id })
		return span{lo, lo + n}
	}
	panic("attn: unknown mask rule")
}

// check reports a rule that does not fit the call.
func (r *rule) check(c *callShape) error {
	switch r.kind {
	case rulePrefix:
		if len(r.ints) == 0 && c.batch > 0 {
			return &ArgumentError{"Options.Mask", "no prefix", fmt.Sprintf("one for all batch rows or one for each: %d", c.batch)}
		}
		return checkPerBatch("Options.Mask", "prefix", r.ints, c.batch, 0, maxPosition)
	case ruleKeyLengths:
		return r.checkLengths("key", c.batch, c.keys)
	case ruleQueryLengths:
		return r.checkLengths("query", c.batch, c.queries)
	case ruleSegments:
		return r.checkSegments(c)
	}
	return nil
}

func (r *rule) checkLengths(what string, batch, most int) error {
	if len(r.ints) != batch {
		return &ArgumentError{"Options.Mask", fmt.Sprintf("%d %s lengths", len(r.ints), what), fmt.Sprintf("one per batch row: %d", batch)}
	}
	for b, n := range r.ints {
		if n < 0 || n > most {
			return &ArgumentError{"Options.Mask", fmt.Sprintf("%s length %d of batch row %d", what, n, b), fmt.Sprintf("0 to %d", most)}
		}
	}
	return nil
}

func (r *rule) checkSegments(c *callShape) error {
	for _, ids := range [...]struct {
		what   string
		ids    []int32
		length int
	}{{"query", r.query, c.queries}, {"key", r.key, c.keys}} {
		if want := mulSat(c.batch, ids.length); len(ids.ids) != want {
			return &ArgumentError{"Options.Mask", fmt.Sprintf("%d %s ids", len(ids.ids), ids.what), fmt.Sprintf("%d batch rows of %d: %d", c.batch, ids.length, want)}
		}
	}
	for b := range c.batch {
		if ids := r.key[b*c.keys:][:c.keys]; !slices.IsSorted(ids) {
			return &ArgumentError{"Options.Mask", fmt.Sprintf("key ids of batch row %d that decrease", b), "ids that do not decrease within a batch row, or a Visible mask"}
		}
	}
	r.left, r.right = c.queries, c.keys
	return nil
}
