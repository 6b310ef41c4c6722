package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

// checkOptions reports the first option that does not fit the tensors, which fit each other.
// Further outputs are left to checkOutputs.
func (c *call) checkOptions() *check.Failure {
	for s := c.used &^ outputOptions; s != 0; s = s.rest() {
		if f := c.checkOption(s.first()); f != nil {
			return f
		}
	}
	return nil
}

// checkOption reports an option that does not fit the tensors.
func (c *call) checkOption(x option) *check.Failure {
	r := &options[x]
	switch r.kind {
	case numberKind:
		if v := c.number(x); !r.isValid(v) {
			return r.fails(fmt.Sprint(v), r.want)
		}
	case threadsKind:
		return check.Threads("Options.Threads", c.opts.Threads)
	case perHeadKind:
		return r.checkPerHead(c.perHead(x), c.scores.Heads)
	case perRowKind:
		if n, want := len(c.opts.Dropout.Sequences), c.scores.Batch; n != want {
			return r.fails(fmt.Sprintf("%d numbers", n), fmt.Sprintf("one per batch row: %d", want))
		}
	case positionsKind:
		values, least, most := c.positions(x)
		return position.Check(r.arg, "position", values, c.scores.Batch, least, most)
	case maskKind:
		return (*mask.Mask)(&c.opts.Mask).Check(&c.scores)
	case biasKind:
		return r.checkBias(c.bias(x), &c.scores)
	case outputKind:
		return r.checkOutput(c, x)
	case integersKind:
		return r.checkIntegers(c)
	}
	return nil
}

// checkIntegers reports keys or values that are no integers.
func (r *optionRow) checkIntegers(c *call) *check.Failure {
	names := [...]string{"k", "v"}
	for i, t := range [...]*view.Tensor{c.k, c.v} {
		if t.Scales() == nil {
			return r.fails(fmt.Sprintf("true and %s of %v", names[i], t.DType()), "k and v of int8 or int4, or false")
		}
	}
	return nil
}

func (r *optionRow) fails(got, want string) *check.Failure {
	return &check.Failure{Where: r.arg, Got: got, Want: want}
}

func (r *optionRow) checkPerHead(values []float32, heads int) *check.Failure {
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

func (r *optionRow) checkBias(t *view.Tensor, s *view.Scores) *check.Failure {
	if !t.IsPlain() {
		return r.fails(t.Describe(), "float32, float16 or bfloat16, neither paged nor ragged")
	}
	_, f := t.Broadcast(r.arg, s)
	return f
}

// checkOutput reports an output beside out that is not a float32 tensor of so many columns with
// the rows of out. One without columns is never written.
func (r *optionRow) checkOutput(c *call, x option) *check.Failure {
	s := &c.scores
	t, columns := c.output(x)
	if want := [4]int{s.Batch, s.Heads, s.Queries, columns}; t.Shape() != want {
		return r.fails(t.Describe(), fmt.Sprintf("shape %v", want))
	}
	if t.DType() != view.Float32 {
		return r.fails(t.Describe(), "float32")
	}
	if columns == 0 {
		return nil
	}
	if f := t.Check(r.arg); f != nil {
		return f
	}
	if f := t.CheckWritable(r.arg); f != nil {
		return f
	}
	return t.CheckLengths(r.arg, c.out, "out")
}

// checkOutputs reports outputs that do not fit the call or that share memory with anything
// else.
func (c *call) checkOutputs() *check.Failure {
	var memory [1 + numOptions]view.Memory
	written := append(memory[:0], c.out.Memory())
	if f := c.checkOverlap("out", written[0], nil); f != nil {
		return f
	}
	for s := c.used & outputOptions; s != 0; s = s.rest() {
		x := s.first()
		if f := c.checkOption(x); f != nil {
			return f
		}
		t, _ := c.output(x)
		written = append(written, t.Memory())
		last := len(written) - 1
		if f := c.checkOverlap(options[x].arg, written[last], written[:last]); f != nil {
			return f
		}
	}
	return nil
}

// checkOverlap reports an output whose memory an input or another output shares.
func (c *call) checkOverlap(arg string, written view.Memory, others []view.Memory) *check.Failure {
	names := [...]string{"q", "k", "v"}
	for i, in := range [...]*view.Tensor{c.q, c.k, c.v} {
		if f := checkTensorOverlap(arg, written, names[i], in); f != nil {
			return f
		}
	}
	for s := c.used & biasOptions; s != 0; s = s.rest() {
		if f := checkTensorOverlap(arg, written, options[s.first()].arg, c.bias(s.first())); f != nil {
			return f
		}
	}
	for s := c.used & perHeadOptions; s != 0; s = s.rest() {
		if written.Overlaps(view.MemoryOf(c.perHead(s.first()))) {
			return overlap(arg, options[s.first()].arg)
		}
	}
	for _, other := range others {
		if written.Overlaps(other) {
			return overlap(arg, "another output")
		}
	}
	return nil
}

// checkTensorOverlap reports an output that shares memory with a tensor or its scales.
func checkTensorOverlap(arg string, written view.Memory, name string, t *view.Tensor) *check.Failure {
	if written.Overlaps(t.Memory()) {
		return overlap(arg, name)
	}
	if s := t.Scales(); s != nil && written.Overlaps(s.Memory()) {
		return overlap(arg, "the scales of "+name)
	}
	return nil
}

// overlap reports an output that shares memory with something else.
func overlap(arg, with string) *check.Failure {
	return &check.Failure{Where: arg, Got: "memory that overlaps " + with, Want: "a range of memory of its own"}
}
