package strict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Source has the metadata of a file, by whole keys, as package gguf's File does.
type Source interface {
	Keys() []string
	Value(key string) (any, bool)
	Int(key string) (int64, error)
	Ints(key string) ([]int64, error)
	Float(key string) (float64, error)
	Bool(key string) (bool, error)
	String(key string) (string, error)
}

// A GGUF reads the metadata of an architecture. The first error stays.
type GGUF struct {
	File  Source
	Arch  string            // the prefix of the keys
	Most  int               // of sizes
	Names map[string]string // of keys that the file calls otherwise

	err    error
	used   map[string]bool // keys that have been asked for
	fail   func(key, got, want string) error
	layers int // of the model, once [GGUF.Layers] has read it
}

// ReadGGUF returns a reader. fail makes errors about whole keys; errors of values of a wrong type
// come from package gguf.
func ReadGGUF(f Source, arch string, fail func(key, got, want string) error) *GGUF {
	return &GGUF{File: f, Arch: arch, Most: Most, used: map[string]bool{}, fail: fail}
}

// Key returns a key with the architecture, which counts as asked for.
func (k *GGUF) Key(name string) string {
	if theirs, ok := k.Names[name]; ok {
		name = theirs
	}
	full := k.Arch + "." + name
	k.used[full] = true
	return full
}

// Has tells whether the file has a key.
func (k *GGUF) Has(name string) bool {
	_, ok := k.File.Value(k.Key(name))
	return ok
}

// Err returns the first error.
func (k *GGUF) Err() error { return k.err }

// Record records an error.
func (k *GGUF) Record(err error) {
	if k.err == nil {
		k.err = err
	}
}

// Fail records an error about a key.
func (k *GGUF) Fail(name, got, want string) { k.Record(k.fail(k.Key(name), got, want)) }

// Layers says how many elements a list for each layer has.
func (k *GGUF) Layers(n int) { k.layers = n }

// Size reads a positive integer up to k.Most, which may also be one for each layer. They must be
// the same: models whose layers differ in it are not computed. A missing key is the default, or an
// error if that is 0.
func (k *GGUF) Size(name string, missing int) int {
	all, err := k.File.Ints(k.Key(name))
	if err != nil {
		return k.Integer(name, missing, 1, k.Most)
	}
	return k.same(name, all, nil)
}

// SizeOrNone is Size for a list with 0 for layers that lack what has the size. It tells which ones
// those are.
func (k *GGUF) SizeOrNone(name string, missing int) (n int, lacks []bool) {
	all, err := k.File.Ints(k.Key(name))
	lacks = make([]bool, k.layers)
	if err != nil || len(all) != k.layers {
		return k.Size(name, missing), lacks
	}
	for i, n := range all {
		lacks[i] = n == 0
	}
	return k.same(name, all, lacks), lacks
}

// same returns the one number of all layers but those that lack it.
func (k *GGUF) same(name string, all []int64, lacks []bool) int {
	if len(all) != k.layers {
		k.Fail(name, fmt.Sprintf("%d numbers", len(all)), fmt.Sprintf("one for each of the %d layers", k.layers))
		return 1
	}
	first := max(0, slices.Index(lacks, false))
	for i, n := range all {
		if n != all[first] && (lacks == nil || !lacks[i]) {
			k.Fail(name, fmt.Sprintf("%d in layer %d and %d in layer %d", n, i, all[first], first), "the same in all layers; others are not supported")
			return 1
		}
	}
	return k.between(name, all[first], 1, k.Most)
}

// Integer reads a number from low to high. A missing key is the default, or an error if that is 0.
func (k *GGUF) Integer(name string, missing int, low, high int) int {
	if missing != 0 && !k.Has(name) {
		return missing
	}
	n, err := k.File.Int(k.Key(name))
	if err != nil {
		k.Record(err)
		return 1
	}
	return k.between(name, n, low, high)
}

func (k *GGUF) between(name string, n int64, low, high int) int {
	if n < int64(low) || n > int64(high) {
		k.Fail(name, fmt.Sprint(n), between(low, high))
		return 1
	}
	return int(n)
}

// Each reads an integer of each layer from 0 to k.Most. A single one counts for all layers.
func (k *GGUF) Each(name string) []int {
	ints, err := k.File.Ints(k.Key(name))
	if err != nil {
		return slices.Repeat([]int{k.Integer(name, 0, 0, k.Most)}, k.layers)
	}
	all := make([]int, k.layers)
	if len(ints) != k.layers {
		k.Fail(name, fmt.Sprintf("%d numbers", len(ints)), fmt.Sprintf("one for each of the %d layers", k.layers))
		return all
	}
	for i, n := range ints {
		all[i] = k.between(name, n, 0, k.Most)
	}
	return all
}

// EachLayer reads a list that says of each layer whether something holds, as booleans or as 0 and
// 1. It returns nil if the value is no list.
func (k *GGUF) EachLayer(name string) []bool {
	v, _ := k.File.Value(k.Key(name))
	all, ok := v.([]bool)
	if !ok {
		ints, err := k.File.Ints(k.Key(name))
		if err != nil {
			return nil
		}
		for _, n := range ints {
			if n != 0 && n != 1 {
				k.Fail(name, fmt.Sprintf("a list with %d", n), "a list of booleans, or of 0 and 1")
				return nil
			}
			all = append(all, n == 1)
		}
	}
	if len(all) != k.layers {
		k.Fail(name, fmt.Sprintf("%d values", len(all)), fmt.Sprintf("one for each of the %d layers", k.layers))
		return nil
	}
	return all
}

// Number reads a number from low to high. A missing key is the default, or an error if that is 0.
func (k *GGUF) Number(name string, missing, low, high float64) float64 {
	if missing > 0 && !k.Has(name) {
		return missing
	}
	x, err := k.File.Float(k.Key(name))
	if err != nil {
		k.Record(err)
		return low
	}
	if !(x >= low && x <= high) {
		k.Fail(name, fmt.Sprint(x), fmt.Sprintf("%g to %g", low, high))
		return low
	}
	return x
}

// Optional reads a number from low to high, or 0 if the file has none or says 0.
func (k *GGUF) Optional(name string, low, high float64) float64 {
	if !k.Has(name) {
		return 0
	}
	if x, err := k.File.Float(k.Key(name)); err == nil && x == 0 {
		return 0
	}
	return k.Number(name, 0, low, high)
}

// Text reads a string, "" if there is none.
func (k *GGUF) Text(name string) string {
	if !k.Has(name) {
		return ""
	}
	text, err := k.File.String(k.Key(name))
	if err != nil {
		k.Record(err)
	}
	return text
}

// Yes reads a boolean. A missing key is the default.
func (k *GGUF) Yes(name string, missing bool) bool {
	if !k.Has(name) {
		return missing
	}
	yes, err := k.File.Bool(k.Key(name))
	if err != nil {
		k.Record(err)
	}
	return yes
}

// Unknown reports a key of the architecture that nothing has asked for, unless its value is in a
// table, whose keys have no architecture.
func (k *GGUF) Unknown(tables ...Table) {
	left := map[string]json.RawMessage{}
	for _, key := range k.File.Keys() {
		name, ok := strings.CutPrefix(key, k.Arch+".")
		if !ok || k.used[key] {
			continue
		}
		v, _ := k.File.Value(key)
		data, err := json.Marshal(v)
		if err != nil { // a number that JSON does not have
			data = []byte(fmt.Sprint(v))
		}
		left[name] = data
	}
	if p := Check(left, tables...); p != nil {
		k.Record(k.fail(k.Arch+"."+p.Key, p.Got, p.Want))
	}
}
