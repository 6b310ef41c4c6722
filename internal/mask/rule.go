package mask

import (
	"math"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

// A Rule lets every query see one span of keys. Intersections of rules cost nothing
// where a block of keys is hidden from, or visible to, all queries of a tile.
//
// A new span mask is a Kind and a constructor in package kernel, in one file.
//
// It is small, as every Options has room for several: a rule has two numbers, or the slices of its
// caller, of which it keeps the addresses and, as these numbers, the lengths.
type Rule struct {
	Kind          *Kind
	Left, Right   int
	first, second unsafe.Pointer
}

// OfInts returns a rule with a number for each batch row.
func OfInts(k *Kind, s []int) Rule {
	return Rule{Kind: k, Left: len(s), first: unsafe.Pointer(unsafe.SliceData(s))}
}

// OfIDs returns a rule with ids of queries and keys.
func OfIDs(k *Kind, query, key []int32) Rule {
	return Rule{
		Kind: k, Left: len(query), Right: len(key),
		first: unsafe.Pointer(unsafe.SliceData(query)), second: unsafe.Pointer(unsafe.SliceData(key)),
	}
}

// Ints returns the slice of OfInts.
func (r *Rule) Ints() []int { return unsafe.Slice((*int)(r.first), r.Left) }

// QueryIDs and KeyIDs return the ids of OfIDs.
func (r *Rule) QueryIDs() []int32 { return unsafe.Slice((*int32)(r.first), r.Left) }
func (r *Rule) KeyIDs() []int32   { return unsafe.Slice((*int32)(r.second), r.Right) }

// A Kind is what all rules of one kind have in common. Fields that are nil mean what
// their comment says.
type Kind struct {
	// Span returns the keys that q sees. It need not be clipped to the keys that exist.
	Span func(r *Rule, q Query) Span

	// Check reports a rule that does not fit a call. nil: all fit. (The rule is passed by
	// value: a pointer would make the caller's options escape to the heap.)
	Check func(r Rule, c view.Scores) *check.Failure

	// Length returns the number of keys of batch row b, if that is all the rule
	// limits. nil: the rule depends on the query.
	Length func(r *Rule, b int) int

	// InPositions says that spans have the keys at some positions, whatever the numbers of the
	// keys.
	InPositions bool

	// Window returns upper bounds of how many keys before and after its own position a
	// query sees, -1 for no limit. nil: there is no limit. Plans rely on it: q consecutive
	// queries see at most left + right + q keys.
	Window func(r *Rule) (left, right int)

	// IsWindow tells whether a query sees exactly the keys within Window. nil: no rule is like
	// that.
	IsWindow func(r *Rule) bool
}

// A Query is a query of a call as rules see it.
type Query struct {
	Batch, Index int // batch row, number of the query in it
	Keys         int // number of keys of the batch row
	KeyStart     int // position of its first key
	Diagonal     int // number of the key, which need not exist, at the query's position

	Lq, Lk int // queries and keys of the longest batch row
}

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
