package python

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// escaped writes a character that cannot be printed.
func escaped(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// JSON returns the characters of a string as json.dumps writes them between quotes. ensure says
// whether it escapes what is not ASCII.
func JSON(s string, ensure bool) string {
	var b strings.Builder
	for _, r := range s {
		e, ok := jsonEscapes[r]
		switch {
		case ok:
			b.WriteString(e)
		case r < ' ' || ensure && 0x7f <= r && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case ensure && r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
