package grammar

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// The kinds of a [kernel.Error] that is not about the text of a grammar, by its line, or about a
// part of a JSON Schema, by its path, a JSON Pointer as in a URL: "#/properties/age/minimum".
var (
	ErrLimit = errors.New("grammar: too much memory or time") // a grammar, a schema or a text of one would take it
	ErrToken = errors.New("grammar: a token may not follow")
)

// syntaxError reports a line from 1 on, or 0 for the whole grammar.
func syntaxError(line int, got, want string) error {
	where := "grammar"
	if line > 0 {
		where = fmt.Sprintf("grammar: line %d", line)
	}
	return &kernel.Error{Where: where, Got: got, Want: want}
}

// schemaError reports a part of a schema, and of long keys and values the beginning.
func schemaError(path, got, want string) *kernel.Error {
	return &kernel.Error{Where: fmt.Sprintf("grammar: schema %.200s", path), Got: fmt.Sprintf("%.200s", got), Want: want}
}

func limitError(what string, most int) *kernel.Error {
	return &kernel.Error{Where: "grammar", Got: fmt.Sprintf("more than %d %s", most, what), Want: "fewer", Kind: ErrLimit}
}
