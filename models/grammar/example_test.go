package grammar_test

import (
	"fmt"

	"github.com/attn-go/attn/models/grammar"
)

// What a model says is a list of small letters.
func ExampleParse() {
	g, err := grammar.Parse(`
		root ::= item (", " item)*
		item ::= [a-z]
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"a, b", "a, B", ""} {
		fmt.Println(g.Match(text))
	}

	// Output:
	// true <nil>
	// false <nil>
	// false <nil>
}

// What a model says is JSON that a program can read.
func ExampleFromSchema() {
	g, err := grammar.FromSchema([]byte(`{
		"type": "object",
		"properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
		"required": ["city", "degrees"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{`{"city": "Oslo", "degrees": -3}`, `{"city": "Oslo"}`} {
		fmt.Println(g.Match(text))
	}

	// Output:
	// true <nil>
	// false <nil>
}
