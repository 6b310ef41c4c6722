package knownkeys

import (
	"encoding/json"
	"strings"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// TestCheck: keys that are not known and values that do not fit are found, the first one by name.
func TestCheck(t *testing.T) {
	table := Table{"b": Only("false", "null"), "c": None, "d": Object(Table{"e": Only("1")})}.Add(Any, "a")
	for text, want := range map[string]Problem{
		`{}`:                            {},
		`{"a": [1], "b": false}`:        {},
		`{"b": null, "c": {}, "d": {}}`: {},
		`{"c": [], "d": {"e": 1}}`:      {},
		`{"d": null}`:                   {},
		`{"b": true, "c": 1}`:           {"b", "true", "false or null"},
		`{"c": {"x": 1}}`:               {"c", `{"x": 1}`, "null"},
		`{"d": {"e": 2}}`:               {"d", `{"e": 2}`, "no other keys than e"},
		`{"d": {"f": 1}}`:               {"d", `{"f": 1}`, "no other keys than e"},
		`{"z": 1, "y": "` + strings.Repeat("x", 200) + `"}`: {"y", `"` + strings.Repeat("x", longest-1) + "...", "a key that is known"},
	} {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		got := table.Check(all)
		if got == nil {
			got = &Problem{}
		}
		if got.Key != want.Key || got.Got != want.Got || !strings.Contains(got.Want, want.Want) {
			t.Errorf("%.60s: %+v, want %+v", text, *got, want)
		}
	}
}
