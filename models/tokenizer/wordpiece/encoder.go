package wordpiece

import (
	"unicode"
	"unicode/utf8"
)

// encoder encodes one text: it normalises it character by character, gathers the characters of a
// word, and appends the word's tokens where it ends. It stops at its limit.
type encoder struct {
	t     *Tokenizer
	ids   []int32
	limit int // on the number of ids

	word  []byte // normalised
	chars int    // of the word, also those beyond MaxWord, which word does not hold
	marks []mark // that follow the last character
	parts []mark // of the decomposition of one character
}

func (e *encoder) text(s string) {
	for i := 0; i < len(s) && len(e.ids) < e.limit; {
		if token, ok := e.t.special.At(s[i:]); ok {
			e.space()
			e.ids = append(e.ids, token.ID)
			i += len(token.Text)
			continue
		}
		if s[i] < utf8.RuneSelf {
			e.ascii(s[i])
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		e.rune(r)
		i += n
	}
	e.space()
}

// ascii does for ASCII what rune does for all characters.
func (e *encoder) ascii(c byte) {
	switch class[c] {
	case removed:
	case white:
		e.space()
	case sign:
		e.space()
		e.letter(rune(c))
		e.endWord()
	default:
		e.flushMarks()
		if !e.t.opts.KeepCase && 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		e.letter(rune(c))
	}
}

// rune takes a character of the text.
func (e *encoder) rune(r rune) {
	switch {
	case isRemoved(r):
	case unicode.Is(unicode.Z, r):
		e.space()
	case !e.t.opts.KeepCJK && isIdeograph(r):
		e.space()
		e.decompose(r)
		e.space()
	default:
		e.decompose(r)
	}
}

// decompose splits a character from its accents. Marks are kept back until their order is known.
func (e *encoder) decompose(r rune) {
	if e.t.opts.KeepAccents {
		e.normal(r)
		return
	}
	e.parts = appendDecomposed(e.parts[:0], r)
	for _, m := range e.parts {
		if m.class == 0 {
			e.flushMarks()
			e.unaccented(m.char)
			continue
		}
		e.marks = append(e.marks, m)
	}
}

// flushMarks takes the marks in their canonical order. Those that are accents are dropped, so that
// the order matters for a few others only.
func (e *encoder) flushMarks() {
	if len(e.marks) == 0 {
		return
	}
	sortMarks(e.marks)
	for _, m := range e.marks {
		e.unaccented(m.char)
	}
	e.marks = e.marks[:0]
}

func (e *encoder) unaccented(r rune) {
	if !unicode.Is(unicode.Mn, r) {
		e.normal(r)
	}
}

// normal takes a character that has lost its accents.
func (e *encoder) normal(r rune) {
	if !e.t.opts.KeepCase {
		if r == 'İ' { // the only one whose lower case is two characters; seen if accents are kept
			e.letter('i')
			r = '\u0307'
		}
		r = unicode.ToLower(r)
	}
	if !isSign(r) {
		e.letter(r)
		return
	}
	e.endWord()
	e.letter(r)
	e.endWord()
}

// letter appends a character to the word.
func (e *encoder) letter(r rune) {
	e.chars++
	if e.chars <= e.t.opts.MaxWord {
		e.word = utf8.AppendRune(e.word, r)
	}
}

// space ends the word and whatever belongs to it.
func (e *encoder) space() {
	e.flushMarks()
	e.endWord()
}

// endWord appends the tokens of the word, or [UNK].
func (e *encoder) endWord() {
	if e.chars == 0 {
		return
	}
	known := len(e.ids)
	if e.chars > e.t.opts.MaxWord || !e.pieces() {
		e.ids = append(e.ids[:known], e.t.unk)
	}
	e.word, e.chars = e.word[:0], 0
}

// pieces appends the tokens of the word and returns whether it has found all of them.
func (e *encoder) pieces() bool {
	v, rest := &e.t.words, e.word
	for len(rest) > 0 {
		id, n := v.first(rest)
		if n == 0 {
			return false
		}
		e.ids = append(e.ids, id)
		rest = rest[n:]
		v = &e.t.rests
	}
	return true
}
