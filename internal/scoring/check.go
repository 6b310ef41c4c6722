package scoring

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// Check reports the first of the fields u, which are used, that does not fit scores of shape c, or
// that the call does not take. The caller checks what needs the keys: DynamicInt12, BFloat16, and
// KeyRows before all else, as c has the length of its lists.
func (s *Scoring) Check(u Set, c *view.Scores, by Call) *check.Failure {
	if f := u.CheckTaken(by); f != nil {
		return f
	}
	for ; u != 0; u = u.rest() {
		if f := s.check(u.first(), c); f != nil {
			return f
		}
	}
	return nil
}

// CheckTaken reports the first of the fields that the call does not take.
func (u Set) CheckTaken(by Call) *check.Failure {
	for ; u != 0; u = u.rest() {
		if r := &fields[u.first()]; r.not[by] != "" {
			return r.fails(r.got, r.not[by])
		}
	}
	return nil
}

// checkTree reports parents of another number than queries, or with lists, or queries whose tree
// begins before the keys.
func (s *Scoring) checkTree(c *view.Scores) *check.Failure {
	r := &fields[parents]
	if s.KeyRows.IsSet() {
		return r.fails("parents and lists of rows", "nil with Options.KeyRows")
	}
	for b := range max(len(s.QueryStart), len(s.KeyStart), 1) {
		if past := s.Past(b); past < 0 || past > c.Keys {
			return fields[queryStart].fails(fmt.Sprintf("%d of batch row %d, with Options.Parents", position.Of(s.QueryStart, b), b),
				fmt.Sprintf("the position of key %d to %d: the keys before the tree", 0, c.Keys))
		}
	}
	return view.Parents(s.Parents).Check(r.arg, c)
}

// CheckKeyStart reports a KeyStart that does not fit so many keys.
func (s *Scoring) CheckKeyStart(c *view.Scores) *check.Failure { return s.check(keyStart, c) }

// check reports a field that does not fit scores of shape c.
func (s *Scoring) check(f field, c *view.Scores) *check.Failure {
	r := &fields[f]
	switch r.kind {
	case number:
		if x := s.number(f); !r.isValid(x) {
			return r.fails(fmt.Sprint(x), r.want)
		}
	case perHead:
		return r.checkPerHead(s.perHead(f), c.Heads)
	case positions:
		least, most := 1-position.Max, position.Max-c.Queries
		if f == keyStart {
			least, most = 0, position.Max-c.Keys
		}
		return position.Check(r.arg, "position", s.positions(f), c.Batch, least, most)
	case dropouts:
		return s.Dropout.check(c.Batch)
	case trees:
		return s.checkTree(c)
	case masks:
		return s.Mask.Check(c)
	case biases:
		if !s.Bias.IsPlain() {
			return r.fails(s.Bias.Describe(), "float32, float16 or bfloat16, neither paged nor ragged")
		}
		_, failure := s.Bias.Broadcast(r.arg, c)
		return failure
	}
	return nil
}

func (r *row) checkPerHead(values []float32, heads int) *check.Failure {
	if len(values) != heads {
		return r.fails(fmt.Sprintf("%d numbers", len(values)), fmt.Sprintf("one for each of q's heads: %d", heads))
	}
	for h, x := range values {
		if !r.isValid(x) {
			return r.fails(fmt.Sprintf("%v for head %d", x, h), r.want)
		}
	}
	return nil
}

func (r *row) fails(got, want string) *check.Failure {
	return &check.Failure{Where: r.arg, Got: got, Want: want}
}

// An Input is a field with memory that a call reads.
type Input struct {
	Arg    string
	Memory view.Memory
}

// Inputs returns all of them, masks aside.
func (s *Scoring) Inputs() (in [5]Input) {
	for x, u := 0, readFields; u != 0; x, u = x+1, u.rest() {
		f := u.first()
		in[x].Arg, in[x].Memory = fields[f].arg, s.memory(f)
	}
	return in
}

func (s *Scoring) memory(f field) view.Memory {
	switch fields[f].kind {
	case biases:
		return s.Bias.Memory()
	case lists:
		return view.MemoryOf(s.KeyRows.Rows)
	case trees:
		return view.MemoryOf(s.Parents)
	}
	return view.MemoryOf(s.perHead(f))
}

// Overlap returns the name of a field whose memory overlaps with an output's, or "".
func (s *Scoring) Overlap(output view.Memory) string {
	for _, x := range s.Inputs() {
		if output.Overlaps(x.Memory) {
			return x.Arg
		}
	}
	return ""
}
