// Package added finds the tokens that are cut out of a text before it is split into words:
// special tokens such as [SEP] and <|im_end|>.
package added

import "github.com/attn-go/attn/models/tokenizer/internal/longest"

// MaxLength is the largest length of a token in bytes. It bounds the work for every byte of a text,
// whatever the vocabulary. Those of known models are far shorter.
const MaxLength = 256

// Token is such a token. Its text is not empty.
type Token = longest.Token

// Set is a set of tokens with different texts. It does not change and is safe for concurrent
// use.
type Set struct{ tokens *longest.Set }

// New returns the set of tokens.
func New(tokens []Token) *Set { return &Set{longest.New(tokens)} }

// At returns the longest token that text begins with, if any.
func (s *Set) At(text string) (Token, bool) {
	id, n := s.tokens.Match(text)
	return Token{Text: text[:n], ID: id}, n > 0
}

// Cut returns the text before the leftmost token, that token, and the text after it. Of tokens
// that begin at the same byte it finds the longest. If there is none, before is all of the text.
func (s *Set) Cut(text string) (before string, t Token, after string, found bool) {
	for i := range len(text) {
		if t, ok := s.At(text[i:]); ok {
			return text[:i], t, text[i+len(t.Text):], true
		}
	}
	return text, Token{}, "", false
}
