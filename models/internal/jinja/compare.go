package jinja

import (
	"cmp"
	"strings"
)

// equal returns whether values are equal.
func (r *runner) equal(a, b value) bool {
	r.work(nodeCost)
	if x, ok := whole(a); ok {
		if y, ok := whole(b); ok {
			return x == y
		}
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case Str:
		y, ok := b.(Str)
		if !ok || len(x.text) != len(y.text) {
			return false
		}
		r.read(x)
		return x.text == y.text
	case *List:
		y, ok := b.(*List)
		return ok && x.tuple == y.tuple && r.equalItems(x.items, y.items)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && r.equalDicts(x, y)
	}
	return false
}

func (r *runner) equalItems(a, b []value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !r.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (r *runner) equalDicts(a, b *Dict) bool {
	if len(a.entries) != len(b.entries) {
		return false
	}
	for _, e := range a.entries {
		r.work(callCost)
		r.read(e.key)
		v, ok := b.get(e.key)
		if !ok || !r.equal(e.value, v) {
			return false
		}
	}
	return true
}

// compare returns the order of two numbers, strings or lists, and whether they have one.
func (r *runner) compare(a, b value) (order int, ok bool) {
	r.work(nodeCost)
	if x, ok := whole(a); ok {
		if y, ok := whole(b); ok {
			return cmp.Compare(x, y), true
		}
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return cmp.Compare(x, y), ok && x == x && y == y
	}
	switch x := a.(type) {
	case Str:
		y, ok := b.(Str)
		r.work(min(len(x.text), len(y.text)))
		return strings.Compare(x.text, y.text), ok
	case *List:
		y, ok := b.(*List)
		if !ok || x.tuple != y.tuple {
			return 0, false
		}
		for i := range min(len(x.items), len(y.items)) {
			if !r.equal(x.items[i], y.items[i]) {
				return r.compare(x.items[i], y.items[i])
			}
		}
		return cmp.Compare(len(x.items), len(y.items)), true
	}
	return 0, false
}

// contains returns whether a value is in another.
func (r *runner) contains(in, v value) bool {
	switch in := in.(type) {
	case undefined:
		return false
	case Str:
		s, ok := v.(Str)
		if !ok {
			r.fail("%s in a string", typeName(v))
		}
		r.search(in.text, s.text)
		return strings.Contains(in.text, s.text)
	case *Dict:
		_, ok := in.get(v)
		return ok
	case *List:
		for _, item := range in.items {
			if r.equal(item, v) {
				return true
			}
		}
		return false
	}
	r.fail("in %s", typeName(in))
	return false
}
