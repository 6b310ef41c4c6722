package grammar

import (
	"slices"
	"unicode/utf8"
)

// An expr is a set of texts, as a tree. A grammar is a list of rules, each of which has one.
type expr interface{}

type (
	literal  string   // one text
	class    []span   // one character of these, ascending and apart
	sequence []expr   // one after the other
	choice   []expr   // one of them; none is the empty set
	ref      int      // the texts of a rule
	repeat   struct { // as often as this
		of       expr
		min, max int // max negative for no limit
	}
)

// A span is a range of characters.
type span struct{ lo, hi rune }

// rule is a named set of texts.
type rule struct {
	name string
	is   expr
}

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

// anyChar are all characters.
var anyChar = class{{0, utf8.MaxRune}}

// optional is what may be left out.
func optional(e expr) expr { return repeat{e, 0, 1} }
