package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// value is nil (none), bool, int64, float64, Str, *List, *Dict, undefined, *space, *position
// or callable.
type value any

// undefined is the value of a name that there is not.
type undefined struct{ name string }

// List is a list or a tuple. It does not change.
type List struct {
	items []value
	tuple bool
	depth int // of values within each other, from 1 on
}

// space is what namespace() returns: the only value that changes. Nothing recurses into it.
type space struct{ values map[string]value }

// NewList returns a list of values, of the types that Render takes.
func NewList(items ...any) *List {
	values := make([]value, len(items))
	for i, v := range items {
		values[i] = v
	}
	return newList(values, false)
}

func newList(items []value, tuple bool) *List {
	depth := 0
	for _, v := range items {
		depth = max(depth, depthOf(v))
	}
	return &List{items, tuple, depth + 1}
}

// list returns a list of items, for whose slots it charges.
func (r *runner) list(items []value) *List { return r.sequence(items, false) }

// sequence returns a list or a tuple.
func (r *runner) sequence(items []value, tuple bool) *List {
	r.memory(boxSize + slotSize*len(items))
	l := newList(items, tuple)
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
