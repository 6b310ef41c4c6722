package loop

import "fmt"

// A Span is the numbers of rows, or of queries, that a loop serves.
type Span struct{ Least, Most int }

// Single reports whether there is one number only.
func (s Span) Single() bool { return s.Least == s.Most }

func (s Span) String() string {
	if s.Single() {
		return fmt.Sprint(s.Most)
	}
	return fmt.Sprintf("%d to %d", s.Least, s.Most)
}
