package decoder

import "fmt"

// A TensorError reports a tensor that a file lacks, that has another shape than the metadata
// say, or that this package has no use for.
type TensorError struct {
	Tensor string // its name
	Got    string // what the file has
	Want   string // what was expected
}

// Error returns "decoder: tensor NAME: got GOT, want WANT".
func (e *TensorError) Error() string {
	return fmt.Sprintf("decoder: tensor %q: got %s, want %s", e.Tensor, e.Got, e.Want)
}

// A TokenError reports a token that the model's vocabulary does not have.
type TokenError struct {
	Text  int   // the number of the text or prompt in the call
	Index int   // of the token among those that the call adds to the text
	Token int32 // the token
	Vocab int   // the number of tokens of the vocabulary
}

// Error says which token it is and which ones there are.
func (e *TokenError) Error() string {
	return fmt.Sprintf("decoder: text %d: token %d: got id %d, want 0 to %d", e.Text, e.Index, e.Token, e.Vocab-1)
}

// A ContextError reports a text that would be longer than the context. The text has not
// grown.
type ContextError struct {
	Text    int // the number of the text or prompt in the call
	Length  int // tokens that the text would have
	Context int // tokens that a text may have, see Options.Context
}

// Error returns both lengths.
func (e *ContextError) Error() string {
	return fmt.Sprintf("decoder: the context is full: text %d would have %d tokens, want at most %d", e.Text, e.Length, e.Context)
}

// An OptionError reports an option that is out of range.
type OptionError struct {
	Option string // such as "Options.Context"
	Got    string
	Want   string
}

// Error returns "decoder: OPTION: got GOT, want WANT".
func (e *OptionError) Error() string {
	return fmt.Sprintf("decoder: %s: got %s, want %s", e.Option, e.Got, e.Want)
}

// A ConfigError reports a key of a JSON file in a folder whose value is missing, of another form than
// expected, or one that this package does not compute.
type ConfigError struct {
	File string // such as "config.json"
	Key  string // with the keys of the objects around it, or "" for the whole file
	Got  string
	Want string
}

// Error returns "decoder: FILE: KEY: got GOT, want WANT".
func (e *ConfigError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("decoder: %s: got %s, want %s", e.File, e.Got, e.Want)
	}
	return fmt.Sprintf("decoder: %s: %s: got %s, want %s", e.File, e.Key, e.Got, e.Want)
}
