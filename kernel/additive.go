package kernel

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// Additive is [Attention] with another score (Bahdanau, Cho, Bengio: "Neural Machine
// Translation by Jointly Learning to Align and Translate"): a small network applied to
// the sum of query and key,
//
//	score = weights[0]·tanh(q[0]+k[0]) + weights[1]·tanh(q[1]+k[1]) + ...
//
// q and k are projections of the states to the same hidden size D; the keys of a
// sequence are projected once, for all steps of a decoder. There are D weights, finite
// and, multiplied by Options.Scale, at most 2^127 in magnitude. Options.Scale is 1 by
// default, and -0 is 0. Everything else is as in Attention.
func Additive(out, q, k, v Tensor, weights []float32, opts *Options) error {
	opts = cmp.Or(opts, &defaults)
	t, err := selectTier("kernel.Additive", &opts.Exec)
	if err != nil {
		return err
	}
	c := newCall(scoring.Additive, &out, &q, &k, &v, &opts.Exec, &opts.Scoring, &opts.Outputs)
	if f := c.check(); f != nil {
		return (*Error)(f.In("kernel.Additive"))
	}
	scale := float64(scoring.ScaleOr(opts.Scale, 1))
	if f := c.checkWeights(weights, scale); f != nil {
		return (*Error)(f.In("kernel.Additive"))
	}
	if c.isEmpty() {
		return nil
	}
	if view.Races {
		c.announce()
		view.Announce(view.Read, weights)
	}
	j := engine.New()
	c.resolve(&j.Call)
	j.Call.Additive, j.Call.AdditiveScale = weights, scale
	j.Run(t, opts.Threads, opts.ParallelFor)
	j.Release()
	return nil
}

// checkWeights reports weights that do not fit the call.
func (c *call) checkWeights(weights []float32, scale float64) *check.Failure {
	if f := check.Length("weights", len(weights), c.q.Dim(3), "one for each number of a query"); f != nil {
		return f
	}
	for x, w := range weights {
		if s := float64(w) * scale; !(math.Abs(s) <= 0x1p127) || !(math.Abs(float64(w)) <= 0x1p127) {
			return &check.Failure{Where: "weights", Got: fmt.Sprintf("%v at %d", w, x), Want: "finite numbers, multiplied by Options.Scale up to ±2^127"}
		}
	}
	o := c.outputs.tensors()
	return view.CheckApart(1, []string{"weights", "out", outputNames[0], outputNames[1], outputNames[2]},
		view.MemoryOf(weights), c.out.Memory(), o[0].Memory(), o[1].Memory(), o[2].Memory())
}
