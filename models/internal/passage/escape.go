package passage

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns a text as a terminal may show it: without control characters, which could change
// the terminal or hide text. These, characters that change the direction of writing, and bytes that
// are not UTF-8 become \x1b, \u202e and the like; tabs stay.
func Escape(text string) string {
	if strings.IndexFunc(text, hides) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !hides(r):
			b.WriteString(text[i : i+n])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// hides returns whether a character is no text but changes how text is shown.
func hides(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
