package kernel

import (
	"cmp"

	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// Contract is the version of the numeric contract, which package contract has in full.
// Whoever changes a bit of any result raises it.
const Contract = 4

// Attention computes out = softmax(q·kᵀ·scale, masked)·v, head by head:
//
//	q   [B, H, Lq, D]     queries
//	k   [B, Hkv, Lk, D]   keys; Hkv divides H (GQA, MQA): query head h uses key head h/(H/Hkv)
//	v   [B, Hkv, Lk, Dv]  values; may share memory with k
//	out [B, H, Lq, Dv]    overwritten; between its first and its last element
//	                      there is no memory of the others
//
// Each may have its own element type; q and out have a [Float]. The arithmetic is float32.
//
// opts may be nil, which stands for the zero Options.
//
// D and Dv are at least 1, the other dimensions at least 0. A row that sees no key is
// zeros. A NaN that a row can see, or that arises in it, makes the whole row NaN,
// always with the same bits.
//
// The bits of a row depend on that row, on the keys and values that it sees, and on the
// options. They do not depend on the tier, threads, batch or tiling, see the package
// documentation.
//
// In the steady state, where calls repeat, a call allocates nothing, see [ReleaseMemory].
// It may be made from many goroutines at once. The race detector knows what it reads and
// writes: a program that writes to an input, or reads an output, before the call has
// returned, gets a report.
//
// Its workspace is O(threads), never O(Lq·Lk). Workers of the pool end soon after it,
// see [Exec].
//
// Bad input gets an [*Error], and out stays untouched.
func Attention(out, q, k, v Tensor, opts *Options) error {
	opts = cmp.Or(opts, &defaults)
	t, err := selectTier("kernel.Attention", &opts.Exec)
	if err != nil {
		return err
	}
	c := newCall(scoring.Attention, &out, &q, &k, &v, &opts.Exec, &opts.Scoring, &opts.Outputs)
	if f := c.check(); f != nil {
		return (*Error)(f.In("kernel.Attention"))
	}
	if c.isEmpty() {
		return nil
	}
	if view.Races {
		c.announce()
	}
	j := engine.New()
	c.resolve(&j.Call)
	j.Run(t, opts.Threads, opts.ParallelFor)
	j.Release()
	return nil
}

// What nil options stand for. Nobody writes to them.
var (
	defaults         Options
	partialDefaults  PartialOptions
	backwardDefaults BackwardOptions
)

// A call is the arguments of a call of Attention, or of another function like it.
type call struct {
	kind         scoring.Call
	out, q, k, v *view.Tensor

	threads int
	scoring *scoring.Scoring
	used    scoring.Set // its fields that have an effect
	outputs *Outputs
	isPlain bool        // only options that plain calls have
	scores  view.Scores // shape
}

// newCall returns a call; out may be nil.
func newCall(kind scoring.Call, out, q, k, v *Tensor, e *Exec, s *Scoring, o *Outputs) (c call) {
	c.kind, c.out, c.q, c.k, c.v = kind, out.view(), q.view(), k.view(), v.view()
	c.threads, c.scoring, c.outputs = e.Threads, s.internal(), o
	c.used = c.scoring.Used()
	c.isPlain = c.used.Plain() && !o.any()
	c.scores = view.Scores{Batch: c.q.Dim(0), Heads: c.q.Dim(1), Queries: c.q.Dim(2), Keys: c.k.Dim(2)}
	if c.scoring.KeyRows.IsSet() {
		c.scores.Keys = c.scoring.KeyRows.Shape[3]
	}
	return c
}

// noOutputs are the outputs of calls that write out alone.
var noOutputs Outputs

// isEmpty tells whether there is no query, and so nothing to compute.
func (c *call) isEmpty() bool { return min(c.scores.Batch, c.scores.Heads, c.scores.Queries) == 0 }

// resolve sets into, which is zero, to the call, which has passed the check.
func (c *call) resolve(into *engine.Call) {
	into.Out, into.Q, into.K, into.V = *c.out, *c.q, *c.k, *c.v
	if c.isPlain { // small calls feel a copy of it all
		into.Scale, into.DynamicInt12, into.BFloat16 = c.scoring.Scale, c.scoring.DynamicInt12, c.scoring.BFloat16
		return
	}
	into.Scoring = *c.scoring
	into.Scoring.Resolve(&c.scores)
	into.LSE, into.Stage = *c.outputs.LSE.view(), engine.ScoreStage(c.outputs.ScoreStage)
	if c.scores.Keys > 0 { // otherwise they are empty
		into.Weights, into.Scores = *c.outputs.Weights.view(), *c.outputs.Scores.view()
	}
}
