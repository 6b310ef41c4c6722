package tokenizer

import "fmt"

// ConfigError reports what a file says of a tokenizer that this package cannot work with. Find it
// with errors.As.
type ConfigError struct {
	Item string // what is wrong: "tokenizer.json: normalizer.type", "token 17", ...
	Got  string // what it is
	Want string // what was expected
}

// Error returns "tokenizer: ITEM: got GOT, want WANT".
func (e *ConfigError) Error() string {
	return fmt.Sprintf("tokenizer: %s: got %s, want %s", e.Item, e.Got, e.Want)
}
