package grammar

import (
	"slices"
	"unicode/utf8"
)

// A class is a set of characters: ranges, ascending and apart.
type class []span

// A span is a range of characters.
type span struct{ lo, hi rune }

// anyChar are all characters.
var anyChar = class{{0, utf8.MaxRune}}

// spans returns the class of ranges in any order.
func spans(list ...span) class {
	slices.SortFunc(list, func(a, b span) int { return int(a.lo - b.lo) })
	var out class
	for _, s := range list {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}

// chars returns the class of some characters.
func chars(text string) class {
	var list []span
	for _, r := range text {
		list = append(list, span{r, r})
	}
	return spans(list...)
}

// not returns all other characters.
func (c class) not() class {
	var out class
	next := rune(0)
	for _, s := range c {
		if s.lo > next {
			out = append(out, span{next, s.lo - 1})
		}
		next = max(next, s.hi+1)
	}
	if next <= utf8.MaxRune {
		out = append(out, span{next, utf8.MaxRune})
	}
	return out
}

// and returns the characters of both.
func (c class) and(d class) class {
	return spans(append(slices.Clone(c.not()), d.not()...)...).not()
}
