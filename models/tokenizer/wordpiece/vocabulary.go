package wordpiece

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/longest"
)

// vocabulary finds the longest token that a word begins with.
type vocabulary struct {
	whole  map[string]int32
	prefix *longest.Set
}

// vocabularies returns the tokens for beginnings of words, and those that continue one, without ##.
// A token ## alone begins a word and continues none.
func vocabularies(tokens []string) (words, rests vocabulary) {
	var continued []longest.Token
	all := make([]longest.Token, len(tokens))
	for i, token := range tokens {
		all[i] = longest.Token{Text: token, ID: int32(i)}
		if rest, ok := strings.CutPrefix(token, continuation); ok && rest != "" {
			continued = append(continued, longest.Token{Text: rest, ID: int32(i)})
		}
	}
	return newVocabulary(all), newVocabulary(continued)
}

// newVocabulary returns a vocabulary of those tokens that are UTF-8, as words are: a token ends
// where a character ends.
func newVocabulary(tokens []longest.Token) vocabulary {
	tokens = slices.DeleteFunc(tokens, func(t longest.Token) bool { return !utf8.ValidString(t.Text) })
	v := vocabulary{make(map[string]int32, len(tokens)), longest.New(tokens)}
	for _, t := range tokens {
		v.whole[t.Text] = t.ID
	}
	return v
}

// first returns the longest token that word begins with and its length in bytes, which is 0 if
// there is none.
func (v *vocabulary) first(word []byte) (id int32, length int) {
	if id, ok := v.whole[string(word)]; ok { // as most words are
		return id, len(word)
	}
	return v.prefix.Match(string(word))
}
