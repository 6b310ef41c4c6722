package normalize

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Form returns the normalizer of a form of Unicode: "NFC", "NFD", "NFKC", "NFKD", and whether there
// is such a form.
func Form(name string) (Func, bool) {
	f, ok := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[name]
	return func(text string) string { return apply(f, text) }, ok
}

// joiner is what package norm puts between more than 30 marks, for the sake of streams.
const joiner = "\u034f"

func apply(f norm.Form, text string) string {
	if f.IsNormalString(text) {
		return text
	}
	out := f.String(text)
	if strings.Count(out, joiner) == strings.Count(text, joiner) {
		return out
	}
	return applyWhole(f, text)
}

// applyWhole is apply by the definition, for texts with any number of marks after each other.
func applyWhole(f norm.Form, text string) string {
	full := norm.NFD
	if f == norm.NFKC || f == norm.NFKD {
		full = norm.NFKD
	}
	var all []mark
	begin := 0 // of the marks at the end
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		for _, m := range appendForm(nil, full, r) {
			if m.class == 0 {
				sortMarks(all[begin:])
				begin = len(all) + 1
			}
			all = append(all, m)
		}
		i += n
	}
	sortMarks(all[min(begin, len(all)):])
	if f == norm.NFC || f == norm.NFKC {
		all = compose(all)
	}
	var out []byte
	for _, m := range all {
		out = utf8.AppendRune(out, m.char)
	}
	return string(out)
}

// compose joins each character with the last one before it that is no mark, unless a mark of the
// same class or a higher one stands between them.
func compose(all []mark) []mark {
	out := all[:0]
	base, last := -1, uint8(0) // the character to join with, and the class before the next one
	for _, m := range all {
		if base >= 0 && (last < m.class || last == 0 && base == len(out)-1) {
			joined := norm.NFC.String(string([]rune{out[base].char, m.char}))
			if r, n := utf8.DecodeRuneInString(joined); n == len(joined) {
				out[base].char = r
				continue
			}
		}
		if m.class == 0 {
			base = len(out)
		}
		last = m.class
		out = append(out, m)
	}
	return out
}
