package jinja

import "fmt"

// value is nil (none), bool, int64, longInt, float64, Str, *List, *Dict, undefined, *stream,
// *space, *position, *cycler or callable.
type value any

// longInt is an integer of more than 64 bits, of JSON, as it is written. It can be written again,
// and nothing computes with it.
type longInt string

// undefined is the value of a name that there is not.
type undefined struct{ name string }

// kinds of List
type listKind uint8

const (
	list   listKind = iota
	tuple           // immutable in Python, and a key of mappings
	span            // what range returns
	keys            // the views of a mapping
	values          //
	pairs           //
)

// List is a list, or what else has items in order. It does not change.
type List struct {
	items  []value
	kind   listKind
	depth  int      // of values within each other, from 1 on
	label  string   // how a span is written
	fields []string // names of a tuple's items, if they have any
}

// space is what namespace() returns: the only value that changes, beside those that count. Nothing
// recurses into it.
type space struct {
	names  []string // in the order in which they were set
	values map[string]value
}

// stream is what Python calls a generator or an iterator: its items are made when they are asked
// for, once.
type stream struct{ next func() (value, bool) }

// NewList returns a list of values, of the types that Render takes.
func NewList(items ...any) *List {
	values := make([]value, len(items))
	for i, v := range items {
		values[i] = v
	}
	return newList(values, list)
}

func newList(items []value, kind listKind) *List {
	depth := 0
	for _, v := range items {
		depth = max(depth, depthOf(v))
	}
	return &List{items: items, kind: kind, depth: depth + 1}
}

// list returns a list of items, for whose slots it charges.
func (r *runner) list(items []value) *List { return r.sequence(items, list) }

// sequence returns a list of a kind.
func (r *runner) sequence(items []value, kind listKind) *List {
	r.memory(boxSize + slotSize*len(items))
	l := newList(items, kind)
	r.nested(l.depth)
	return l
}

// depthOf returns how deep values lie within a value.
func depthOf(v value) int {
	switch v := v.(type) {
	case *List:
		return v.depth
	case *Dict:
		return v.depth
	}
	return 0
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
		return v.text != ""
	case *List:
		return len(v.items) > 0
	case *Dict:
		return len(v.entries) > 0
	}
	if n, ok := number(v); ok {
		return n != 0
	}
	return true
}

// kindNames are for messages of errors.
var kindNames = [...]string{list: "a list", tuple: "a tuple", span: "a range", keys: "the keys of a mapping", values: "the values of a mapping", pairs: "the items of a mapping"}

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
	case longInt:
		return "an integer of more than 64 bits"
	case float64:
		return "a float"
	case Str:
		return "a string"
	case *List:
		return kindNames[v.kind]
	case *Dict:
		return "a mapping"
	case *space:
		return "a namespace"
	case *stream:
		return "a generator"
	case *position:
		return "the variable loop"
	case *cycler:
		return "a cycler"
	}
	return "a function"
}
