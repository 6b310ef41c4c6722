package mask

import "math"

// Span is the half-open range [Lo, Hi) of keys.
type Span struct{ Lo, Hi int }

// Everything holds all keys. Nothing holds none; it is the neutral element of Union.
var (
	Everything = Span{0, math.MaxInt}
	Nothing    = Span{math.MaxInt, 0}
)

// Len returns the number of keys; Hi must not be below Lo.
func (s Span) Len() int { return s.Hi - s.Lo }

// And returns the intersection, with Hi = Lo if it is empty.
func (s Span) And(t Span) Span {
	lo, hi := max(s.Lo, t.Lo), min(s.Hi, t.Hi)
	return Span{lo, max(lo, hi)}
}

// Union returns the smallest span that holds s and t. s may be Nothing, t may be
// empty.
func (s Span) Union(t Span) Span {
	if t.Lo >= t.Hi {
		return s
	}
	return Span{min(s.Lo, t.Lo), max(s.Hi, t.Hi)}
}
