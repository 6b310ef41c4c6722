package jinja

import (
	"strings"
	"testing"
)

// TestLarge: integers of more than 64 bits are written as they stand in JSON; what would compute
// with them is an error. The texts come from jinja2.
func TestLarge(t *testing.T) {
	v, err := FromJSON([]byte(`{"n": 123456789012345678901234567890, "m": -9223372036854775809, "f": 1e30, "k": 1` + strings.Repeat("0", 400) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ToJSON(v), `{"n": 123456789012345678901234567890, "m": -9223372036854775809, "f": 1e+30, "k": 1`+strings.Repeat("0", 400)+`}`; got != want {
		t.Errorf("JSON is %s, want %s", got, want)
	}
	for source, want := range map[string]string{
		"{{ d.n }} {{ [d.m] }} {{ d.n | string }}":                        "123456789012345678901234567890 [-9223372036854775809] 123456789012345678901234567890",
		"{{ d.n | tojson }} {{ d.n | int }} {{ d.n | float }}":            "123456789012345678901234567890 123456789012345678901234567890 1.2345678901234568e+29",
		"{{ d.n is number }} {{ d.n is integer }} {{ d.n is string }}":    "True True False",
		"{{ d.n == d.n }} {{ d.n == d.m }} {{ d.n == 1 }} {{ 1 if d.n }}": "True False False 1",
		"{{ d.n + 1 }}":            "",
		"{{ d.k | float }}":        "",
		"{{ -d.n }}":               "",
		"{{ d.n == d.f }}":         "",
		"{{ d.f == d.n }}":         "",
		"{{ d.n < 1 }}":            "",
		"{{ d.n | abs }}":          "",
		"{{ {d.n: 1} }}":           "",
		"{{ 'a' * d.n }}":          "",
		"{{ range(d.n) }}":         "",
		"{{ '%d' % d.n }}":         "",
		"{{ '{:d}'.format(d.n) }}": "",
		"{{ [d.n, 1] | sort }}":    "",
		"{{ [d.n, 1] | sum }}":     "",
	} {
		parsed, err := Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Render(t.Context(), map[string]any{"d": v}, 1<<24)
		if (err == nil) != (want != "") || want != "" && got.String() != want {
			t.Errorf("%s: got %q, %v, want %q", source, got, err, want)
		}
	}
}
