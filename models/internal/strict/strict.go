// Package strict reads what files say about a model: objects of JSON files such as config.json, and the
// metadata of GGUF files. A key that nobody has asked for is an error, unless a [Table] says that its
// value changes nothing: what a model computes never ignores a key that it does not know.
package strict

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Most bounds every size: beyond it products of two sizes and a number of bytes could overflow.
const Most = 1 << 24

// A Table says with which values keys change nothing: each value in JSON, or [Any].
type Table map[string][]string

// Any are the values of a key that no computation reads.
var Any []string

// allows tells whether a key with a value, which is JSON, changes nothing. Numbers are compared as
// numbers. null says nothing, so it changes nothing.
func (t Table) allows(key string, value []byte) bool {
	values, ok := t[key]
	if !ok || values == nil {
		return ok
	}
	var got, want any
	if json.Unmarshal(value, &got) != nil {
		return false
	}
	for _, v := range values {
		if json.Unmarshal([]byte(v), &want) == nil && reflect.DeepEqual(got, want) {
			return true
		}
	}
	return false
}

// unknown returns what an error about a key should say that it wants, or "" if its value changes nothing.
func unknown(key string, value []byte, tables []Table) (want string) {
	want = "no such key: what it changes is not known"
	if string(value) == "null" {
		return ""
	}
	for _, t := range tables {
		if t.allows(key, value) {
			return ""
		}
		if values := t[key]; values != nil {
			want = strings.Join(values, " or ") + "; others are not supported"
		}
	}
	return want
}

// Abbreviated returns the beginning of a value.
func Abbreviated(v []byte) string {
	if len(v) > 60 {
		return strings.ToValidUTF8(string(v[:60]), "") + "..."
	}
	return string(v)
}

// between says which numbers a reader takes.
func between(low, high any) string { return fmt.Sprintf("%v to %v", low, high) }
