package heat

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// CharacterLabels returns a label for each character of a text: the character itself, a
// middle dot for a space, \n, \t and \r for these characters, and the number of the
// character in hexadecimal for others that cannot be printed.
func CharacterLabels(text string) []string {
	var labels []string
	for _, r := range text {
		labels = append(labels, label(r, unicode.MaxRune))
	}
	return labels
}

// ByteLabels returns a label for each byte of a text: as [CharacterLabels] does for
// ASCII characters, and two hexadecimal digits for other bytes.
func ByteLabels(text []byte) []string {
	var labels []string
	for _, b := range text {
		labels = append(labels, label(rune(b), unicode.MaxASCII))
	}
	return labels
}

// label returns the label of a character. Characters above last are written as numbers.
func label(r, last rune) string {
	switch {
	case r == ' ':
		return "·"
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r > last || r == utf8.RuneError || !unicode.IsPrint(r):
		return fmt.Sprintf("%02x", r)
	}
	return string(r)
}
