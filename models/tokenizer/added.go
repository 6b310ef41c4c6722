package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer/internal/longest"
)

// maxAdded is the largest length of an added token in bytes. It bounds the work for every byte of a
// text, whatever the vocabulary. Tokens of known models are far shorter.
const maxAdded = 256

// addedToken is a token that is cut out of a text before the rest is split.
type addedToken struct {
	text        string
	id          int32
	special     bool
	normalized  bool // found in the text after normalizing, as its own text after normalizing
	single      bool // not within a word
	left, right bool // with the white space before and after it
}

// finder finds added tokens.
type finder struct {
	set    *longest.Set
	tokens []addedToken // the ids in set are indices
	begins [256]bool    // bytes that a token begins with
}

func newFinder(all []addedToken) (*finder, error) {
	f := &finder{tokens: all}
	var tokens []longest.Token
	for i, a := range all {
		if len(a.text) > maxAdded {
			return nil, &kernel.Error{Where: "tokenizer: added token", Got: fmt.Sprintf("%d bytes", len(a.text)), Want: fmt.Sprintf("at most %d", maxAdded)}
		}
		f.begins[a.text[0]] = true
		tokens = append(tokens, longest.Token{Text: a.text, ID: int32(i)})
	}
	f.set = longest.New(tokens)
	return f, nil
}

// find calls yield with the parts of a text: added tokens, and what is between them, with an id of
// -1. Of tokens that begin at the same byte it finds the longest. If plain is set, special tokens
// are text. It ends when yield returns false.
func (f *finder) find(text string, plain bool, yield func(part string, id int32, special bool) bool) bool {
	begin := 0
	for i := 0; i < len(text); {
		if !f.begins[text[i]] {
			i++
			continue
		}
		index, n := f.set.Match(text[i:])
		if n == 0 {
			i++
			continue
		}
		a, from, to := &f.tokens[index], i, i+n
		i = to
		if a.special && plain || a.single && (endsInWord(text[:from]) || beginsWithWord(text[to:])) {
			continue
		}
		if a.left {
			least := min(begin, from)
			from = least + len(strings.TrimRightFunc(text[least:from], unicode.IsSpace))
		}
		if a.right && to < begin { // within white space that the token before has taken
			to = begin
		} else if a.right {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
		}
		if a.left && to <= begin { // which leaves nothing of it
			continue
		}
		if begin < from && !yield(text[begin:from], -1, false) {
			return false
		}
		if !yield(text[from:to], a.id, a.special) {
			return false
		}
		begin = to
	}
	return begin >= len(text) || yield(text[begin:], -1, false)
}

func endsInWord(text string) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	return n > 0 && isWord(r)
}

func beginsWithWord(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && isWord(r)
}

func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
