package normalize

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// isRemoved returns whether a character is dropped as if it were not there. U+FFFD also stands
// for bytes that are not UTF-8. Tab, newline and return are not asked about.
func isRemoved(r rune) bool {
	return r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// ideographs are the blocks that BERT takes for CJK ideographs. It has U+2B920 where the block
// before ends at U+2B81F.
var ideographs = [...][2]rune{
	{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
	{0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f},
}

func isIdeograph(r rune) bool {
	if r < 0x3400 {
		return false
	}
	for _, block := range ideographs {
		if block[0] <= r && r <= block[1] {
			return true
		}
	}
	return false
}

// mark is a character with its canonical combining class, which is 0 for all but marks.
type mark struct {
	char  rune
	class uint8
}

// sortMarks puts a run of marks whose class is not 0 into canonical order. Package norm would, for
// the sake of streams, put another character between more than 30 of them.
func sortMarks(m []mark) {
	slices.SortStableFunc(m, func(a, b mark) int { return cmp.Compare(a.class, b.class) })
}

// appendDecomposed appends the characters of r's canonical decomposition, which is mostly r itself.
func appendDecomposed(m []mark, r rune) []mark { return appendForm(m, norm.NFD, r) }

// appendForm appends the characters of r's decomposition in the form NFD or NFKD.
func appendForm(m []mark, f norm.Form, r rune) []mark {
	if r >= hangul && r < hangul+hangulCount {
		return appendHangul(m, r-hangul)
	}
	var buf [utf8.UTFMax]byte
	p := f.Properties(buf[:utf8.EncodeRune(buf[:], r)])
	d := p.Decomposition()
	if d == nil {
		return append(m, mark{r, p.CCC()})
	}
	for len(d) > 0 {
		c, n := utf8.DecodeRune(d)
		m = append(m, mark{c, norm.NFD.Properties(d).CCC()})
		d = d[n:]
	}
	return m
}

// Syllables of hangul are a block in which leading consonants, vowels and trailing consonants
// vary, the last fastest.
const (
	hangul      = 0xac00
	hangulCount = 11172
	leading     = 0x1100
	vowel       = 0x1161
	vowels      = 21
	trailing    = 0x11a7 // of none; the first one follows
	trailings   = 28
)

// appendHangul appends the letters of a syllable.
func appendHangul(m []mark, syllable rune) []mark {
	m = append(m, mark{char: leading + syllable/(vowels*trailings)}, mark{char: vowel + syllable/trailings%vowels})
	if t := syllable % trailings; t > 0 {
		m = append(m, mark{char: trailing + t})
	}
	return m
}
