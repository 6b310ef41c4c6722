package jinja

import (
	"strings"
	"unicode/utf8"
)

// Str is a string that knows which parts of it come from outside the template.
type Str []Part

// Part is a piece of a string. It is not empty.
type Part struct {
	Text    string
	Outside bool // from a variable that the template was given, not from the template
}

// Inside returns a string as one that the template has.
func Inside(s string) Str { return part(s, false) }

// Outside returns a string as one that is given to the template.
func Outside(s string) Str { return part(s, true) }

func part(s string, outside bool) Str {
	if s == "" {
		return nil
	}
	return Str{{s, outside}}
}

func (s Str) String() string {
	if len(s) == 1 {
		return s[0].Text
	}
	var b strings.Builder
	for _, p := range s {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (s Str) len() int {
	n := 0
	for _, p := range s {
		n += len(p.Text)
	}
	return n
}

// concat returns all strings one after the other. Neighbours of the same kind become one part.
func concat(all ...Str) Str {
	var out Str
	for i := 0; i < len(all); i++ {
		for _, p := range all[i] {
			out = append(out, p)
		}
	}
	return out.join()
}

// join makes neighbours of the same kind one part.
func (s Str) join() Str {
	out := make(Str, 0, len(s))
	for i := 0; i < len(s); {
		end := i + 1
		for end < len(s) && s[end].Outside == s[i].Outside {
			end++
		}
		out = append(out, Part{Str(s[i:end]).String(), s[i].Outside})
		i = end
	}
	return out
}

// cut returns the bytes from start to end.
func (s Str) cut(start, end int) Str {
	var out Str
	for _, p := range s {
		from, to := max(start, 0), min(end, len(p.Text))
		if from < to {
			out = append(out, Part{p.Text[from:to], p.Outside})
		}
		start -= len(p.Text)
		end -= len(p.Text)
	}
	return out
}

// convert returns the string with every part converted.
func (s Str) convert(f func(string) string) Str {
	var out Str
	for _, p := range s {
		if t := f(p.Text); t != "" {
			out = append(out, Part{t, p.Outside})
		}
	}
	return out
}

// trim drops characters of a set from the ends: white space if the set is "".
func (s Str) trim(set string, left, right bool) Str {
	drop := isSpace
	if set != "" {
		drop = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	flat := s.String()
	start, end := 0, len(flat)
	if left {
		start = end - len(strings.TrimLeftFunc(flat, drop))
	}
	if right {
		end = start + len(strings.TrimRightFunc(flat[start:], drop))
	}
	return s.cut(start, end)
}

// split splits at a separator, at most some times: at all if most is negative.
func (s Str) split(sep string, most int) []Str {
	flat := s.String()
	var out []Str
	start := 0
	for most != 0 {
		n := strings.Index(flat[start:], sep)
		if n < 0 {
			break
		}
		out = append(out, s.cut(start, start+n))
		start += n + len(sep)
		most--
	}
	return append(out, s.cut(start, len(flat)))
}

// fields splits at white space.
func (s Str) fields() []Str {
	flat := s.String()
	var out []Str
	start := -1
	for i, r := range flat {
		switch {
		case isSpace(r) && start >= 0:
			out = append(out, s.cut(start, i))
			start = -1
		case !isSpace(r) && start < 0:
			start = i
		}
	}
	if start >= 0 {
		out = append(out, s.cut(start, len(flat)))
	}
	return out
}

// replace replaces old by new, at most some times: at all if most is negative.
func (s Str) replace(old string, new Str, most int) Str {
	if old == "" {
		return s
	}
	pieces := s.split(old, most)
	out := make([]Str, 0, 2*len(pieces))
	for i, p := range pieces {
		if i > 0 {
			out = append(out, new)
		}
		out = append(out, p)
	}
	return concat(out...)
}

// runes returns the offsets of all characters and that of the end.
func (s Str) runes() []int {
	var at []int
	flat := s.String()
	for i := range flat {
		at = append(at, i)
	}
	return append(at, len(flat))
}

func (s Str) count() int { return utf8.RuneCountInString(s.String()) }
