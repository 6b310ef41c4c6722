// Package added finds the tokens that are cut out of a text before it is split into words:
// special tokens such as [SEP] and <|im_end|>.
package added

import (
	"cmp"
	"slices"
	"strings"
)

// Token is such a token. Its text is not empty.
type Token struct {
	Text string
	ID   int32
}

// Set is a set of tokens with different texts. It does not change and is safe for concurrent
// use.
type Set struct {
	first [256][]Token // by their first byte, longest first
}

// New returns the set of tokens.
func New(tokens []Token) *Set {
	s := &Set{}
	for _, t := range tokens {
		s.first[t.Text[0]] = append(s.first[t.Text[0]], t)
	}
	for _, tokens := range s.first {
		slices.SortFunc(tokens, func(a, b Token) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	}
	return s
}

// At returns the longest token that text begins with, if any.
func (s *Set) At(text string) (Token, bool) {
	if text != "" {
		for _, t := range s.first[text[0]] {
			if strings.HasPrefix(text, t.Text) {
				return t, true
			}
		}
	}
	return Token{}, false
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
