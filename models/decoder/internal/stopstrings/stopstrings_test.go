package stopstrings

import (
	"math/rand/v2"
	"strings"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// The first of some strings that is complete ends a text, wherever pieces begin and end, and a
// piece gives all that cannot be part of a string any more.
func TestFinder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = "ab"[random.IntN(2)]
		}
		return string(text)
	}
	stops := 0
	for range 3000 {
		var list []string
		for range 1 + random.IntN(3) {
			list = append(list, letters(1+random.IntN(6)))
		}
		text := letters(random.IntN(24))
		want, ends := before(text, list)
		s, got, stopped := New(list), "", false
		for at := 0; at < len(text) && !stopped; {
			n := 1 + random.IntN(min(5, len(text)-at))
			var piece string
			piece, stopped = s.Add(text[at : at+n])
			at, got = at+n, got+piece
			if keep := mayBegin(text[:at], list); !stopped && got != text[:at-keep] {
				t.Fatalf("%q of %q with %q: %q is out, want all but %d bytes", text[:at], text, list, got, keep)
			}
		}
		if !stopped {
			got += s.Rest()
		}
		if got != want || stopped != ends {
			t.Fatalf("%q with %q: %q, %v, want %q, %v", text, list, got, stopped, want, ends)
		}
		if ends {
			if found := s.Found(); text[len(want):][:len(found)] != found || len(found) == 0 {
				t.Fatalf("%q with %q: found %q after %q", text, list, found, want)
			}
			stops++
		}
	}
	if stops < 1000 || stops > 2900 {
		t.Errorf("%d of 3000 texts end", stops)
	}
}

// before returns by the definition the text before the string that ends it.
func before(text string, list []string) (string, bool) {
	for end := range len(text) + 1 {
		longest := 0
		for _, s := range list {
			if strings.HasSuffix(text[:end], s) {
				longest = max(longest, len(s))
			}
		}
		if longest > 0 {
			return text[:end-longest], true
		}
	}
	return text, false
}

// mayBegin returns the length of the longest end of a text that any of the strings begins with.
func mayBegin(text string, list []string) (longest int) {
	for _, s := range list {
		for n := range len(s) {
			if strings.HasSuffix(text, s[:n]) {
				longest = max(longest, n)
			}
		}
	}
	return longest
}
