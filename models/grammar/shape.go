package grammar

import (
	"maps"
	"slices"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// A kind is what the first byte of a value says of it.
type kind uint8

const (
	isNull kind = iota
	isTrue
	isFalse
	isNumber
	isString
	isArray
	isObject
)

// typeKinds are the kinds of a type.
var typeKinds = map[string][]kind{
	"null": {isNull}, "boolean": {isTrue, isFalse}, "integer": {isNumber}, "number": {isNumber}, "string": {isString}, "array": {isArray}, "object": {isObject},
}

// A shape is values of one kind that satisfy all it says. A set of values is several of
// them.
type shape struct {
	kind        kind
	least, most int            // characters, items or members; most is negative without a limit
	numbers     numbers        // of isNumber
	texts       *regular.Texts // of isString; nil for all

	prefix []*domain // of isArray
	rest   *domain   // of the items after them; nil for all
	unique bool
	counts []counted

	every    []keyRule       // of isObject: which values keys of a set may have
	some     []keyRule       // there is such a member
	required map[string]bool // keys

	// What keywords beside unevaluatedProperties and unevaluatedItems have looked at.
	seenKeys  keySet
	seenItems int       // from the first one; negative for all
	seenBy    []*domain // contains

	plan *plan
}

// counted says how many items are of a set; no is all others, nil without a limit.
type counted struct {
	yes, no     *domain
	least, most int
	from        int // the first item that counts
}

// A keySet is a set of keys of objects.
type keySet struct {
	all   bool
	names map[string]bool
	in    []*regular.Texts
}

// has tells whether a key is in the set.
func (k *keySet) has(name string) bool {
	return k.all || k.names[name] || slices.ContainsFunc(k.in, func(d *regular.Texts) bool { return d.Has(name) })
}

// and returns the keys of either.
func (k keySet) or(other keySet) keySet {
	sum := keySet{all: k.all || other.all, names: k.names, in: slices.Concat(k.in, other.in)}
	if len(other.names) > 0 {
		sum.names = maps.Clone(other.names)
		maps.Copy(sum.names, k.names)
	}
	return sum
}

// A keyRule is about keys of a set, or about all others, and their values.
type keyRule struct {
	of    keySet
	but   bool
	value *domain
}

// applies tells whether it is about a key.
func (r *keyRule) applies(name string) bool { return r.of.has(name) != r.but }

// free is all values of a kind.
func free(k kind) *shape { return &shape{kind: k, most: -1} }

// others returns all values of other kinds.
func others(kinds ...kind) (list []*shape) {
	for k := isNull; k <= isObject; k++ {
		if !slices.Contains(kinds, k) {
			list = append(list, free(k))
		}
	}
	return list
}

// meet returns the values of two shapes, nil if it is clear that there are none.
func (c *compiler) meet(a, b *shape) *shape {
	if a.kind != b.kind {
		return nil
	}
	s := *a
	s.plan = nil
	s.least = max(a.least, b.least)
	if s.most = a.most; s.most < 0 || b.most >= 0 && b.most < s.most {
		s.most = b.most
	}
	if s.most >= 0 && s.most < s.least {
		return nil
	}
	switch s.kind {
	case isNumber:
		if s.numbers = a.numbers.and(b.numbers); s.numbers.only != nil && len(s.numbers.only) == 0 {
			return nil
		}
	case isString:
		if s.texts = c.meetTexts(a.texts, b.texts); s.texts != nil && s.texts.Empty() {
			return nil
		}
	case isArray:
		c.meetArrays(&s, b)
	case isObject:
		s.every, s.some = slices.Concat(a.every, b.every), slices.Concat(a.some, b.some)
		s.seenKeys = a.seenKeys.or(b.seenKeys)
		if len(b.required) > 0 {
			s.required = maps.Clone(b.required)
			maps.Copy(s.required, a.required)
		}
	}
	return &s
}

// meetTexts keeps what it has computed.
func (c *compiler) meetTexts(a, b *regular.Texts) *regular.Texts {
	if a == nil || b == nil || a == b {
		return a.And(b)
	}
	key := [2]*regular.Texts{a, b}
	d, ok := c.met[key]
	if !ok {
		d = c.charge(a.And(b))
		c.met[key] = d
	}
	return d
}

func (c *compiler) meetArrays(s, b *shape) {
	a := *s
	s.prefix = nil
	for i := range max(len(a.prefix), len(b.prefix)) {
		s.prefix = append(s.prefix, c.and(a.item(i), b.item(i)))
	}
	s.rest = c.and(a.rest, b.rest)
	s.unique = a.unique || b.unique
	s.counts = slices.Concat(a.counts, b.counts)
	s.seenBy = slices.Concat(a.seenBy, b.seenBy)
	if s.seenItems = max(a.seenItems, b.seenItems); a.seenItems < 0 || b.seenItems < 0 {
		s.seenItems = -1
	}
}

// item returns what an item is, nil for any value.
func (s *shape) item(i int) *domain {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.rest
}

// strings returns the texts of a string, nil if more than their length is not known.
func (s *shape) strings() *regular.Texts {
	if s.texts == nil || s.least == 0 && s.most < 0 {
		return s.texts
	}
	return s.texts.And(regular.Lengths(s.least, s.most))
}

// mostShapes is the most shapes of one set of values.
const mostShapes = 1 << 9

// product returns the values of two sets.
func (c *compiler) product(a, b []*shape) (list []*shape) {
	for _, x := range a {
		for _, y := range b {
			if s := c.meet(x, y); s != nil {
				if list = append(list, s); len(list) > mostShapes {
					panic(limitError("alternatives of one schema", mostShapes))
				}
			}
		}
	}
	return list
}
