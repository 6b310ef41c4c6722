package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/regex"
)

// Lowercase is a Func: the lower case of each character by itself.
func Lowercase(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			out = append(out, text[i])
		} else {
			out = appendLower(out, r)
		}
		i += n
	}
	return string(out)
}

// StripAccents is a Func that drops marks.
func StripAccents(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return r
	}, text)
}

// Nmt is a Func that drops control characters and makes others a space, as SentencePiece's rules of
// that name do.
func Nmt(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 1 <= r && r <= 8, r == 0xb, 0xe <= r && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
			return -1
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200b <= r && r <= 0x200f,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	}, text)
}

// Prepend returns a Func that puts a text before another one that is not empty.
func Prepend(before string) Func {
	return func(text string) string {
		if text == "" {
			return text
		}
		return before + text
	}
}

// Replace returns a Func that replaces all occurrences of a text, which is not empty.
func Replace(old, new string) Func {
	return func(text string) string { return strings.ReplaceAll(text, old, new) }
}

// ReplaceMatches returns a Func that replaces all matches of an expression.
func ReplaceMatches(re *regex.Regex, new string) Func {
	return func(text string) string {
		var out strings.Builder
		re.Split(text, func(part string, match bool) bool {
			if match {
				part = new
			}
			out.WriteString(part)
			return true
		})
		return out.String()
	}
}

// Strip returns a Func that drops white space at the ends of a text.
func Strip(left, right bool) Func {
	return func(text string) string {
		if left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}
}

// Valid returns the text with U+FFFD for bytes that are not UTF-8: one for each beginning of a
// character that is broken off and each byte that begins none, as in Rust and Python.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	out := make([]byte, 0, len(text)+8)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			n = Broken(text[i:])
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out)
}

// Broken returns the number of bytes that one U+FFFD replaces where a text begins with bytes that
// are not UTF-8: those that a character could begin with, at least one.
func Broken(text string) int {
	n := 1
	for n < len(text) && !utf8.FullRuneInString(text[:n+1]) {
		n++
	}
	return n
}
