package grammar

import "fmt"

// A SyntaxError reports a place in the text of a grammar.
type SyntaxError struct {
	Line int // from 1; 0 for the whole grammar
	Got  string
	Want string
}

// Error returns "grammar: line LINE: got GOT, want WANT".
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("grammar: got %s, want %s", e.Got, e.Want)
	}
	return fmt.Sprintf("grammar: line %d: got %s, want %s", e.Line, e.Got, e.Want)
}

// A SchemaError reports a part of a JSON Schema that this package does not take, or one that no
// value can satisfy.
type SchemaError struct {
	Path string // a JSON Pointer, as in a URL: "#/properties/age/minimum"
	Got  string
	Want string
}

// Error returns "grammar: schema PATH: got GOT, want WANT", of long keys and values the beginning.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("grammar: schema %.200s: got %.200s, want %s", e.Path, e.Got, e.Want)
}

// A LimitError reports a grammar, a schema or a text of one that would take too much memory or time.
type LimitError struct {
	What string // such as "states"
	Most int
}

// Error returns "grammar: more than MOST WHAT".
func (e *LimitError) Error() string {
	return fmt.Sprintf("grammar: more than %d %s", e.Most, e.What)
}

// A TokenError reports a token that may not follow.
type TokenError struct{ Token int32 }

// Error names the token.
func (e *TokenError) Error() string {
	return fmt.Sprintf("grammar: token %d may not follow here", e.Token)
}
