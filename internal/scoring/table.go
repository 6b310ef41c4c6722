package scoring

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

// Scoring has the fields of kernel.Scoring, which documents them.
type Scoring Of[mask.Mask, view.Tensor, func(*Tile), view.KeyRows, Dropout]

// Of is a Scoring whose parts have any types. kernel.Scoring is one, with its own: so a pointer to
// that is a pointer to a Scoring.
type Of[Mask, Tensor, Func, KeyRows, Dropout any] struct {
	Scale                float32
	DynamicInt12         bool
	BFloat16             bool
	Score                Func
	Softcap              float32
	ALiBi                []float32
	Bias                 Tensor
	Mask                 Mask
	QueryStart, KeyStart []int
	Parents              []int32
	KeyRows              KeyRows
	Sinks                []float32
	Dropout              Dropout
}

// A field is a field of Scoring.
type field uint8

// The fields, in the order in which they are checked.
const (
	scale field = iota
	dynamicInt12
	bfloat16
	softcap
	dropout
	queryStart
	keyStart
	keyRows
	parents
	maskField
	alibi
	sinks
	bias
	score
	numFields
)

// A row of the table says all about a field but what it does to scores. Checks, the search for
// shared memory and plain calls read it here.
//
// A new field is a field of kernel.Scoring and of Of, and here its name, its row, and the condition
// under which it is used. TestTable fails until all of them are there.
type row struct {
	arg   string  // as errors name it
	kind  kind    // what it holds
	at    uintptr // where it lies in a Scoring, for kinds of several fields
	plain bool    // whether a call with it may be plain, see package engine

	not [calls]string // for calls that do not take it: what errors want in its place
	got string        // and what they say of it

	isValid func(x float32) bool // for numbers
	want    string               // what errors say of it
}

// A kind is what a field holds, and so how it is checked.
type kind uint8

const (
	free      kind = iota // anything: all values are valid
	number                // a number
	perHead               // numbers, one for each of q's heads
	positions             // positions, one for all batch rows or one for each
	masks                 // a mask
	biases                // a tensor that is read
	dropouts              // a Dropout
	trees                 // parents of queries, which are read
	lists                 // lists of rows that are read; their check needs the keys
)

// A Call is a kind of call that takes a Scoring.
type Call uint8

const (
	Attention Call = iota
	Additive       // kernel.Additive
	Gradients      // kernel.AttentionBackward
	Partials       // kernel.AttentionPartials and AccumulatePartials
	calls
)

var fields = [numFields]row{
	scale: {
		arg: "Options.Scale", kind: number, at: unsafe.Offsetof(Scoring{}.Scale), plain: true,
		isValid: isScore, want: "a finite number up to ±2^127, 0 for the default, or -0 for 0",
	},
	dynamicInt12: {arg: "Options.DynamicInt12", plain: true, got: "true", not: [calls]string{
		Additive: "false: additive scores are no products", Gradients: "false: rounded products have no gradients",
	}},
	bfloat16: {arg: "Options.BFloat16", plain: true, got: "true", not: [calls]string{
		Additive: "false: additive scores are no products", Gradients: "false: rounded products have no gradients",
	}},
	softcap: {
		arg: "Options.Softcap", kind: number, at: unsafe.Offsetof(Scoring{}.Softcap),
		isValid: isCap, want: "2^-126 to 2^127, or 0 for none",
	},
	dropout:    {arg: "Options.Dropout", kind: dropouts},
	queryStart: {arg: "Options.QueryStart", kind: positions, at: unsafe.Offsetof(Scoring{}.QueryStart)},
	keyStart:   {arg: "Options.KeyStart", kind: positions, at: unsafe.Offsetof(Scoring{}.KeyStart)},
	keyRows: {arg: "Options.KeyRows", kind: lists, got: "lists of rows", not: [calls]string{
		Gradients: "none: gradients are those of all keys", Partials: "none: partial results are those of blocks of k",
	}},
	parents: {arg: "Options.Parents", kind: trees, got: "parents", not: [calls]string{
		Gradients: "nil: gradients are those of sequences", Partials: "nil: partial results are those of blocks of k",
	}},
	maskField: {arg: mask.Arg, kind: masks},
	alibi: {
		arg: "Options.ALiBi", kind: perHead, at: unsafe.Offsetof(Scoring{}.ALiBi),
		isValid: isScore, want: "a finite number up to ±2^127",
	},
	sinks: {
		arg: "Options.Sinks", kind: perHead, at: unsafe.Offsetof(Scoring{}.Sinks),
		isValid: isSink, want: "a finite number up to ±2^127, or -Inf for none",
		got: "numbers", not: [calls]string{Partials: "nil: MergePartials takes them"},
	},
	bias:  {arg: "Options.Bias", kind: biases},
	score: {arg: "Options.Score", got: "a function", not: [calls]string{Gradients: "nil: its derivative is not known"}},
}

// isScore tells whether x is finite, also in the unit of base-2 exponentials.
func isScore(x float32) bool { return x >= -0x1p127 && x <= 0x1p127 }
func isSink(x float32) bool  { return isScore(x) || math.IsInf(float64(x), -1) }
func isCap(x float32) bool   { return x >= 0x1p-126 && isScore(x) }

// A Set is a set of fields.
type Set uint32

// Used returns the fields that have an effect. A check looks at these alone.
func (s *Scoring) Used() (u Set) {
	u = u.with(scale, math.Float32bits(s.Scale) != 0)
	u = u.with(dynamicInt12, s.DynamicInt12)
	u = u.with(bfloat16, s.BFloat16)
	u = u.with(softcap, s.Softcap != 0)
	u = u.with(dropout, s.Dropout.Rate != 0 || s.Dropout.Sequences != nil)
	u = u.with(queryStart, len(s.QueryStart) != 0)
	u = u.with(keyStart, len(s.KeyStart) != 0)
	u = u.with(keyRows, s.KeyRows.IsSet())
	u = u.with(parents, s.Parents != nil)
	u = u.with(maskField, !s.Mask.IsZero())
	u = u.with(alibi, s.ALiBi != nil)
	u = u.with(sinks, s.Sinks != nil)
	u = u.with(bias, s.Bias.IsSet())
	u = u.with(score, s.Score != nil)
	return u
}

// Plain tells whether a call with these fields may be plain.
func (u Set) Plain() bool { return u&^plainFields == 0 }

var (
	plainFields = fieldsWith(func(r *row) bool { return r.plain })
	readFields  = fieldsWith(func(r *row) bool { return r.kind == perHead || r.kind == biases || r.kind == lists || r.kind == trees })
)

func fieldsWith(is func(r *row) bool) (u Set) {
	for f := range fields {
		u = u.with(field(f), is(&fields[f]))
	}
	return u
}

// with returns the set with f in it, if isIn.
func (u Set) with(f field, isIn bool) Set {
	if isIn {
		u |= 1 << f
	}
	return u
}

// first returns the first field of a set that is not empty, and rest those after it.
func (u Set) first() field { return field(bits.TrailingZeros32(uint32(u))) }
func (u Set) rest() Set    { return u & (u - 1) }

// at returns where a field lies. (A func value for each row would move the caller's options to the
// heap.)
func (s *Scoring) at(f field) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(s), fields[f].at) }

// The values of fields, by kinds.

func (s *Scoring) number(f field) float32    { return *(*float32)(s.at(f)) }
func (s *Scoring) perHead(f field) []float32 { return *(*[]float32)(s.at(f)) }
func (s *Scoring) positions(f field) []int   { return *(*[]int)(s.at(f)) }
