package longest

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	_ "github.com/attn-go/attn/models/internal/testweights" // the flag -refs
)

// set returns the set of some texts, whose ids are their indices.
func set(texts ...string) *Set {
	tokens := make([]Token, len(texts))
	for i, text := range texts {
		tokens[i] = Token{text, int32(i)}
	}
	return New(tokens)
}

func TestMatch(t *testing.T) {
	texts := []string{"ab", "a", "abcd", "b", "\xff\xff", "\xffa", "é", "\x00"}
	s := set(texts...)
	for text, want := range map[string]string{
		"": "", "c": "", "a": "a", "ab": "ab", "abc": "ab", "abcd": "abcd", "abcde": "abcd", "aab": "a", "ba": "b",
		"\xff": "", "\xff\xff\xff": "\xff\xff", "\xffab": "\xffa", "éa": "é", "\xc3": "", "\x00\x00": "\x00",
	} {
		id, n := s.Match(text)
		if text[:n] != want || n > 0 && texts[id] != want {
			t.Errorf("%q: got %q and id %d, want %q", text, text[:n], id, want)
		}
	}
	if _, n := New(nil).Match("a"); n != 0 {
		t.Errorf("no tokens: got %d bytes", n)
	}
	if id, n := New([]Token{{"a", 7}, {"a", 7}, {"ab", 8}}).Match("abc"); id != 8 || n != 2 {
		t.Errorf("a token twice: got id %d, %d bytes", id, n)
	}
}

// All matches in a text equal the matches of a search through all tokens.
func TestAllMatches(t *testing.T) {
	var texts []string
	for i := 1; i < 400; i++ {
		texts = append(texts, fmt.Sprintf("%b", i*i)+strings.Repeat("1", i%5))
	}
	s := set(texts...)
	text := strings.Repeat("1101001110101000111101", 20)
	for i := range text {
		want := 0
		for _, token := range texts {
			if strings.HasPrefix(text[i:], token) {
				want = max(want, len(token))
			}
		}
		if _, n := s.Match(text[i:]); n != want {
			t.Errorf("at byte %d: got %d bytes, want %d", i, n, want)
		}
	}
}

// Whatever the tokens, a match looks at a number of them that depends on the length of what it
// finds in common with the text, and on the logarithm of the number of tokens.
func TestWork(t *testing.T) {
	const many = 50_000
	sets := map[string][]string{}
	for i := range many {
		sets["one first byte"] = append(sets["one first byte"], fmt.Sprintf("<%d|", i))
		sets["one long prefix"] = append(sets["one long prefix"], strings.Repeat("<", 200)+fmt.Sprint(i))
	}
	for i := range 3000 {
		sets["each in the next"] = append(sets["each in the next"], strings.Repeat("<", i+1))
		sets["each leaves the next"] = append(sets["each leaves the next"], strings.Repeat("<", i)+">")
	}
	for name, texts := range sets {
		s := set(texts...)
		for text, common := range map[string]int{strings.Repeat("<", 3000): 3000, "<" + strings.Repeat("5", 3000): 8, strings.Repeat("<", 200) + "77777": 300} {
			_, _, looks := s.match(text)
			if most := 2 * (common + 1) * (bits.Len(uint(len(texts))) + 1); looks == 0 || looks > most {
				t.Errorf("%s: %.20q, %d bytes: looks at %d tokens, want at most %d", name, text, len(text), looks, most)
			}
		}
		if _, _, looks := s.match("x<"); looks != 0 {
			t.Errorf("%s: looks at %d tokens that begin with another byte", name, looks)
		}
	}
}
