package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// value is nil (none), bool, int64, float64, Str, *List, *Dict, undefined, *space, callable or
// *macro.
type value any

// undefined is the value of a name that there is not.
type undefined struct{ name string }

// List is a list or a tuple. It does not change.
type List struct {
	items []value
	tuple bool
}

// Dict is a mapping in the order of its keys' insertion. It does not change.
type Dict struct {
	keys   []string
	names  []value // the keys as they were given
	values map[string]value
}

// space is what namespace() returns: the only value that changes.
type space struct{ values map[string]value }

// callable is a function that is called with its arguments.
type callable func(r *runner, a args) value

// NewList returns a list of values as Value returns them.
func NewList(items ...any) *List {
	l := &List{}
	for _, v := range items {
		l.items = append(l.items, v)
	}
	return l
}

// NewDict returns a dict without entries.
func NewDict() *Dict { return &Dict{values: map[string]value{}} }

// Set adds an entry whose key comes from the template's caller.
func (d *Dict) Set(key string, v any) { d.set(Inside(key), v) }

func (d *Dict) set(name value, v value) {
	key := keyOf(name)
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
		d.names = append(d.names, name)
	}
	d.values[key] = v
}

// keyOf returns what tells keys apart: 1 and 1.0 and true are the same, "1" is another.
func keyOf(v value) string {
	if n, ok := number(v); ok {
		return "n" + strconv.FormatFloat(n, 'g', -1, 64)
	}
	if s, ok := v.(Str); ok {
		return "s" + s.String()
	}
	return fmt.Sprintf("%T", v)
}

func (d *Dict) get(name value) (value, bool) {
	v, ok := d.values[keyOf(name)]
	return v, ok
}

// number returns the number that v is, if any. True is 1.
func number(v value) (float64, bool) {
	if n, ok := whole(v); ok {
		return float64(n), true
	}
	x, ok := v.(float64)
	return x, ok
}

// whole returns the integer that v is, if any. True is 1.
func whole(v value) (int64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return v, true
	}
	return 0, false
}

func truth(v value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case Str:
		return len(v) > 0
	case *List:
		return len(v.items) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	if n, ok := number(v); ok {
		return n != 0
	}
	return true
}

// equal returns whether values are equal. depth is how deep in others they lie.
func (r *runner) equal(a, b value, depth int) bool {
	r.deep(depth)
	r.spend(1)
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
		r.spend(x.len())
		return ok && x.String() == y.String()
	case *List:
		y, ok := b.(*List)
		return ok && x.tuple == y.tuple && r.equalItems(x.items, y.items, depth+1)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && r.equalDicts(x, y, depth+1)
	}
	return false
}

func (r *runner) equalItems(a, b []value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !r.equal(a[i], b[i], depth) {
			return false
		}
	}
	return true
}

func (r *runner) equalDicts(a, b *Dict, depth int) bool {
	if len(a.keys) != len(b.keys) {
		return false
	}
	for _, k := range a.keys {
		v, ok := b.values[k]
		if !ok || !r.equal(a.values[k], v, depth) {
			return false
		}
	}
	return true
}

// compare returns the order of two numbers, strings or lists, and whether they have one.
func (r *runner) compare(a, b value, depth int) (order int, ok bool) {
	r.deep(depth)
	r.spend(1)
	if x, ok := whole(a); ok {
		if y, ok := whole(b); ok {
			return cmpOrder(x, y), true
		}
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return cmpOrder(x, y), ok && x == x && y == y
	}
	switch x := a.(type) {
	case Str:
		y, ok := b.(Str)
		return strings.Compare(x.String(), y.String()), ok
	case *List:
		y, ok := b.(*List)
		if !ok || x.tuple != y.tuple {
			return 0, false
		}
		for i := range min(len(x.items), len(y.items)) {
			if !r.equal(x.items[i], y.items[i], depth+1) {
				return r.compare(x.items[i], y.items[i], depth+1)
			}
		}
		return cmpOrder(len(x.items), len(y.items)), true
	}
	return 0, false
}

func cmpOrder[T int | int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// typeName is for messages of errors.
func typeName(v value) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case undefined:
		return fmt.Sprintf("%s, which is not defined", v.name)
	case bool:
		return "a bool"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case Str:
		return "a string"
	case *List:
		return "a list"
	case *Dict:
		return "a mapping"
	case *space:
		return "a namespace"
	}
	return "a function"
}

// formatFloat writes a float as Python does.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f != f:
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
