// Package jsonschema_test compares the grammars of package grammar with what a validator of others
// says of JSON Schemas and texts. Such a validator is no part of what attn requires.
package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/attn-go/attn/models/grammar"
)

// validator returns what a validator of others says of a text.
func validator(t testing.TB, i int, schema string) func(text string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	name := fmt.Sprintf("file:///%d.json", i)
	if err := c.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	check, err := c.Compile(name)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return func(text string) error {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return check.Validate(instance)
	}
}

// tokens are all bytes, and some as vocabularies have them.
var tokens = func() (list [][]byte) {
	for b := range 256 {
		list = append(list, []byte{byte(b)})
	}
	for _, t := range []string{`{"`, `":`, `",`, `"},`, `": "`, `null`, `true`, `tru`, ` "`, `\u`, "é", "\xf0\x9f", `[]`, `{}`, `12`, `-1`, `kind`, `value`, `ab`, `]]`, `}}`} {
		list = append(list, []byte(t))
	}
	return list
}()

var vocabulary = grammar.NewVocabulary(tokens)

// closing are tokens that a text which is long is to go on with: ends, a digit, and what a
// pattern of the schemas asks for.
var closing = []int32{'"', '}', ']', id("null"), id("ab"), '0'}

// generate returns a random text of a grammar that begins so, empty if it would be long.
func generate(t testing.TB, g *grammar.Grammar, random *rand.Rand, begin string) string {
	t.Helper()
	x, err := g.Matcher(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	text, list := []byte(begin), []int32(nil)
	for _, c := range text {
		if err := x.Accept(int32(c)); err != nil {
			t.Fatalf("%q: %v", begin, err)
		}
	}
	for !x.MustEnd() && !(x.MayEnd() && random.IntN(4) == 0) {
		words, err := x.Mask()
		if err != nil {
			t.Fatal(err)
		}
		list = list[:0]
		for id := range int32(len(tokens)) {
			if words[id/64]>>(id%64)&1 != 0 {
				list = append(list, id)
			}
		}
		if len(list) == 0 {
			t.Fatalf("%s: nothing may follow %q", g.Source().Text, text)
		}
		id := list[random.IntN(len(list))]
		for _, c := range closing {
			if random.IntN(400) < min(len(text), 300) && words[c/64]>>(c%64)&1 != 0 {
				id = c
				break
			}
		}
		if err := x.Accept(id); err != nil {
			t.Fatal(err)
		}
		if text = append(text, tokens[id]...); len(text) > 1000 {
			return ""
		}
	}
	return string(text)
}

// id returns the id of a token.
func id(text string) int32 {
	return int32(slices.IndexFunc(tokens, func(t []byte) bool { return string(t) == text }))
}

// cases are those that package grammar tests: a validator agrees about the values.
func cases(t *testing.T) (list []struct {
	Schema  json.RawMessage
	Yes, No []json.RawMessage
}) {
	data, err := os.ReadFile("../../../models/grammar/testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCases: a validator agrees about the texts that satisfy a schema, and those that do not, but
// for keys that are there twice.
func TestCases(t *testing.T) {
	for i, x := range cases(t) {
		valid := validator(t, i, string(x.Schema))
		for _, text := range x.Yes {
			if err := valid(string(text)); err != nil {
				t.Errorf("%s, %s: %v", x.Schema, text, err)
			}
		}
		for _, text := range x.No {
			if valid(string(text)) == nil && !strings.Contains(string(text), `,"a":2}`) {
				t.Errorf("%s takes %s", x.Schema, text)
			}
		}
	}
}

func fromSchema(t testing.TB, schema string) *grammar.Grammar {
	t.Helper()
	g, err := grammar.FromSchema([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g
}

// Every text of the grammar parses and satisfies the schema, says a validator of others.
func TestSchemaValid(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for i, x := range cases(t) {
		g := fromSchema(t, string(x.Schema))
		valid := validator(t, i, string(x.Schema))
		different := map[string]bool{}
		for range 60 {
			begin := x.Yes[random.IntN(len(x.Yes))]
			text := generate(t, g, random, string(begin[:random.IntN(len(begin)+1)]))
			if text == "" {
				continue
			}
			different[text] = true
			var parsed any
			if err := json.Unmarshal([]byte(text), &parsed); err != nil {
				t.Fatalf("%s: %q: %v", x.Schema, text, err)
			}
			if err := valid(text); err != nil {
				t.Fatalf("%s: %q: %v", x.Schema, text, err)
			}
		}
		if len(x.Yes) > 3 && len(different) < 3 {
			t.Errorf("%s: only %d texts", x.Schema, len(different))
		}
	}
}
