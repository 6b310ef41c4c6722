package jinja

import (
	"fmt"
	"iter"
	"math"
	"strings"
)

// Dict is a mapping in the order of its keys' insertion. It does not change once the template has
// it.
type Dict struct {
	entries []entry
	places  map[dictKey]int // in entries
	depth   int             // of values within each other, from 1 on
}

type entry struct{ key, value value }

// NewDict returns a dict without entries.
func NewDict() *Dict { return &Dict{places: map[dictKey]int{}, depth: 1} }

// Set adds an entry whose key comes from the template's caller.
func (d *Dict) Set(key string, v any) { d.set(Inside(key), v) }

// All returns the entries whose keys are strings.
func (d *Dict) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, e := range d.entries {
			if s, ok := e.key.(Str); ok && !yield(s.text, e.value) {
				return
			}
		}
	}
}

func (d *Dict) set(key, v value) {
	d.depth = max(d.depth, depthOf(v)+1)
	k := keyOf(key)
	if at, ok := d.places[k]; ok {
		d.entries[at].value = v
		return
	}
	d.places[k] = len(d.entries)
	d.entries = append(d.entries, entry{key, v})
}

func (d *Dict) get(key value) (value, bool) {
	at, ok := d.places[keyOf(key)]
	if !ok {
		return nil, false
	}
	return d.entries[at].value, true
}

// isKey tells whether a dict has a key.
func (r *runner) isKey(d *Dict, key value) bool {
	if isObject(key) {
		return false
	}
	_, ok := d.get(r.key(key))
	return ok
}

// isObject tells whether Python tells a value from all others as a key, by its identity. Here no
// dict has it as a key.
func isObject(v value) bool {
	switch v := v.(type) {
	case *space, *stream, *position, *cycler, callable:
		return true
	case *List:
		return v.kind == span || v.kind == values
	}
	return false
}

// put is set for a dict that is being made, with what it takes.
func (r *runner) put(d *Dict, key, v value) {
	r.read(key)
	r.memory(entrySize)
	d.set(r.key(key), v)
	r.nested(d.depth)
}

// key checks that a value can be a key.
func (r *runner) key(v value) value {
	switch l := v.(type) {
	case nil, undefined, bool, int64, float64, Str:
		return v
	case *List:
		if l.kind == tuple {
			for _, item := range l.items {
				r.read(item)
				r.memory(slotSize)
				r.key(item)
			}
			return v
		}
	}
	r.fail("%s cannot be a key", typeName(v))
	return nil
}

// keys returns the keys of a dict.
func (r *runner) keys(d *Dict) []value {
	r.memory(slotSize * len(d.entries))
	all := make([]value, len(d.entries))
	for i, e := range d.entries {
		all[i] = e.key
	}
	return all
}

// values returns the values of a dict.
func (r *runner) values(d *Dict) []value {
	r.memory(slotSize * len(d.entries))
	all := make([]value, len(d.entries))
	for i, e := range d.entries {
		all[i] = e.value
	}
	return all
}

// pairs returns the entries of a dict as a list of tuples.
func (r *runner) pairs(d *Dict) *List {
	var all []value
	for _, e := range d.entries {
		all = append(all, r.sequence([]value{e.key, e.value}, tuple))
	}
	return r.sequence(all, pairs)
}

// dictKey is what tells keys apart: 1 and 1.0 and true are the same, "1" is another.
type dictKey struct {
	kind   keyKind
	number uint64
	text   string
}

type keyKind uint8

const (
	numberKey keyKind = iota
	realKey           // of floats that are no integers
	textKey
	tupleKey
	noneKey
	undefinedKey
	noKey // of values that cannot be keys
)

func keyOf(v value) dictKey {
	if n, ok := whole(v); ok {
		return dictKey{kind: numberKey, number: uint64(n)}
	}
	switch v := v.(type) {
	case float64:
		if n := int64(v); v >= -1<<63 && v < 1<<63 && float64(n) == v {
			return dictKey{kind: numberKey, number: uint64(n)}
		}
		if v != v {
			v = math.NaN()
		}
		return dictKey{kind: realKey, number: math.Float64bits(v)}
	case Str:
		return dictKey{kind: textKey, text: v.text}
	case nil:
		return dictKey{kind: noneKey}
	case undefined:
		return dictKey{kind: undefinedKey}
	case *List:
		if v.kind == tuple {
			return tupleOf(v)
		}
	}
	return dictKey{kind: noKey}
}

// tupleOf returns the key of a tuple, which has the keys of its items.
func tupleOf(l *List) dictKey {
	var b strings.Builder
	for _, v := range l.items {
		k := keyOf(v)
		if k.kind == noKey {
			return k
		}
		fmt.Fprintf(&b, "%d %d %d %s", k.kind, k.number, len(k.text), k.text)
	}
	return dictKey{kind: tupleKey, text: b.String()}
}
