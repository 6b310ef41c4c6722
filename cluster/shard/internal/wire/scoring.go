package wire

import (
	"math"

	"github.com/attn-go/attn/kernel"
)

// A field says what a call of attention over shards does with a field of kernel.Scoring: a message has it, the client
// looks at it by itself, or it must not be set.
type field struct {
	name string

	put func(b []byte, s *kernel.Scoring) []byte // appends it to a message
	get func(r *reader, c *Call)                 // reads it there

	refused   func(s *kernel.Scoring) bool // whether its value is one that no call takes
	got, want string                       // what the error says then
}

// fields has all of them, those of a message in its order. TestFields fails if one is missing.
var fields = [...]field{
	{
		name: "Scale",
		put:  func(b []byte, s *kernel.Scoring) []byte { return appendF32(b, s.Scale) },
		get:  func(r *reader, c *Call) { c.Scoring.Scale = r.f32() },
	},
	{
		name: "Softcap",
		put:  func(b []byte, s *kernel.Scoring) []byte { return appendF32(b, s.Softcap) },
		get:  func(r *reader, c *Call) { c.Scoring.Softcap = r.f32() },
	},
	{
		name: "Mask", put: appendMask, get: (*reader).mask, refused: func(s *kernel.Scoring) bool { _, _, ok := s.Mask.Window(); return !ok },
		got: "another mask", want: "kernel.Window, or kernel.Causal from 0 on",
	},
	{name: "ALiBi", put: appendSlopes, get: (*reader).slopes},
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

// ScoringBytes returns the bytes of s in a message.
func ScoringBytes(s *kernel.Scoring) int { return 2*4 + 1 + 2*4 + 4 + 4*len(s.ALiBi) }

// appendMask appends whether there is a window, and its sides. Beyond an int32 they reach from any position to any other.
func appendMask(b []byte, s *kernel.Scoring) []byte {
	left, right, _ := s.Mask.Window()
	if left < 0 && right < 0 {
		return appendU32(appendU32(append(b, 0), 0), 0)
	}
	return appendU32(appendU32(append(b, 1), min(left, math.MaxInt32)), min(right, math.MaxInt32))
}

func (r *reader) mask(c *Call) {
	window, left, right := r.u8(), r.i32(), r.i32()
	if r.err == nil && (window > 1 || min(left, right) < -1 || window == 0 && (left != 0 || right != 0) || window == 1 && max(left, right) < 0) {
		r.fail("window %d of %d and %d keys", window, left, right)
	}
	if window == 1 {
		c.Scoring.Mask = kernel.Window(left, right)
	}
}

func appendSlopes(b []byte, s *kernel.Scoring) []byte {
	b = appendU32(b, len(s.ALiBi))
	for _, x := range s.ALiBi {
		b = appendF32(b, x)
	}
	return b
}

// slopes reads those of ALiBi: none, or one for each query head.
func (r *reader) slopes(c *Call) {
	n := r.count("slopes", 4)
	if r.err == nil && n != 0 && n != c.Heads {
		r.fail("%d slopes for %d heads", n, c.Heads)
	}
	for i := 0; i < n && r.err == nil; i++ {
		c.Scoring.ALiBi = append(c.Scoring.ALiBi, r.f32())
	}
}
