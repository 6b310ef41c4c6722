package bpe

import "fmt"

// ConfigError reports a vocabulary, a merge or a setting that the tokenizer cannot work with. Find
// it with errors.As.
type ConfigError struct {
	Item string // what is wrong: "Config.Pre", "token 17", "merge 4", ...
	Got  string // what it is
	Want string // what was expected
}

// Error returns "bpe: ITEM: got GOT, want WANT".
func (e *ConfigError) Error() string {
	return fmt.Sprintf("bpe: %s: got %s, want %s", e.Item, e.Got, e.Want)
}
