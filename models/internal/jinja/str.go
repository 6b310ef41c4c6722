package jinja

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Str is a string that knows which parts of it come from outside the template.
type Str struct {
	text    string
	outside bool  // whether the first part is from a variable that the template was given
	turns   []int // where parts from outside and from the template meet
}

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
		return Str{}
	}
	from, _ := slices.BinarySearch(s.turns, start+1)
	to, _ := slices.BinarySearch(s.turns, end)
	m.work(nodeCost)
	m.memory(slotSize * (to - from))
	c := Str{text: s.text[start:end], outside: s.outside != (from%2 == 1)}
	for _, at := range s.turns[from:to] {
		c.turns = append(c.turns, at-start)
	}
	return c
}

// trim drops characters of a set from the ends: white space if the set is "".
func (s Str) trim(m *meter, set string, left, right bool) Str {
	drop := isSpace
	if set != "" {
		m.memory(slotSize * utf8.RuneCountInString(set))
		chars := map[rune]bool{}
		for _, c := range set {
			chars[c] = true
		}
		drop = func(c rune) bool { return chars[c] }
	}
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

// fields splits at white space.
func (s Str) fields(m *meter) (pieces []value) {
	start := -1
	for i, c := range s.text {
		switch {
		case isSpace(c) && start >= 0:
			pieces = append(pieces, s.piece(m, start, i))
			start = -1
		case !isSpace(c) && start < 0:
			start = i
		}
	}
	if start >= 0 {
		pieces = append(pieces, s.piece(m, start, len(s.text)))
	}
	return pieces
}

// piece is cut for a list.
func (s Str) piece(m *meter, start, end int) Str {
	m.memory(boxSize)
	return s.cut(m, start, end)
}

// replace replaces old by new, at most some times: at all if most is negative. An empty old is
// nowhere.
func (s Str) replace(m *meter, old string, new Str, most int) Str {
	if old == "" {
		return s
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
