package jinja

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Filters, tests, methods, operators and statements do the same as in jinja2, see
// testdata/expressions.py, and fail where jinja2 fails.
func TestExpressions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "expressions.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][2]*string // templates, and their texts
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	variables := map[string]any{}
	for name, text := range map[string]string{
		"d": `{"b": 2, "A": {"k": 1}, "c": "x"}`, "m": `{"role": "user", "content": " line 1\nline 2\n"}`, "l": `[3, "two", null, 2.5]`, "s": `"some Text, a"`,
	} {
		if variables[name], err = FromJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range all {
		source, want := *x[0], x[1]
		parsed, err := Parse(source)
		var got Str
		if err == nil {
			got, err = parsed.Render(t.Context(), variables, 1<<24)
		}
		switch {
		case (err == nil) != (want != nil):
			t.Errorf("%s: got %q and error %v, want %s", source, got, err, show(want))
		case want != nil && got.String() != *want:
			t.Errorf("%s: got %q, want %q", source, got, *want)
		}
	}
}

// show returns what jinja2 makes of a template.
func show(text *string) string {
	if text == nil {
		return "an error"
	}
	return *text
}
