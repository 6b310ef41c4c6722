// Package stopstrings ends texts at strings.
package stopstrings

// A Finder finds the first of some strings that is complete in a text which comes in pieces, and
// holds back what may be the beginning of one. Its work is in proportion to the text times the
// number of strings (Knuth, Morris and Pratt's automata).
type Finder struct {
	strings []automaton
	held    []byte // what no piece has given yet
	found   string
}

// An automaton finds one string.
type automaton struct {
	text string
	// border[n] is the length of the longest string that the first n+1 bytes begin and end with,
	// less themselves.
	border []int
	have   int // the bytes of the string that the text ends with
}

// New returns a Finder of strings, none of which is empty, and nil if there are none. Add and Rest
// of nil find nothing.
func New(strings []string) *Finder {
	if len(strings) == 0 {
		return nil
	}
	s := &Finder{}
	for _, text := range strings {
		x := automaton{text: text, border: make([]int, len(text))}
		for i := 1; i < len(text); i++ {
			x.have = x.next(text[i])
			x.border[i] = x.have
		}
		x.have = 0
		s.strings = append(s.strings, x)
	}
	return s
}

// next returns how many bytes of the string the text ends with after another byte.
func (s *automaton) next(c byte) int {
	n := s.have
	for n > 0 && (n == len(s.text) || s.text[n] != c) {
		n = s.border[n-1]
	}
	if s.text[n] == c {
		n++
	}
	return n
}

// Add takes a piece and returns the text that cannot be part of a string any more. If a string is
// complete, that is the text before it; of several that are complete at the same byte the longest
// counts.
func (s *Finder) Add(piece string) (text string, stopped bool) {
	if s == nil {
		return piece, false
	}
	for i := range len(piece) {
		s.held = append(s.held, piece[i])
		for j := range s.strings {
			x := &s.strings[j]
			if x.have = x.next(piece[i]); x.have == len(x.text) && x.have > len(s.found) {
				s.found = x.text
			}
		}
		if s.found != "" {
			return string(s.held[:len(s.held)-len(s.found)]), true
		}
	}
	keep := 0
	for _, x := range s.strings {
		keep = max(keep, x.have)
	}
	return s.take(len(s.held) - keep), false
}

// Found returns the string that is complete, "" before.
func (s *Finder) Found() string { return s.found }

// Rest returns what is held back. No string follows.
func (s *Finder) Rest() string {
	if s == nil {
		return ""
	}
	return s.take(len(s.held))
}

// take takes the first n bytes of what is held back.
func (s *Finder) take(n int) string {
	text := string(s.held[:n])
	s.held = append(s.held[:0], s.held[n:]...)
	return text
}
