package normalize

import (
	"unicode"
	"unicode/utf8"
)

// Bert has the settings of BertNormalizer.
type Bert struct {
	Clean   bool // drop control characters, make white space a space
	CJK     bool // put spaces around CJK ideographs
	Accents bool // drop accents: decompose characters and drop marks without a width
	Lower   bool // lower case
}

// Normalize is a Func.
func (b Bert) Normalize(text string) string {
	n := bert{Bert: b, out: make([]byte, 0, len(text)+len(text)/8)}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			n.ascii(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		n.rune(r)
		i += size
	}
	n.flush()
	return string(n.out)
}

// bert normalizes a text character by character. Marks are kept back until their order is known.
type bert struct {
	Bert
	out   []byte
	marks []mark
	parts []mark // of the decomposition of one character
}

// removed are the ASCII characters that cleaning drops.
func removed(c byte) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f
}

func (n *bert) ascii(c byte) {
	if n.Clean {
		if removed(c) {
			return
		}
		if c == '\t' || c == '\n' || c == '\r' {
			c = ' '
		}
	}
	if len(n.marks) > 0 {
		n.flush()
	}
	if n.Lower && 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	n.out = append(n.out, c)
}

func (n *bert) rune(r rune) {
	switch {
	case n.Clean && isRemoved(r):
	case n.Clean && unicode.Is(unicode.White_Space, r):
		n.ascii(' ')
	case n.CJK && isIdeograph(r):
		n.ascii(' ')
		n.decompose(r)
		n.ascii(' ')
	default:
		n.decompose(r)
	}
}

func (n *bert) decompose(r rune) {
	if !n.Accents {
		n.lower(r)
		return
	}
	n.parts = appendDecomposed(n.parts[:0], r)
	for _, m := range n.parts {
		if m.class > 0 {
			n.marks = append(n.marks, m)
			continue
		}
		n.flush()
		n.unaccented(m.char)
	}
}

// flush takes the marks in their canonical order. Those that are accents are dropped, so that the
// order matters for a few others only.
func (n *bert) flush() {
	sortMarks(n.marks)
	for _, m := range n.marks {
		n.unaccented(m.char)
	}
	n.marks = n.marks[:0]
}

func (n *bert) unaccented(r rune) {
	if !unicode.Is(unicode.Mn, r) {
		n.lower(r)
	}
}

func (n *bert) lower(r rune) {
	if n.Lower {
		n.out = appendLower(n.out, r)
	} else {
		n.out = utf8.AppendRune(n.out, r)
	}
}

// appendLower appends the lower case of a character by itself. Only İ has a lower case of two
// characters.
func appendLower(out []byte, r rune) []byte {
	if r == 'İ' {
		return append(out, "i\u0307"...)
	}
	return utf8.AppendRune(out, unicode.ToLower(r))
}
