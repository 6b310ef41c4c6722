package python

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// IsSpace is what Python takes for white space.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// EndsLine is what splitlines takes for the end of a line. \r\n is one.
func EndsLine(r rune) bool {
	return '\n' <= r && r <= '\r' || 0x1c <= r && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

// IsASCII is isascii.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Upper is upper, with all mappings of Unicode: ß becomes SS.
func Upper(s string) string {
	if IsASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

// Lower is lower.
func Lower(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und, cases.HandleFinalSigma(true)).String(s)
}

// Fold is casefold.
func Fold(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Fold().String(s)
}

// title returns a character in title case.
func title(c rune) string {
	if c < utf8.RuneSelf {
		return string(unicode.ToUpper(c))
	}
	return cases.Title(language.Und, cases.NoLower).String(string(c))
}

// Titler returns title, for the parts of a string in turn.
func Titler() func(string) string {
	cased := false // whether the last character is
	return func(s string) string {
		var b strings.Builder
		for i, c := range s {
			if cased {
				b.WriteString(lower(c, s[i:]))
			} else {
				b.WriteString(title(c))
			}
			cased = IsCased(c)
		}
		return b.String()
	}
}

// Words returns the filter title of jinja2, for the parts of a string in turn: a word ends at white
// space and at any of -({[<.
func Words() func(string) string {
	n := 0 // characters of the word so far
	return func(s string) string {
		var b strings.Builder
		for i, c := range s {
			if n++; IsSpace(c) || strings.ContainsRune("-({[<", c) {
				n = 0
			}
			switch {
			case n == 1:
				b.WriteString(Upper(string(c)))
			case n > 2:
				b.WriteString(lower(c, s[i:]))
			default:
				b.WriteString(Lower(string(c)))
			}
		}
		return b.String()
	}
}

// lower returns a character that follows a letter in lower case. s begins with it: a sigma at the
// end of a word has a form of its own.
func lower(c rune, s string) string {
	if c == 'Σ' {
		if next, _ := utf8.DecodeRuneInString(s[utf8.RuneLen(c):]); !IsCased(next) {
			return "ς"
		}
	}
	return Lower(string(c))
}

// Capitalizer returns capitalize, for the parts of a string in turn.
func Capitalizer() func(string) string {
	begun := false
	return func(s string) string {
		if begun || s == "" {
			return Lower(s)
		}
		begun = true
		first, n := utf8.DecodeRuneInString(s)
		return title(first) + Lower(s[n:])
	}
}

// SwapCase is swapcase.
func SwapCase(s string) string {
	var b strings.Builder
	cased := false // whether the last character is
	for i, c := range s {
		switch {
		case isUpper(c) && cased:
			b.WriteString(lower(c, s[i:]))
		case isUpper(c):
			b.WriteString(Lower(string(c)))
		case isLower(c):
			b.WriteString(Upper(string(c)))
		default:
			b.WriteRune(c)
		}
		cased = IsCased(c)
	}
	return b.String()
}

func isUpper(c rune) bool { return unicode.IsUpper(c) || unicode.Is(unicode.Other_Uppercase, c) }
func isLower(c rune) bool { return unicode.IsLower(c) || unicode.Is(unicode.Other_Lowercase, c) }

// IsCased tells whether a character is of upper, lower or title case.
func IsCased(c rune) bool { return isUpper(c) || isLower(c) || unicode.IsTitle(c) }

// IsUpper is isupper: some character is cased, and all of those are of upper case.
func IsUpper(s string) bool { return ofCase(s, isUpper) }

// IsLower is islower.
func IsLower(s string) bool { return ofCase(s, isLower) }

func ofCase(s string, is func(rune) bool) bool {
	some := false
	for _, c := range s {
		if IsCased(c) {
			if some = true; !is(c) {
				return false
			}
		}
	}
	return some
}

// IsTitle is istitle: words begin with upper or title case, and go on with lower case.
func IsTitle(s string) bool {
	some, cased := false, false
	for _, c := range s {
		switch {
		case isUpper(c) || unicode.IsTitle(c):
			if cased {
				return false
			}
			some, cased = true, true
		case isLower(c):
			if !cased {
				return false
			}
		default:
			cased = false
		}
	}
	return some
}

// Every returns a test whether a string is not empty and has characters of a class alone.
func Every(is func(rune) bool) func(string) bool {
	return func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !is(c) }) < 0
	}
}

// IsAlpha and the others are what isalpha and so on ask of each character.
func IsAlpha(c rune) bool   { return unicode.IsLetter(c) }
func IsDecimal(c rune) bool { return unicode.Is(unicode.Nd, c) }
func IsDigit(c rune) bool   { return IsDecimal(c) || unicode.Is(otherDigits, c) }
func IsNumeric(c rune) bool { return unicode.Is(unicode.N, c) || unicode.Is(numerals, c) }
func IsAlnum(c rune) bool   { return IsAlpha(c) || IsNumeric(c) }

// IsIdentifier is isidentifier.
func IsIdentifier(s string) bool {
	for i, c := range s {
		if c == '_' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c) || unicode.Is(unicode.Other_ID_Start, c) {
			continue
		}
		if i == 0 || !unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue) {
			return false
		}
	}
	return s != ""
}

// Quoted returns the characters of a string as repr writes them between mark.
func Quoted(s string, mark rune) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\\' || c == mark:
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			b.WriteString(escaped(c))
		}
	}
	return b.String()
}

// ASCII escapes what is not ASCII as ascii does, in a string that is quoted.
func ASCII(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
		} else {
			b.WriteString(escaped(c))
		}
	}
	return b.String()
}

// IsPrintable is isprintable.
func IsPrintable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}
