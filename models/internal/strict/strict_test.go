package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// object reads an object and calls ask, and returns the error.
func object(t *testing.T, text string, ask func(s *JSON)) (err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	ask(ReadJSON(dir, "a.json", &err, func(key, got, want string) error { return fmt.Errorf("%s: %s, %s", key, got, want) }))
	return err
}

// A key is asked for, harmless with its value, or an error.
func TestUnknown(t *testing.T) {
	table := Table{"any": Any, "one": Only("1"), "no": Only("false", "0"), "empty": Only("{}")}
	for text, want := range map[string]string{
		`{"asked": 5, "any": [3], "one": 1.0, "no": false, "empty": {}, "other": null}`: "",
		`{"no": 0, "any": {"a": 1}}`: "",
		`{"one": 2}`:                 "one: 2, 1; others are not supported",
		`{"one": true}`:              "one: true, 1; others are not supported",
		`{"no": true}`:               "no: true, false or 0; others are not supported",
		`{"empty": {"a": 1}}`:        `empty: {"a": 1}, {}; others are not supported`,
		`{"other": false}`:           "other: false, no such key: what it changes is not known",
		`{"Asked": 0}`:               "Asked: 0, no such key: what it changes is not known",
	} {
		err := object(t, text, func(s *JSON) { s.Size("asked", 1); s.Unknown(table) })
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestCheck: keys that are not known and values that no table has are found, the first one by name.
func TestCheck(t *testing.T) {
	table := Table{"b": Only("false", "null"), "c": None, "d": Object(Table{"e": Only("1")})}.Add(Any, "a")
	for text, want := range map[string]Problem{
		`{}`:                            {},
		`{"a": [1], "b": false}`:        {},
		`{"b": null, "c": {}, "d": {}}`: {},
		`{"c": [], "d": {"e": 1.0}}`:    {},
		`{"d": null, "other": "x"}`:     {},
		`{"b": 2}`:                      {}, // of the second table
		`{"b": true, "c": 1}`:           {"b", "true", "2; others are not supported"},
		`{"c": {"x": 1}}`:               {"c", `{"x": 1}`, `null or "" or 0 or {} or []; others are not supported`},
		`{"d": {"e": 2}}`:               {"d", `{"e": 2}`, "an object with no other keys than e, of which values are known"},
		`{"d": {"f": 1}}`:               {"d", `{"f": 1}`, "an object with no other keys than e, of which values are known"},
		`{"z": 1, "y": "` + strings.Repeat("x", 200) + `"}`: {"y", `"` + strings.Repeat("x", longest-1) + "...", "no such key: what it changes is not known"},
	} {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		got := Check(all, table, Table{"b": Only("2"), "other": Any})
		if got == nil {
			got = &Problem{}
		}
		if *got != want {
			t.Errorf("%.60s: %+v, want %+v", text, *got, want)
		}
	}
}

// No key stands twice in a table, which Add finds, and all values are JSON.
func TestTables(t *testing.T) {
	for _, table := range []Table{Config, Parameters, SentenceTransformers, Generation, Metadata} {
		for key, values := range table {
			for i, v := range values.list {
				if !json.Valid([]byte(v)) || slices.Contains(values.list[:i], v) {
					t.Errorf("%s: %s", key, values.list)
				}
			}
			if key == "" {
				t.Error("a key without a name")
			}
		}
	}
	for _, key := range []string{"is_decoder", "full_attn_mod", "pruned_heads"} {
		if Config[key].allow([]byte("true")) {
			t.Errorf("%s: every value", key)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a key stands twice")
		}
	}()
	Table{"a": Any}.Add(None, "b", "a")
}

// Keys are those with their letters alone, by the names that the file has for them; null is a
// value, and no key that is left out.
func TestNames(t *testing.T) {
	read := func(s *JSON) {
		s.Rename(map[string]string{"width": "dim"})
		s.Default(map[string]any{"left": 7, "null": 7, "given": 7})
		if w, left, null, given := s.Size("width", 1), s.Size("left", 1), s.Size("null", 1), s.Size("given", 1); w != 3 || left != 7 || null != 1 || given != 2 {
			t.Errorf("%d %d %d %d", w, left, null, given)
		}
		s.Under("in").Unknown(Parameters)
		s.Unknown()
	}
	for text, want := range map[string]string{
		`{"dim": 3, "null": null, "given": 2, "in": {"finetuned": true}}`: "<nil>",
		`{"dim": 3, "null": null, "given": 2, "width": 3}`:                "width: 3, no such key: what it changes is not known",
		`{"dim": 3, "null": null, "given": 2, "Dim": 3}`:                  "Dim: 3, no such key: what it changes is not known",
		`{"dim": 3, "null": null, "given": 2, "in": {"base": 3}}`:         "in.base: 3, no such key: what it changes is not known",
		`{"dim": 3, "null": null, "given": 2, "in": 3}`:                   "in: 3, an object",
	} {
		if err := object(t, text, read); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Keys of metadata are as strict. Keys of other architectures and of nobody are not looked at.
func TestMetadata(t *testing.T) {
	w := &ggufwriter.File{}
	for key, v := range map[string]any{
		"a.lack": []int32{0, 2}, "a.lacking": []int32{0, 0, 2, 0, 1}, "a.none": []int32{0, 0}, "a.block_count": uint32(2), "a.n": []int32{3, 3}, "a.differ": []int32{3, 4}, "a.few": []int32{3}, "a.logit_scale": float32(1), "b.mystery": uint32(1), "general.name": "a",
	} {
		w.Set(key, v)
	}
	f, err := gguf.New(w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	read := func() *GGUF {
		k := ReadGGUF(f, "a", func(key, got, want string) error { return gguf.KeyError(key, got, want) })
		k.Layers(k.Integer("block_count", 0, 1, Most))
		return k
	}
	k := read()
	if n := k.Size("n", 0); n != 3 || k.Size("missing", 5) != 5 || k.Err() != nil {
		t.Errorf("%d, %v", n, k.Err())
	}
	k.Unknown(Metadata)
	want := gguf.KeyError("a.differ", "[3,4]", "no such key: what it changes is not known")
	if bad, ok := errors.AsType[*kernel.Error](k.Err()); !ok || !reflect.DeepEqual(bad, want) {
		t.Errorf("%v, want %v", k.Err(), want)
	}
	for name, found := range map[string]string{"differ": "4 in layer 1 and 3 in layer 0", "few": "1 numbers"} {
		k := read()
		k.Size(name, 0)
		if bad, ok := errors.AsType[*kernel.Error](k.Err()); !ok || bad.Arg() != fmt.Sprintf("metadata %q", "a."+name) || bad.Got != found {
			t.Errorf("%s: %v", name, k.Err())
		}
	}
	for _, x := range []struct {
		name  string
		n     int
		found string
	}{{"lack", 2, ""}, {"n", 3, ""}, {"none", 1, "0"}, {"lacking", 1, "1 in layer 4 and 2 in layer 2"}} {
		k := read()
		all, _ := f.Ints("a." + x.name)
		k.Layers(len(all))
		n, lacks := k.SizeOrNone(x.name, 0)
		if bad, ok := errors.AsType[*kernel.Error](k.Err()); n != x.n || ok != (x.found != "") || ok && bad.Got != x.found {
			t.Errorf("%s: %d, %v", x.name, n, k.Err())
		}
		for i, lack := range lacks {
			if lack != (all[i] == 0) {
				t.Errorf("%s: layer %d lacks it: %v", x.name, i, lack)
			}
		}
	}
}
