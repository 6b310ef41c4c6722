package strict

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/attn-go/attn/models/internal/filemap"
)

// A JSON reads an object of a JSON file. The first error stays, also an error of objects in it. A
// key whose value is null counts as missing.
type JSON struct {
	path  string // of the object in the file
	keys  map[string]json.RawMessage
	names map[string]string // of keys that the file calls otherwise
	most  int               // of sizes
	asked map[string]bool
	fail  func(key, got, want string) error
	err   *error
}

// ReadJSON reads a file of a folder. err gets the first error: what fail returns for a key with the
// keys of the objects around it, or an error of [filemap.ReadJSON].
func ReadJSON(dir, name string, err *error, fail func(key, got, want string) error) *JSON {
	s := NewJSON(nil, err, fail)
	if *err == nil {
		*err = filemap.ReadJSON(filepath.Join(dir, name), &s.keys)
	}
	if s.keys == nil { // of a file that is null
		s.keys = map[string]json.RawMessage{}
	}
	return s
}

// NewJSON is [ReadJSON] for an object that has been read.
func NewJSON(keys map[string]json.RawMessage, err *error, fail func(key, got, want string) error) *JSON {
	return &JSON{keys: keys, asked: map[string]bool{}, most: Most, fail: fail, err: err}
}

// Rename says what the file calls keys that are asked for by another name.
func (s *JSON) Rename(names map[string]string) { s.names = names }

// Default gives keys that the object does not have, not even as null, a value, of which the object
// says nothing wrong.
func (s *JSON) Default(values map[string]any) {
	for key, value := range values {
		if !s.given(key) {
			s.keys[s.name(key)], _ = json.Marshal(value)
			s.asked[s.name(key)] = true
		}
	}
}

// name returns what the file calls a key.
func (s *JSON) name(key string) string {
	if name, ok := s.names[key]; ok {
		return name
	}
	return key
}

// Err returns the first error.
func (s *JSON) Err() error { return *s.err }

// Fail records an error about a key.
func (s *JSON) Fail(key, got, want string) { s.fault(s.name(key), got, want) }

// fault is Fail for a key by the name that the file has for it.
func (s *JSON) fault(key, got, want string) {
	if *s.err == nil {
		*s.err = s.fail(s.path+key, got, want)
	}
}

// Has tells whether there is a key with a value.
func (s *JSON) Has(key string) bool {
	s.asked[s.name(key)] = true
	return s.given(key) && string(s.value(key)) != "null"
}

// Given tells whether there is a key, even if its value is null.
func (s *JSON) Given(key string) bool {
	s.asked[s.name(key)] = true
	return s.given(key)
}

// Empty tells whether the object has no key.
func (s *JSON) Empty() bool { return len(s.keys) == 0 }

func (s *JSON) given(key string) bool {
	_, ok := s.keys[s.name(key)]
	return ok
}

func (s *JSON) value(key string) []byte { return s.keys[s.name(key)] }

// Raw returns the value of a key, nil if there is none.
func (s *JSON) Raw(key string) []byte { s.Has(key); return s.value(key) }

// Read decodes the value of a key, if there is one.
func (s *JSON) Read(key, want string, to any) bool {
	if !s.Has(key) {
		return false
	}
	if json.Unmarshal(s.value(key), to) != nil {
		s.Fail(key, Abbreviated(s.value(key)), want)
		return false
	}
	return true
}

// Limit sets the largest size.
func (s *JSON) Limit(most int) { s.most = most }

// Size reads a positive integer up to [Most], or another limit. A missing key is the default, or an
// error if that is 0.
func (s *JSON) Size(key string, missing int) int { return s.Integer(key, missing, 1, s.most) }

// Integer reads an integer from low to high. A missing key is the default, or an error if
// that is 0.
func (s *JSON) Integer(key string, missing, low, high int) int {
	want := "an integer from " + between(low, high)
	var n int
	switch {
	case !s.Has(key) && missing != 0:
		return missing
	case !s.Has(key):
		s.Fail(key, "none", want)
		return low
	case s.Read(key, want, &n) && (n < low || n > high):
		s.Fail(key, fmt.Sprint(n), want)
		return low
	}
	return max(n, low)
}

// Number reads a number from low to high. A missing key means the default, which unlike
// [JSON.Integer]'s may be 0 without an error.
func (s *JSON) Number(key string, missing, low, high float64) float64 {
	want := fmt.Sprintf("a number from %g to %g", low, high)
	x := missing
	if s.Read(key, want, &x) && !(x >= low && x <= high) {
		s.Fail(key, fmt.Sprint(x), want)
		return low
	}
	return x
}

// Optional reads a number from low to high, or 0 if there is none.
func (s *JSON) Optional(key string, low, high float64) float64 { return s.Number(key, 0, low, high) }

// Text reads a string, "" if there is none.
func (s *JSON) Text(key string) (x string) {
	s.Read(key, "a string", &x)
	return x
}

// Yes reads a boolean, false if there is none.
func (s *JSON) Yes(key string) (x bool) {
	s.Read(key, "true or false", &x)
	return x
}

// Only reports a key that has another value than the one that is supported, if it has any.
func (s *JSON) Only(key string, value any) {
	want, _ := json.Marshal(value)
	if s.Has(key) && string(s.value(key)) != string(want) {
		s.Fail(key, Abbreviated(s.value(key)), string(want)+"; others are not supported")
	}
}

// Under reads the object of a key. One without keys stands for none.
func (s *JSON) Under(key string) *JSON {
	o := &JSON{path: s.path + s.name(key) + ".", most: s.most, asked: map[string]bool{}, fail: s.fail, err: s.err}
	if s.Read(key, "an object", &o.keys); o.keys == nil {
		o.keys = map[string]json.RawMessage{} // for defaults
	}
	return o
}

// None returns an object without keys, in which none are missed.
func (s *JSON) None() *JSON {
	return NewJSON(map[string]json.RawMessage{}, s.err, s.fail)
}

// Unknown reports a key that nothing has asked for, unless its value is in a table.
func (s *JSON) Unknown(tables ...Table) {
	left := map[string]json.RawMessage{}
	for key, value := range s.keys {
		if !s.asked[key] && string(value) != "null" {
			left[key] = value
		}
	}
	if p := Check(left, tables...); p != nil {
		s.fault(p.Key, p.Got, p.Want)
	}
}
