package wordpiece

import "fmt"

// ConfigError reports a vocabulary or a setting that the tokenizer cannot work with. Find it with
// errors.As.
type ConfigError struct {
	Item string // what is wrong: "vocab.txt", "token 17", "tokenizer.json: normalizer.type", ...
	Got  string // what it is
	Want string // what was expected
}

// Error returns "wordpiece: ITEM: got GOT, want WANT".
func (e *ConfigError) Error() string {
	return fmt.Sprintf("wordpiece: %s: got %s, want %s", e.Item, e.Got, e.Want)
}
