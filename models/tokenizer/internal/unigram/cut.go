package unigram

import "unicode/utf8"

// AtLeast tells whether a text is sure to have n tokens. Each character that is a token by itself
// is in one, and none has more bytes than the longest token. Others do not count, as what is
// unknown becomes one token.
func (e *Encoder) AtLeast(text string, n int) bool {
	longest := max(e.m.longest, utf8.UTFMax)
	if len(text)/longest < n {
		return false
	}
	want := n * longest
	known := 0
	for i := 0; i < len(text) && known < want; {
		_, size := utf8.DecodeRuneInString(text[i:])
		if e.m.known(text[i : i+size]) {
			known += size
		}
		i += size
	}
	return known >= want
}

// known tells whether a character is a token, and not the unknown token.
func (m *Model) known(char string) bool {
	id, ok := m.ids[char]
	return ok && id != m.unknown
}

// Cut returns the first index at or after from at which a text can be cut: no token has the
// characters before and after it beside each other, so that all ways through the text have a token
// that ends there, and the one after it is known, so that it does not become one piece with what is
// unknown before it.
func (e *Encoder) Cut(text string, from int) int {
	within := e.m.within()
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	for i := from; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		last, _ := utf8.DecodeLastRuneInString(text[:i])
		if e.m.known(text[i:i+size]) && !within[[2]rune{last, r}] {
			return i
		}
		i += size
	}
	return len(text)
}
