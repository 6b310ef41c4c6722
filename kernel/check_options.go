package kernel

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
)

// checkOptions reports the first option that does not fit the tensors, which fit each other.
// Further outputs are left to checkOutputs.
func (c *call) checkOptions() *check.Failure {
	if c.scoring.KeyRows.IsSet() {
		if f := cmp.Or(c.used.CheckTaken(c.kind), c.checkKeyRows()); f != nil {
			return f
		}
	}
	if c.used != 0 {
		if f := c.scoring.Check(c.used, &c.scores, c.kind); f != nil {
			return f
		}
	}
	if c.scoring.DynamicInt12 {
		if f := c.checkKeyTypes("Options.DynamicInt12", true, "k and v of int8 or int4, or false"); f != nil {
			return f
		}
	}
	if c.scoring.BFloat16 {
		if f := c.checkKeyTypes("Options.BFloat16", false, "k and v of floats, or false: an integer times its scale is no bfloat16"); f != nil {
			return f
		}
	}
	return check.Threads("Options.Threads", c.threads)
}

// checkKeyRows reports lists that do not fit the keys, or a KeyStart that does not fit the rows of
// k.
func (c *call) checkKeyRows() *check.Failure {
	rows := c.scores
	rows.Keys = c.k.Dim(2)
	if f := c.scoring.CheckKeyStart(&rows); f != nil {
		return f
	}
	return c.scoring.KeyRows.Check("Options.KeyRows", &c.scores, c.k)
}

// checkKeyTypes reports keys or values that are integers with scales, where an option wants others,
// or are none, where it wants these.
func (c *call) checkKeyTypes(option string, integers bool, want string) *check.Failure {
	names := [...]string{"k", "v"}
	for i, t := range [...]*view.Tensor{c.k, c.v} {
		if (t.Scales() != nil) != integers {
			return &check.Failure{Where: option, Got: fmt.Sprintf("true and %s of %v", names[i], t.DType()), Want: want}
		}
	}
	return nil
}

// The outputs beside out, in the order in which they are checked. (Names and tensors in one struct
// would make the tensors escape.)
var outputNames = [...]string{"Options.LSE", "Options.Weights", "Options.Scores"}

func (o *Outputs) tensors() [len(outputNames)]*view.Tensor {
	return [...]*view.Tensor{o.LSE.view(), o.Weights.view(), o.Scores.view()}
}

// columns returns how many columns each of the outputs has, for so many keys.
func columns(keys int) [len(outputNames)]int { return [...]int{1, keys, keys} }

// any tells whether an output is set, or a stage of one.
func (o *Outputs) any() bool {
	return o.LSE.view().IsSet() || o.Weights.view().IsSet() || o.Scores.view().IsSet() || o.ScoreStage != ScoresScaled
}

// checkOutputs reports outputs that do not fit the call or that share memory with anything
// else.
func (c *call) checkOutputs() *check.Failure {
	var memory [1 + len(outputNames)]view.Memory
	written := append(memory[:0], c.out.Memory())
	if f := c.checkOverlap("out", written[0], nil); f != nil {
		return f
	}
	if stage := c.outputs.ScoreStage; stage > ScoresMasked {
		return &check.Failure{Where: "Options.ScoreStage", Got: fmt.Sprint(stage), Want: "ScoresScaled, ScoresCapped or ScoresMasked"}
	}
	for x, t := range c.outputs.tensors() {
		if !t.IsSet() {
			continue
		}
		if f := cmp.Or(c.checkOutput(outputNames[x], t, columns(c.scores.Keys)[x]), c.checkOverlap(outputNames[x], t.Memory(), written)); f != nil {
			return f
		}
		written = append(written, t.Memory())
	}
	return nil
}

// checkOutput reports an output beside out that is not a float32 tensor of so many columns with
// the rows of out. One without columns is never written.
func (c *call) checkOutput(arg string, t *view.Tensor, columns int) *check.Failure {
	s := &c.scores
	if want := [4]int{s.Batch, s.Heads, s.Queries, columns}; t.Shape() != want {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: fmt.Sprintf("shape %v", want)}
	}
	if t.DType() != view.Float32 {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: "float32"}
	}
	if columns == 0 {
		return nil
	}
	if f := t.Check(arg); f != nil {
		return f
	}
	return cmp.Or(t.CheckWritable(arg), t.CheckLengths(arg, c.out, "out"))
}

// checkOverlap reports an output whose memory an input or another output shares.
func (c *call) checkOverlap(arg string, written view.Memory, others []view.Memory) *check.Failure {
	names := [...]string{"q", "k", "v"}
	for i, in := range [...]*view.Tensor{c.q, c.k, c.v} {
		if written.Overlaps(in.Memory()) {
			return view.Overlap(arg, names[i])
		}
		if s := in.Scales(); s != nil && written.Overlaps(s.Memory()) {
			return view.Overlap(arg, "the scales of "+names[i])
		}
	}
	if with := c.scoring.Overlap(written); with != "" {
		return view.Overlap(arg, with)
	}
	for _, other := range others {
		if written.Overlaps(other) {
			return view.Overlap(arg, "another output")
		}
	}
	return nil
}
