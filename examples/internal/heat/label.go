package heat

import (
	"fmt"
	"unicode"
)

// Label returns one or two characters that show a character: a middle dot for a space,
// \n, \t and \r for these, and two hexadecimal digits for others without a shape and
// for what is no ASCII.
func Label(c rune) string {
	switch c {
	case ' ':
		return "·"
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	}
	if c > unicode.MaxASCII || !unicode.IsPrint(c) {
		return fmt.Sprintf("%02x", c)
	}
	return string(c)
}
