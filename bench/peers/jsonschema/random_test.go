package jsonschema_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/grammar"
)

// randomSchema returns a schema of some keywords about few keys and small values.
func randomSchema(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(12) == 0 {
		return []any{true, map[string]any{}, map[string]any{"type": "integer"}, map[string]any{"type": "string"}, map[string]any{"const": randomValue(r, 1)}, map[string]any{"enum": []any{1, "a", "ab", nil}}, map[string]any{"minimum": r.IntN(4)}}[r.IntN(7)]
	}
	sub := func() any { return randomSchema(r, depth-1) }
	list := func() []any {
		var list []any
		for range 1 + r.IntN(3) {
			list = append(list, sub())
		}
		return list
	}
	members := func(keys string) map[string]any {
		m := map[string]any{}
		for range 1 + r.IntN(2) {
			m[strings.Split(keys, " ")[r.IntN(4)]] = sub()
		}
		return m
	}
	names := func() []any {
		list := []any{[]string{"a", "b", "c", "ab"}[r.IntN(4)]}
		if other := []string{"a", "b", "c", "ab"}[r.IntN(4)]; other != list[0] && r.IntN(2) == 0 {
			list = append(list, other)
		}
		return list
	}
	pattern := func() string { return []string{"^a", "b$", "^[ab]*$", "ab", "^.$"}[r.IntN(5)] }
	s := map[string]any{}
	for range 1 + r.IntN(4) {
		switch r.IntN(30) {
		case 0, 1, 2:
			s["type"] = []any{"object", "array", "string", "integer", "number", []any{"object", "array"}, []any{"integer", "string", "null"}}[r.IntN(7)]
		case 3:
			s["enum"] = []any{randomValue(r, 2), randomValue(r, 2), randomValue(r, 1)}
		case 4:
			s["minimum"] = r.IntN(6) - 2
		case 5:
			s["exclusiveMaximum"] = float64(r.IntN(12)) / 2
		case 6:
			s["multipleOf"] = []float64{2, 3, 0.5}[r.IntN(3)]
		case 7:
			s["minLength"] = r.IntN(3)
		case 8:
			s["maxLength"] = r.IntN(3)
		case 9:
			s["pattern"] = pattern()
		case 10, 11, 12:
			s["properties"] = members("a b c ab")
		case 13:
			s["required"] = names()
		case 14:
			s["additionalProperties"] = []any{false, sub()}[r.IntN(2)]
		case 15:
			s["patternProperties"] = map[string]any{pattern(): sub()}
		case 16:
			s["propertyNames"] = map[string]any{"pattern": pattern()}
		case 17:
			s["minProperties"] = r.IntN(3)
		case 18:
			s["maxProperties"] = r.IntN(3)
		case 19:
			s["dependentRequired"] = map[string]any{"a": names()}
		case 20:
			s["items"] = sub()
		case 21:
			s["prefixItems"] = list()
		case 22:
			s["minItems"] = r.IntN(3)
		case 23:
			s["maxItems"] = r.IntN(4)
		case 24:
			s["contains"] = sub()
			if r.IntN(2) == 0 {
				s["maxContains"] = 1 + r.IntN(2)
			}
		case 25:
			s["uniqueItems"] = true
		case 26:
			s[[]string{"allOf", "anyOf", "oneOf"}[r.IntN(3)]] = list()
		case 27:
			s["not"] = sub()
		case 28:
			s["if"], s["then"], s["else"] = sub(), sub(), sub()
		case 29:
			s[[]string{"unevaluatedProperties", "unevaluatedItems"}[r.IntN(2)]] = []any{false, sub()}[r.IntN(2)]
		}
	}
	return s
}

// randomValue returns a small value.
func randomValue(r *rand.Rand, depth int) any {
	n := 4
	if depth > 0 {
		n = 8
	}
	switch k := r.IntN(n); k {
	case 0:
		return r.IntN(9) - 2
	case 1:
		return []any{0.5, 1.5, nil, true, false}[r.IntN(5)]
	case 2, 3:
		return []string{"", "a", "b", "ab", "ba", "abc"}[r.IntN(6)]
	case 4, 5:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range r.IntN(4) {
		m[[]string{"a", "b", "c", "ab", "d"}[r.IntN(5)]] = randomValue(r, depth-1)
	}
	return m
}

// TestRandomSchemas: what a random schema says of random values is what a validator of
// others says.
func TestRandomSchemas(t *testing.T) {
	counts := compareRandom(t, 1, 300)
	t.Logf("%d schemas taken, %d refused; %d texts valid, %d not, %d generated", counts[0], counts[1], counts[2], counts[3], counts[4])
	if counts[0] < 4*counts[1] || counts[2] < 300 || counts[3] < 1000 || counts[4] < 100 {
		t.Error("that is too few")
	}
}

// compareRandom compares some schemas with some values each. It returns how many were
// taken and refused, and how many texts were valid and not, and generated.
func compareRandom(t *testing.T, seed uint64, schemas int) (counts [5]int) {
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range schemas {
		text, err := json.Marshal(randomSchema(r, 3))
		if err != nil {
			t.Fatal(err)
		}
		schema := string(text)
		g, err := grammar.FromSchema(text)
		if err != nil {
			if bad := (*kernel.Error)(nil); errors.As(err, &bad) && bad.Got == "a schema that no value satisfies" {
				emptyToo(t, r, i, schema)
			} else {
				counts[1]++
			}
			continue
		}
		counts[0]++
		valid := validator(t, i, schema)
		for range 20 {
			text, err := json.Marshal(randomValue(r, 3))
			if err != nil {
				t.Fatal(err)
			}
			want := valid(string(text)) == nil
			if got, err := g.Match(string(text)); got != want || err != nil {
				t.Errorf("seed %d: %s has %s: %v, %v, want %v", seed, schema, text, got, err, want)
			}
			if want {
				counts[2]++
			} else {
				counts[3]++
			}
		}
		if text := generate(t, g, r, ""); text != "" {
			counts[4]++
			if err := valid(text); err != nil {
				t.Errorf("seed %d: %s generates %s: %v", seed, schema, text, err)
			}
		}
	}
	return counts
}

// emptyToo checks that a validator finds no value of a schema either.
func emptyToo(t *testing.T, r *rand.Rand, i int, schema string) {
	valid := validator(t, i, schema)
	for range 50 {
		text := marshal(t, randomValue(r, 3))
		if valid(text) == nil {
			t.Errorf("%s has %s", schema, text)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
