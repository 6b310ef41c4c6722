package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// text takes a string literal.
func (l *lexer) text(quote byte) {
	var b strings.Builder
	i := 1
	for i < len(l.rest) && l.rest[i] != quote {
		if l.rest[i] != '\\' {
			b.WriteByte(l.rest[i])
			i++
			continue
		}
		i += l.escape(&b, l.rest[i:])
	}
	if i >= len(l.rest) {
		fail(l.line, "a string that does not end")
	}
	l.add(text, b.String())
	l.skip(i + 1)
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\\': "\\", '\'': "'", '"': "\"", '\n': ""}

// hexDigits is how many digits follow \x, \u and \U.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// escape appends the character of an escape sequence and returns the sequence's length. What is
// none stands for itself, as in Python.
func (l *lexer) escape(b *strings.Builder, s string) int {
	if len(s) < 2 {
		fail(l.line, "a string that does not end")
	}
	if to, ok := escapes[s[1]]; ok {
		b.WriteString(to)
		return 2
	}
	if n := hexDigits[s[1]]; n > 0 {
		if len(s) < 2+n {
			fail(l.line, "a string that does not end")
		}
		code, err := strconv.ParseUint(s[2:2+n], 16, 32)
		if err != nil || code > utf8.MaxRune {
			fail(l.line, "the escape sequence %q", s[:2+n])
		}
		b.WriteRune(rune(code))
		return 2 + n
	}
	n := 1
	for n < 4 && n < len(s) && '0' <= s[n] && s[n] <= '7' {
		n++
	}
	if n > 1 {
		code, _ := strconv.ParseUint(s[1:n], 8, 32)
		b.WriteRune(rune(code))
		return n
	}
	b.WriteByte('\\')
	return 1
}
