package kernel

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
)

const biasArg = "Options.Bias"

// checkOptions reports the first option that does not fit the tensors, which fit each
// other.
func (c *views) checkOptions(o *Options) *check.Failure {
	s := c.scores()
	if f := c.checkSettings(o, &s); f != nil {
		return f
	}
	return c.checkOutputs(o, &s)
}

// checkSettings is checkOptions without the further outputs.
func (c *views) checkSettings(o *Options, s *view.Scores) *check.Failure {
	if f := o.checkNumbers(); f != nil {
		return f
	}
	if f := o.checkPositions(s); f != nil {
		return f
	}
	if f := (*mask.Mask)(&o.Mask).Check(s); f != nil {
		return f
	}
	if f := checkPerHead(s.Heads, o.ALiBi, o.Sinks); f != nil {
		return f
	}
	if bias := o.Bias.view(); bias.IsSet() {
		if !bias.IsPlain() {
			return &check.Failure{Arg: biasArg, Got: bias.Describe(), Want: "float32, float16 or bfloat16, neither paged nor ragged"}
		}
		if _, f := bias.Broadcast(biasArg, s); f != nil {
			return f
		}
	}
	return nil
}

func (o *Options) checkNumbers() *check.Failure {
	switch {
	case !isScore(o.Scale):
		return &check.Failure{Arg: "Options.Scale", Got: fmt.Sprint(o.Scale), Want: "a finite number up to ±2^127, or 0 for 1/√D"}
	case o.Softcap != 0 && !(o.Softcap >= 0x1p-126 && isScore(o.Softcap)):
		return &check.Failure{Arg: "Options.Softcap", Got: fmt.Sprint(o.Softcap), Want: "2^-126 to 2^127, or 0 for none"}
	case !(o.Dropout.Rate >= 0 && o.Dropout.Rate < 1):
		return &check.Failure{Arg: "Options.Dropout.Rate", Got: fmt.Sprint(o.Dropout.Rate), Want: "0 to below 1"}
	case o.ScoreStage > ScoresMasked:
		return &check.Failure{Arg: "Options.ScoreStage", Got: fmt.Sprint(o.ScoreStage), Want: "ScoresScaled, ScoresCapped or ScoresMasked"}
	}
	return check.Threads(o.Threads)
}

// isScore tells whether x is finite, also in the unit of base-2 exponentials.
func isScore(x float32) bool { return x >= -0x1p127 && x <= 0x1p127 }

func (o *Options) checkPositions(s *view.Scores) *check.Failure {
	if f := position.Check("Options.QueryStart", "position", o.QueryStart, s.Batch, 1-position.Max, position.Max-s.Queries); f != nil {
		return f
	}
	if f := position.Check("Options.KeyStart", "position", o.KeyStart, s.Batch, 0, position.Max-s.Keys); f != nil {
		return f
	}
	if n := len(o.Dropout.Sequences); o.Dropout.Sequences != nil && n != s.Batch {
		return &check.Failure{Arg: "Options.Dropout.Sequences", Got: fmt.Sprintf("%d numbers", n), Want: fmt.Sprintf("one per batch row: %d", s.Batch)}
	}
	return nil
}

// checkPerHead reports ALiBi slopes or sinks that do not fit the heads of q.
func checkPerHead(heads int, alibi, sinks []float32) *check.Failure {
	if alibi == nil && sinks == nil {
		return nil
	}
	for i, values := range [...][]float32{alibi, sinks} {
		arg, want := "Options.ALiBi", "a finite number up to ±2^127"
		if i == 1 {
			arg, want = "Options.Sinks", "a finite number up to ±2^127, or -Inf for none"
		}
		if values != nil && len(values) != heads {
			return &check.Failure{Arg: arg, Got: fmt.Sprintf("%d numbers", len(values)), Want: fmt.Sprintf("one for each of q's heads: %d", heads)}
		}
		for h, x := range values {
			if !isScore(x) && (i == 0 || !math.IsInf(float64(x), -1)) {
				return &check.Failure{Arg: arg, Got: fmt.Sprintf("%v for head %d", x, h), Want: want}
			}
		}
	}
	return nil
}

// checkOutputs reports outputs that do not fit the call or that share memory with
// anything else.
func (c *views) checkOutputs(o *Options, s *view.Scores) *check.Failure {
	names := [...]string{"out", "Options.LSE", "Options.Weights", "Options.Scores"}
	columns := [...]int{c.out.Dim(3), 1, s.Keys, s.Keys}
	var written [len(names)]view.Memory
	for i, t := range [...]*view.Tensor{c.out, o.LSE.view(), o.Weights.view(), o.Scores.view()} {
		if i > 0 && !t.IsSet() {
			continue
		}
		if want := [4]int{s.Batch, s.Heads, s.Queries, columns[i]}; t.Shape() != want {
			return &check.Failure{Arg: names[i], Got: t.Describe(), Want: fmt.Sprintf("shape %v", want)}
		}
		if i > 0 {
			if f := c.checkFurtherOutput(names[i], t); f != nil {
				return f
			}
		}
		written[i] = t.Memory()
		if f := c.checkOverlap(names[i], written[i], o, written[:i]); f != nil {
			return f
		}
	}
	return nil
}

// checkFurtherOutput reports an output beside out that is not a float32 tensor with
// the lengths of out. One without columns is never written.
func (c *views) checkFurtherOutput(arg string, t *view.Tensor) *check.Failure {
	if t.DType() != view.Float32 {
		return &check.Failure{Arg: arg, Got: t.Describe(), Want: "float32"}
	}
	if t.Dim(3) == 0 {
		return nil
	}
	if f := t.Check(arg); f != nil {
		return f
	}
	if f := t.CheckWritable(arg); f != nil {
		return f
	}
	return t.CheckLengths(arg, c.out, "out")
}
