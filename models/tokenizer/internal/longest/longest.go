// Package longest finds the longest of many tokens that a text begins with.
//
// Vocabularies come out of files that somebody else made. So the time for a text depends on the
// lengths of the text and of its longest match alone, but for the logarithm of the number of
// tokens, whatever the tokens are.
package longest

import (
	"cmp"
	"slices"
)

// Token is such a token. Its text is not empty.
type Token struct {
	Text string
	ID   int32
}

// Set is a set of tokens. It does not change and is safe for concurrent use.
//
// It is a trie without nodes: in the order of their texts, the tokens that begin with the same
// bytes are neighbours.
type Set struct {
	tokens []Token
	begins [257]int // the tokens that begin with byte c are those from begins[c] to begins[c+1]
}

// New returns the set of tokens, of which those with the same text have the same id.
func New(tokens []Token) *Set {
	s := &Set{tokens: slices.Clone(tokens)}
	slices.SortFunc(s.tokens, func(a, b Token) int { return cmp.Compare(a.Text, b.Text) })
	s.tokens = slices.CompactFunc(s.tokens, func(a, b Token) bool { return a.Text == b.Text })
	for _, t := range s.tokens {
		s.begins[int(t.Text[0])+1]++
	}
	for c := range 256 {
		s.begins[c+1] += s.begins[c]
	}
	return s
}

// Match returns the longest token that text begins with and the length of its text, which is 0 if
// there is none.
func (s *Set) Match(text string) (id int32, length int) {
	id, length, _ = s.match(text)
	return id, length
}

// match is Match, and counts how many tokens it has looked at.
func (s *Set) match(text string) (id int32, length, looks int) {
	if text == "" {
		return 0, 0, 0
	}
	from, to := s.begins[text[0]], s.begins[int(text[0])+1]
	for n := 1; from < to; n++ { // the tokens from from to to begin with text[:n]
		looks++
		if t := &s.tokens[from]; len(t.Text) == n {
			id, length = t.ID, n
			from++
		}
		if n == len(text) || from == to {
			break
		}
		var more int
		from, to, more = s.narrow(from, to, n, text[n])
		looks += more
	}
	return id, length, looks
}

// narrow returns the tokens with byte c next, among the tokens from from to to, whose first n bytes
// are the same, and how many it has looked at.
func (s *Set) narrow(from, to, n int, c byte) (first, end, looks int) {
	if s.tokens[from].Text[n] == c && s.tokens[to-1].Text[n] == c {
		return from, to, 2
	}
	search := func(to int, least int) int { // the first token whose byte n is least or more
		for from < to {
			middle := (from + to) / 2
			looks++
			if int(s.tokens[middle].Text[n]) < least {
				from = middle + 1
			} else {
				to = middle
			}
		}
		return from
	}
	first = search(to, int(c))
	return first, search(to, int(c)+1), looks
}
