package decoder

import (
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// ErrContext is the kind of a [kernel.Error] about a text that would be longer than the context.
// The text has not grown.
var ErrContext = errors.New("decoder: the context is full")

// tokenError reports a token that the model's vocabulary does not have, among the tokens that a
// call adds to a text, which has this number in the call.
func tokenError(text, index int, token int32, vocab int) error {
	return &kernel.Error{Where: fmt.Sprintf("decoder: text %d: token %d", text, index), Got: fmt.Sprintf("id %d", token), Want: fmt.Sprintf("0 to %d", vocab-1)}
}

// contextError reports a text, by its number in the call, that would have more tokens than the
// context.
func contextError(text, length, context int) error {
	return &kernel.Error{Where: fmt.Sprintf("decoder: text %d", text), Got: fmt.Sprintf("%d tokens", length), Want: fmt.Sprintf("at most %d, the context", context), Kind: ErrContext}
}
