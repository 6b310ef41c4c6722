// Package strict has tables of the keys of files that are known, and reads objects of JSON, such as
// config.json, and the metadata of GGUF files. A key that nobody has asked for is a [Problem],
// unless a [Table] says that its value changes nothing: what a model computes never ignores a key
// that it does not know.
package strict

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Most bounds every size: beyond it products of two sizes and a number of bytes could overflow.
const Most = 1 << 24

// A Table has the keys of an object that are known, with the values that they may have.
type Table map[string]Values

// Values are the values that a key may have.
type Values struct {
	list []string // in JSON
	keys Table    // of an object, if list is nil
}

// Any is for keys that are read elsewhere, and for those whose values change no result.
var Any = Values{}

// None is the value of a setting that is not set: null, "", 0, {} or [].
var None = Only("null", `""`, "0", "{}", "[]")

// Only returns the values that change nothing, in JSON. Numbers are compared as numbers.
func Only(values ...string) Values { return Values{list: append([]string{}, values...)} }

// Object returns values that are objects whose keys stand in a table, or null.
func Object(t Table) Values { return Values{keys: t} }

// Add adds keys with the same values, and returns the table. It panics if the table has any of them
// already.
func (t Table) Add(v Values, keys ...string) Table {
	for _, key := range keys {
		if _, ok := t[key]; ok {
			panic("strict: the key " + key + " stands twice in a table")
		}
		t[key] = v
	}
	return t
}

// allow tells whether v has a value, which is JSON.
func (v Values) allow(value []byte) bool {
	if v.list == nil {
		var all map[string]json.RawMessage
		return v.keys == nil || json.Unmarshal(value, &all) == nil && Check(all, v.keys) == nil
	}
	var got any
	if json.Unmarshal(value, &got) != nil {
		return false
	}
	return slices.ContainsFunc(v.list, func(text string) bool {
		var want any
		return json.Unmarshal([]byte(text), &want) == nil && reflect.DeepEqual(got, want)
	})
}

// want says which values v are.
func (v Values) want() string {
	if v.list == nil {
		return "an object with no other keys than " + strings.Join(slices.Sorted(maps.Keys(v.keys)), ", ") + ", of which values are known"
	}
	return strings.Join(v.list, " or ") + "; others are not supported"
}

// A Problem is a key that is not known, or a value that does not fit.
type Problem struct{ Key, Got, Want string }

// Check returns the first problem in the order of the keys, or nil: a key with a value that none of
// the tables has.
func Check(all map[string]json.RawMessage, tables ...Table) *Problem {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if want := wanted(key, all[key], tables); want != "" {
			return &Problem{key, Abbreviated(all[key]), want}
		}
	}
	return nil
}

// wanted returns what an error about a key should say that it wants, or "" if a table has its
// value.
func wanted(key string, value []byte, tables []Table) string {
	want := "no such key: what it changes is not known"
	for _, t := range tables {
		known, ok := t[key]
		switch {
		case ok && known.allow(value):
			return ""
		case ok:
			want = known.want()
		}
	}
	return want
}

// longest is how many bytes of a value an error shows.
const longest = 80

// Abbreviated returns the beginning of a value.
func Abbreviated(v []byte) string {
	if len(v) > longest {
		return strings.ToValidUTF8(string(v[:longest]), "") + "..."
	}
	return string(v)
}

// between says which numbers a reader takes.
func between(low, high any) string { return fmt.Sprintf("%v to %v", low, high) }
