package encoder

import "fmt"

// A ModelError says what part of a model's files does not fit. Find it with [errors.As].
type ModelError struct {
	Path string // of the file
	Name string // of the tensor, with the file's prefix, or the key
	Got  string // what the file has: a type and shape, a value, or "nothing"
	Want string // what was expected
}

// Error returns "encoder: PATH: NAME: got GOT, want WANT".
func (e *ModelError) Error() string {
	return fmt.Sprintf("encoder: %s: %s: got %s, want %s", e.Path, e.Name, e.Got, e.Want)
}

// LengthError reports a text that has more tokens than the model sees. Find it with errors.As.
type LengthError struct {
	Text   int // its number in the call
	Tokens int // that it has
	Max    int // that the model sees
}

// Error says how many tokens the text has and how many the model sees.
func (e *LengthError) Error() string {
	return fmt.Sprintf("encoder: text %d: got %d tokens, want at most %d", e.Text, e.Tokens, e.Max)
}
