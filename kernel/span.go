package kernel

import "math"

// span is the half-open range [lo, hi) of keys that a row sees.
type span struct{ lo, hi int }

// everything holds all keys. nothing holds none; it is inverted, to be extended by
// around.
var (
	everything = span{0, math.MaxInt}
	nothing    = span{math.MaxInt, 0}
)

// len is the number of keys; the span is not inverted.
func (s span) len() int { return s.hi - s.lo }

// and returns the intersection, with hi = lo where it is empty.
func (s span) and(t span) span {
	lo, hi := max(s.lo, t.lo), min(s.hi, t.hi)
	return span{lo, max(lo, hi)}
}

// around returns the smallest span that holds both; s may be the inverted span
// nothing.
func (s span) around(t span) span {
	if t.lo >= t.hi {
		return s
	}
	return span{min(s.lo, t.lo), max(s.hi, t.hi)}
}
