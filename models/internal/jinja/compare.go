package jinja

import (
	"cmp"
	"strings"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// equal returns whether values are equal.
func (r *runner) equal(a, b value) bool {
	r.work(nodeCost)
	if is[longInt](a) && is[float64](b) || is[float64](a) && is[longInt](b) {
		r.fail("comparing %s with %s", typeName(a), typeName(b))
	}
	if _, ok := number(a); ok {
		if _, ok := number(b); !ok {
			return false
		}
		order, ok := compareNumbers(a, b)
		return ok && order == 0
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
		return ok && x.kind == y.kind && (x.kind != values || x == y) && r.equalItems(x.items, y.items)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && r.equalDicts(x, y)
	}
	return identical(a, b)
}

// identical tells whether values are the same one, of kinds that nothing else compares.
func identical(a, b value) bool {
	switch a.(type) {
	case longInt, *space, *stream, *position, *cycler:
		return a == b
	}
	return false
}

// compareNumbers returns the order of two numbers, and whether they have one.
func compareNumbers(a, b value) (order int, ok bool) {
	x, y := value(nil), value(nil)
	if n, ok := whole(a); ok {
		x = n
	} else {
		x = a
	}
	if n, ok := whole(b); ok {
		y = n
	} else {
		y = b
	}
	switch x := x.(type) {
	case int64:
		switch y := y.(type) {
		case int64:
			return cmp.Compare(x, y), true
		case float64:
			return python.Compare(x, y), y == y
		}
	case float64:
		switch y := y.(type) {
		case int64:
			return -python.Compare(y, x), x == x
		case float64:
			return cmp.Compare(x, y), x == x && y == y
		}
	}
	return 0, false
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
	if order, ok := compareNumbers(a, b); ok {
		return order, true
	}
	switch x := a.(type) {
	case Str:
		y, ok := b.(Str)
		r.work(min(len(x.text), len(y.text)))
		return strings.Compare(x.text, y.text), ok
	case *List:
		y, ok := b.(*List)
		if !ok || x.kind != y.kind || x.kind > tuple {
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
		return r.isKey(in, v)
	case *List:
		if in.kind == keys && !isObject(v) {
			r.key(v)
		}
		for _, item := range in.items {
			if r.equal(item, v) {
				return true
			}
		}
		return false
	case *stream:
		for item, ok := in.next(); ok; item, ok = in.next() {
			if r.equal(item, v) {
				return true
			}
		}
		return false
	}
	r.fail("in %s", typeName(in))
	return false
}
