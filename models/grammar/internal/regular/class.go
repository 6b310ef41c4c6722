package regular

import (
	"slices"
	"unicode/utf8"
)

// A Class is a set of characters: ranges, ascending and apart.
type Class []Span

// A Span is a range of characters.
type Span struct{ Lo, Hi rune }

// AnyChar are all characters.
var AnyChar = Class{{0, utf8.MaxRune}}

// Spans returns the class of ranges in any order.
func Spans(list ...Span) Class {
	slices.SortFunc(list, func(a, b Span) int { return int(a.Lo - b.Lo) })
	var out Class
	for _, s := range list {
		if n := len(out); n > 0 && s.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, s.Hi)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Chars returns the class of some characters.
func Chars(text string) Class {
	var list []Span
	for _, r := range text {
		list = append(list, Span{r, r})
	}
	return Spans(list...)
}

// Not returns all other characters.
func (c Class) Not() Class {
	var out Class
	next := rune(0)
	for _, s := range c {
		if s.Lo > next {
			out = append(out, Span{next, s.Lo - 1})
		}
		next = max(next, s.Hi+1)
	}
	if next <= utf8.MaxRune {
		out = append(out, Span{next, utf8.MaxRune})
	}
	return out
}

// And returns the characters of both.
func (c Class) And(d Class) Class {
	return Spans(append(slices.Clone(c.Not()), d.Not()...)...).Not()
}
