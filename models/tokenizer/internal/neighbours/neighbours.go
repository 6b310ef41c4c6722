// Package neighbours knows which characters stand beside each other within the tokens of a
// vocabulary. Where two others meet, no token goes on, so that a text can be cut there.
package neighbours

import (
	"iter"
	"unicode/utf8"
)

// A Set has the pairs of neighbours.
type Set map[[2]rune]bool

// Of returns the pairs of characters of tokens, or, if bytes is set, the pairs of their bytes.
func Of(tokens iter.Seq[string], bytes bool) Set {
	s := Set{}
	for text := range tokens {
		last := rune(-1)
		for i := 0; i < len(text); {
			r, size := rune(text[i]), 1
			if !bytes {
				r, size = utf8.DecodeRuneInString(text[i:])
			}
			if last >= 0 {
				s[[2]rune{last, r}] = true
			}
			last = r
			i += size
		}
	}
	return s
}
