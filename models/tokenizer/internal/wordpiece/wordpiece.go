// Package wordpiece applies a vocabulary of WordPiece to words: of each the longest known beginning
// becomes a token, then the longest known continuation, and so on.
package wordpiece

import (
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/longest"
)

// MaxWord is the largest limit on the characters of a word. It bounds the work for every character
// of a text, as the tokens of a word can take time in proportion to the square of its length. Known
// models have 100 or 200.
const MaxWord = 256

// Model is a vocabulary. It does not change and is safe for concurrent use.
type Model struct {
	words, rests vocabulary // tokens that begin a word, and those that continue one, without the prefix
	unknown      int32
	max          int // characters of a word that is split
}

// New returns the model of a vocabulary in which prefix marks tokens that continue a word. A word
// of more than max characters is unknown. It keeps ids, which must not change.
func New(ids map[string]int32, prefix string, unknown int32, max int) *Model {
	all := make([]longest.Token, 0, len(ids))
	var continued []longest.Token
	for text, id := range ids {
		if !utf8.ValidString(text) || text == "" { // a token ends where a character ends
			continue
		}
		all = append(all, longest.Token{Text: text, ID: id})
		if rest, ok := strings.CutPrefix(text, prefix); ok && rest != "" {
			continued = append(continued, longest.Token{Text: rest, ID: id})
		}
	}
	words := vocabulary{ids, longest.New(all)}
	if len(all) < len(ids) {
		words = newVocabulary(all)
	}
	return &Model{words, newVocabulary(continued), unknown, max}
}

// vocabulary finds the longest token that a word begins with.
type vocabulary struct {
	whole  map[string]int32
	prefix *longest.Set
}

func newVocabulary(tokens []longest.Token) vocabulary {
	v := vocabulary{make(map[string]int32, len(tokens)), longest.New(tokens)}
	for _, t := range tokens {
		v.whole[t.Text] = t.ID
	}
	return v
}

func (v *vocabulary) first(word string) (id int32, length int) {
	if id, ok := v.whole[word]; ok { // as most words are
		return id, len(word)
	}
	return v.prefix.Match(word)
}

// Append appends the tokens of a word.
func (m *Model) Append(ids []int32, word string) []int32 {
	if len(word) > m.max && utf8.RuneCountInString(word) > m.max {
		return append(ids, m.unknown)
	}
	known := len(ids)
	v := &m.words
	for word != "" {
		id, n := v.first(word)
		if n == 0 {
			return append(ids[:known], m.unknown)
		}
		ids = append(ids, id)
		word = word[n:]
		v = &m.rests
	}
	return ids
}
