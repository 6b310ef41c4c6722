package wire

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/kernel"
)

// Scoring is what a message has of a kernel.Scoring. Numbers are their bits, as JSON has no
// infinity.
type Scoring struct {
	Scale, Softcap uint32
	Window         *[2]int  `json:",omitempty"` // keys to the left and to the right that a query sees, -1 for all
	ALiBi          []uint32 `json:",omitempty"` // slopes: none, or one for each query head
}

// NewScoring returns what a message has of s, which [CheckScoring] accepts.
func NewScoring(s *kernel.Scoring) Scoring {
	x := Scoring{Scale: math.Float32bits(s.Scale), Softcap: math.Float32bits(s.Softcap)}
	if left, right, _ := s.Mask.Window(); left >= 0 || right >= 0 { // beyond an int32 they reach from any position to any other
		x.Window = &[2]int{min(left, math.MaxInt32), min(right, math.MaxInt32)}
	}
	for _, slope := range s.ALiBi {
		x.ALiBi = append(x.ALiBi, math.Float32bits(slope))
	}
	return x
}

// Kernel returns the options of the kernel.
func (x *Scoring) Kernel() kernel.Scoring {
	s := kernel.Scoring{Scale: math.Float32frombits(x.Scale), Softcap: math.Float32frombits(x.Softcap)}
	if x.Window != nil {
		s.Mask = kernel.Window(x.Window[0], x.Window[1])
	}
	for _, slope := range x.ALiBi {
		s.ALiBi = append(s.ALiBi, math.Float32frombits(slope))
	}
	return s
}

// check returns what is wrong with the scoring of so many query heads.
func (x *Scoring) check(heads int) string {
	if w := x.Window; w != nil && (min(w[0], w[1]) < -1 || max(w[0], w[1]) < 0 || max(w[0], w[1]) > math.MaxInt32) {
		return fmt.Sprintf("a window of %d and %d keys", w[0], w[1])
	}
	if n := len(x.ALiBi); n != 0 && n != heads {
		return fmt.Sprintf("%d slopes for %d heads", n, heads)
	}
	return ""
}

// ScoringBytes returns the most bytes of s in a message.
func ScoringBytes(s *kernel.Scoring) int { return 128 + 11*len(s.ALiBi) }

// A field says what a call of attention over shards does with a field of kernel.Scoring: a message
// has it, the client looks at it by itself, or it must not be set.
type field struct {
	name string
	sent bool

	refused   func(s *kernel.Scoring) bool // whether its value is one that no call takes
	got, want string                       // what the error says then
}

// fields has all of them. TestFields fails if one is missing.
var fields = [...]field{
	{name: "Scale", sent: true},
	{name: "Softcap", sent: true},
	{
		name: "Mask", sent: true, refused: func(s *kernel.Scoring) bool { _, _, ok := s.Mask.Window(); return !ok },
		got: "another mask", want: "kernel.Window, or kernel.Causal from 0 on",
	},
	{name: "ALiBi", sent: true},
	{name: "Sinks"},      // where the client merges
	{name: "QueryStart"}, // in each item

	{name: "KeyStart", refused: func(s *kernel.Scoring) bool { return len(s.KeyStart) > 0 }, got: "positions", want: "none: the keys of a sequence begin at 0"},
	{name: "Parents", refused: func(s *kernel.Scoring) bool { return s.Parents != nil }, got: "parents", want: "nil: workers have parts of the keys"},
	{name: "KeyRows", refused: func(s *kernel.Scoring) bool { return s.KeyRows.Rows != nil || s.KeyRows.Shape != [4]int{} }, got: "lists of rows", want: "none: workers have parts of the keys"},
	{name: "DynamicInt12", refused: func(s *kernel.Scoring) bool { return s.DynamicInt12 }, got: "true", want: "false"},
	{name: "BFloat16", refused: func(s *kernel.Scoring) bool { return s.BFloat16 }, got: "true", want: "false"},
	{name: "Score", refused: func(s *kernel.Scoring) bool { return s.Score != nil }, got: "a function", want: "nil: workers cannot call it"},
	{name: "Bias", refused: func(s *kernel.Scoring) bool { return !s.Bias.IsZero() }, got: "a tensor", want: "none: it is not sent to workers"},
	{name: "Dropout", refused: func(s *kernel.Scoring) bool { return s.Dropout.Rate != 0 }, got: "a rate", want: "none: there is no training on workers"},
}

// CheckScoring returns an error about the first field that calls over shards do not take.
func CheckScoring(s *kernel.Scoring) error {
	for x := range fields {
		if f := &fields[x]; f.refused != nil && f.refused(s) {
			return &kernel.Error{Where: "Options." + f.name, Got: f.got, Want: f.want}
		}
	}
	return nil
}
