package embedding

import "fmt"

// LengthError reports a text that has more tokens than the model sees. Find it with errors.As.
type LengthError struct {
	Text   int // its number in the call
	Tokens int // that it has
	Max    int // that the model sees
}

// Error says how many tokens the text has and how many the model sees.
func (e *LengthError) Error() string {
	return fmt.Sprintf("embedding: text %d: got %d tokens, want at most %d", e.Text, e.Tokens, e.Max)
}
