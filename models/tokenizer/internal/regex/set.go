package regex

import (
	"slices"
	"sync"
	"unicode"
)

// set is a set of characters: ascending ranges, of which none touches another.
type set [][2]rune

const lastRune = unicode.MaxRune

// normal returns the set of the ranges, which may overlap.
func normal(ranges [][2]rune) set {
	slices.SortFunc(ranges, func(a, b [2]rune) int { return int(a[0]) - int(b[0]) })
	var s set
	for _, r := range ranges {
		if n := len(s); n > 0 && r[0] <= s[n-1][1]+1 {
			s[n-1][1] = max(s[n-1][1], r[1])
			continue
		}
		s = append(s, r)
	}
	return s
}

func (s set) not() set {
	var out set
	next := rune(0)
	for _, r := range s {
		if r[0] > next {
			out = append(out, [2]rune{next, r[0] - 1})
		}
		next = r[1] + 1
	}
	if next <= lastRune {
		out = append(out, [2]rune{next, lastRune})
	}
	return out
}

func (s set) and(t set) set { return union(s.not(), t.not()).not() }

func union(sets ...set) set {
	var all [][2]rune
	for _, s := range sets {
		all = append(all, s...)
	}
	return normal(all)
}

// folded returns the set with all characters that differ from its own in case alone.
func (s set) folded() set {
	var more [][2]rune
	for _, r := range s {
		for c := r[0]; c <= r[1] && c < 0x20000; c++ { // no character above has a case
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				more = append(more, [2]rune{f, f})
			}
		}
	}
	return normal(append(more, s...))
}

func table(tables ...*unicode.RangeTable) set {
	var all [][2]rune
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, [2]rune{lo, hi})
			return
		}
		for c := lo; c <= hi; c += stride {
			all = append(all, [2]rune{c, c})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return normal(all)
}

// The classes of escapes have the members that Oniguruma gives them for Unicode texts.
var (
	space = sync.OnceValue(func() set { return table(unicode.White_Space) })
	digit = sync.OnceValue(func() set { return table(unicode.Nd) })
	word  = sync.OnceValue(func() set {
		return table(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc)
	})
	// Outside of brackets \w also has ², ³, ¹, ¼, ½ and ¾, which Oniguruma takes from a table of
	// Latin-1.
	wordOutside = sync.OnceValue(func() set { return union(word(), set{{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}}) })
)

// property returns the set of a name as \p{name} has it, and whether there is one.
func property(name string) (set, bool) {
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts} {
		if t, ok := tables[name]; ok {
			return table(t), true
		}
	}
	if name == "Alphabetic" {
		return table(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	}
	return nil, false
}
