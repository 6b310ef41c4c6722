package jinja

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// Str is a string that knows which parts of it come from outside the template.
type Str struct {
	text    string
	outside bool  // whether the first part is from a variable that the template was given
	turns   []int // where parts from outside and from the template meet
	safe    bool  // as the filters safe and escape return it: what joins it is escaped
}

// marked returns the string as a safe one, and plain as one that is not.
func (s Str) marked() Str { s.safe = true; return s }
func (s Str) plain() Str  { s.safe = false; return s }

// like returns the string as a safe one if another one is safe.
func (s Str) like(other Str) Str { s.safe = other.safe; return s }

// Inside returns a string as one that the template has.
func Inside(s string) Str { return Str{text: s} }

// Outside returns a string as one that is given to the template.
func Outside(s string) Str { return Str{text: s, outside: s != ""} }

func (s Str) String() string { return s.text }

// Parts returns the parts, none of which is empty, and whether they are from outside. No two
// neighbours are alike.
func (s Str) Parts() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		start, outside := 0, s.outside
		for _, end := range s.turns {
			if !yield(s.text[start:end], outside) {
				return
			}
			start, outside = end, !outside
		}
		if s.text != "" {
			yield(s.text[start:], outside)
		}
	}
}

// cut returns the bytes from start to end.
func (s Str) cut(m *meter, start, end int) Str {
	if start >= end {
		return Str{safe: s.safe}
	}
	from, _ := slices.BinarySearch(s.turns, start+1)
	to, _ := slices.BinarySearch(s.turns, end)
	m.work(nodeCost)
	m.memory(slotSize * (to - from))
	c := Str{text: s.text[start:end], outside: s.outside != (from%2 == 1), safe: s.safe}
	for _, at := range s.turns[from:to] {
		c.turns = append(c.turns, at-start)
	}
	return c
}

// trim drops characters of a set from the ends.
func (s Str) trim(m *meter, drop func(rune) bool, left, right bool) Str {
	start, end := 0, len(s.text)
	if left {
		start = end - len(strings.TrimLeftFunc(s.text, drop))
	}
	if right {
		end = start + len(strings.TrimRightFunc(s.text[start:], drop))
	}
	return s.cut(m, start, end)
}

// split splits at a separator, which is not empty, at most some times: at all if most is negative.
func (s Str) split(m *meter, sep string, most int) (pieces []value) {
	m.search(s.text, sep)
	start := 0
	for ; most != 0; most-- {
		n := strings.Index(s.text[start:], sep)
		if n < 0 {
			break
		}
		pieces = append(pieces, s.piece(m, start, start+n))
		start += n + len(sep)
	}
	return append(pieces, s.piece(m, start, len(s.text)))
}

// splitRight is split from the end.
func (s Str) splitRight(m *meter, sep string, most int) (pieces []value) {
	m.search(s.text, sep)
	end := len(s.text)
	for ; most != 0; most-- {
		n := strings.LastIndex(s.text[:end], sep)
		if n < 0 {
			break
		}
		pieces = append(pieces, s.piece(m, n+len(sep), end))
		end = n
	}
	pieces = append(pieces, s.piece(m, 0, end))
	slices.Reverse(pieces)
	return pieces
}

// lines splits at the ends of lines, which it keeps if keep is set. The last line may have none.
func (s Str) lines(m *meter, keep bool) (pieces []value) {
	start := 0
	for start < len(s.text) {
		n := strings.IndexFunc(s.text[start:], python.EndsLine)
		if n < 0 {
			return append(pieces, s.piece(m, start, len(s.text)))
		}
		_, length := utf8.DecodeRuneInString(s.text[start+n:])
		end := start + n + length
		if strings.HasPrefix(s.text[start+n:], "\r\n") {
			end++
		}
		if keep {
			pieces = append(pieces, s.piece(m, start, end))
		} else {
			pieces = append(pieces, s.piece(m, start, start+n))
		}
		start = end
	}
	return pieces
}

// fields splits at white space, at most some times.
func (s Str) fields(m *meter, most int) (pieces []value) {
	notSpace := func(c rune) bool { return !python.IsSpace(c) }
	for start := 0; ; most-- {
		n := strings.IndexFunc(s.text[start:], notSpace)
		if n < 0 {
			return pieces
		}
		start += n
		n = strings.IndexFunc(s.text[start:], python.IsSpace)
		if n < 0 || most == 0 {
			return append(pieces, s.piece(m, start, len(s.text)))
		}
		pieces = append(pieces, s.piece(m, start, start+n))
		start += n
	}
}

// fieldsRight is fields from the end.
func (s Str) fieldsRight(m *meter, most int) (pieces []value) {
	notSpace := func(c rune) bool { return !python.IsSpace(c) }
	for end := len(s.text); ; most-- {
		if end = len(strings.TrimRightFunc(s.text[:end], python.IsSpace)); end == 0 {
			break
		}
		start := 0
		if most != 0 {
			start = len(strings.TrimRightFunc(s.text[:end], notSpace))
		}
		pieces = append(pieces, s.piece(m, start, end))
		end = start
	}
	slices.Reverse(pieces)
	return pieces
}

// piece is cut for a list.
func (s Str) piece(m *meter, start, end int) Str {
	m.memory(boxSize)
	return s.cut(m, start, end)
}

// replace replaces old by new, at most some times: at all if most is negative. An empty old is
// before each character and at the end.
func (s Str) replace(m *meter, old string, new Str, most int) Str {
	if old == "" {
		return s.between(m, new, most)
	}
	m.search(s.text, old)
	b := builder{m: m}
	start := 0
	for ; most != 0; most-- {
		n := strings.Index(s.text[start:], old)
		if n < 0 {
			break
		}
		b.add(s.cut(m, start, start+n))
		b.add(new)
		start += n + len(old)
	}
	b.add(s.cut(m, start, len(s.text)))
	return b.str()
}

// between puts a string before each character and at the end, at most some times.
func (s Str) between(m *meter, new Str, most int) Str {
	b := builder{m: m}
	start := 0
	for i := range s.text {
		if most == 0 {
			break
		}
		most--
		b.add(s.cut(m, start, i))
		b.add(new)
		start = i
	}
	b.add(s.cut(m, start, len(s.text)))
	if most != 0 {
		b.add(new)
	}
	return b.str()
}

// chars returns the characters.
func (s Str) chars(m *meter) (chars []value) {
	for part, outside := range s.Parts() {
		for _, c := range part {
			m.memory(slotSize)
			if c < utf8.RuneSelf {
				chars = append(chars, ascii[c].from(outside))
				continue
			}
			m.memory(boxSize)
			chars = append(chars, Str{text: string(c), outside: outside})
		}
	}
	return chars
}

// both is a string as one from the template and from outside, as values.
type both struct{ inside, outside value }

func (b *both) from(outside bool) value {
	if outside {
		return b.outside
	}
	return b.inside
}

// ascii are the strings of one character of ASCII, so that they take no memory.
var ascii = func() (all [utf8.RuneSelf]both) {
	for c := range all {
		s := string(rune(c))
		all[c] = both{Inside(s), Outside(s)}
	}
	return all
}()

// offset returns where a character begins, by its index, which may be that after the last.
func (s Str) offset(index int) int {
	for i := range s.text {
		if index == 0 {
			return i
		}
		index--
	}
	return len(s.text)
}

func (s Str) count() int { return utf8.RuneCountInString(s.text) }

// builder makes a string. Neighbours of the same kind become one part.
type builder struct {
	m       *meter
	text    strings.Builder
	first   bool // whether the first part is from outside
	outside bool // whether the last one is
	turns   []int
}

// add appends a string.
func (b *builder) add(s Str) {
	b.m.work(nodeCost)
	for text, outside := range s.Parts() {
		b.part(text, outside)
	}
}

// inside appends a text that the template has.
func (b *builder) inside(text string) { b.part(text, false) }

// converted appends a string with every part converted.
func (b *builder) converted(s Str, convert func(string) string) {
	for text, outside := range s.Parts() {
		b.m.memory(len(text))
		b.part(convert(text), outside)
	}
}

func (b *builder) part(text string, outside bool) {
	b.m.memory(1 + len(text))
	switch {
	case text == "":
		return
	case b.text.Len() == 0:
		b.first = outside
	case b.outside != outside:
		b.m.memory(slotSize)
		b.turns = append(b.turns, b.text.Len())
	}
	b.outside = outside
	b.text.WriteString(text)
}

func (b *builder) str() Str { return Str{text: b.text.String(), outside: b.first, turns: b.turns} }

// spaces appends n spaces.
func (b *builder) spaces(n int, outside bool) {
	b.m.memory(n)
	b.part(strings.Repeat(" ", n), outside)
}
