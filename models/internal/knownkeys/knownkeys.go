// Package knownkeys checks the keys of a file of JSON against those that are known, so that no setting of a model is
// ignored in silence.
package knownkeys

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Table has the keys of a file that are known, with the values that they may have.
type Table map[string]Values

// Values are the values that a key may have.
type Values struct {
	want string
	fits func(value string) bool // nil for all
}

// Any is for keys that are read elsewhere, and for those whose values change no result.
var Any = Values{}

// None is the value of a setting that is not set: null, "", 0, {} or [].
var None = Only("null", `""`, "0", "{}", "[]")

// Only returns the values that change nothing, as JSON has them. Others are an error.
func Only(values ...string) Values {
	return Values{strings.Join(values, " or ") + "; others are not supported", func(v string) bool { return slices.Contains(values, v) }}
}

// Object returns values that are objects whose keys are those of a table, or null.
func Object(t Table) Values {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return Values{"an object with no other keys than " + strings.Join(names, ", ") + ", of which values are known", func(v string) bool {
		var all map[string]json.RawMessage
		return json.Unmarshal([]byte(v), &all) == nil && t.Check(all) == nil
	}}
}

// Add adds keys with the same values, and returns the table.
func (t Table) Add(v Values, keys ...string) Table {
	for _, key := range keys {
		t[key] = v
	}
	return t
}

// A Problem is a key that is not known, or a value that does not fit.
type Problem struct{ Key, Got, Want string }

// longest is how many bytes of a value an error shows.
const longest = 80

// Check returns the first problem in the order of the keys, or nil.
func (t Table) Check(all map[string]json.RawMessage) *Problem {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value := strings.TrimSpace(string(all[key]))
		got := value
		if len(got) > longest {
			got = fmt.Sprintf("%.*s...", longest, strings.ToValidUTF8(got[:longest], ""))
		}
		known, ok := t[key]
		if !ok {
			return &Problem{key, got, "a key that is known: what this one changes is not"}
		}
		if known.fits != nil && !known.fits(value) {
			return &Problem{key, got, known.want}
		}
	}
	return nil
}
