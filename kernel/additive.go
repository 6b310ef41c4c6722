package kernel

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/backward"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
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

// AdditiveGradients are the outputs of [AdditiveBackward]: float32, neither paged nor ragged. Those
// that are not set are not computed.
type AdditiveGradients struct {
	Q, K, V Tensor    // with respect to q, k and v, and of their shapes
	Weights []float32 // with respect to the weights
}

// AdditiveBackwardOptions are the settings of one call of [AdditiveBackward].
type AdditiveBackwardOptions struct {
	Exec // changes no bit of the result

	// Scale is Options.Scale of the call of [Additive], up to ±2^127: 0 means 1, and -0 is 0.
	Scale float32

	// Accumulate adds the gradients to what the outputs hold: in a decoder, the steps add to the
	// gradients of the same keys and values. Keys that no query sees get +0 added.
	Accumulate bool
}

// AdditiveBackward computes the gradients of [Additive] from dout, the gradient of its out:
//
//	dp[i][j]   = dout[i]·v[j]
//	x[i][j]    = p[i][j]·(dp[i][j] - sum of p[i][j]·dp[i][j] over j)·Scale
//	t[i][j][d] = tanh(q[i][d] + k[j][d])
//	Q[i][d]    = sum of x[i][j]·(1 - t[i][j][d]²)·weights[d] over j
//	K[j][d]    = sum of x[i][j]·(1 - t[i][j][d]²)·weights[d] over i
//	V[j]       = sum of p[i][j]·dout[i] over i
//	Weights[d] = sum of x[i][j]·t[i][j][d] over i and j
//
//	q    [B, H, Lq, D]
//	k    [B, Hkv, Lk, D]   Hkv divides H; the sums over i are over the queries of all query heads
//	v    [B, Hkv, Lk, Dv]  of a key head
//	dout [B, H, Lq, Dv]
//	p    [B, H, Lq, Lk]    the weights of the attention, as the call wrote them to Options.Weights
//
// All are float32, and neither paged nor ragged. The options of the call may have been any that
// leave these formulas true: Scale, Mask, ALiBi, Bias, Sinks and positions, but not Softcap, Score
// or Dropout. A key with the weight 0 does not count for the query, even if it or its value is NaN.
//
// Numbers of dout below 2^-100 in magnitude count as 0, and so do gradients of scores, as
// in [AttentionBackward].
//
// The gradients share no memory with each other or with an argument. The numeric contract
// defines their bits, see "Contract: gradients of layers". In the steady state a call
// allocates nothing. It uses as many threads as there are key heads in the batch. An
// error is an [*Error], and leaves the gradients untouched.
func AdditiveBackward(g AdditiveGradients, dout, q, k, v, p Tensor, weights []float32, opts AdditiveBackwardOptions) error {
	t, err := selectTier("kernel.AdditiveBackward", &opts.Exec)
	if err != nil {
		return err
	}
	c := additiveBackward{
		call: newCall(scoring.Additive, &dout, &q, &k, &v, &opts.Exec, &Scoring{Scale: opts.Scale}, &noOutputs),
		p:    p.view(), grads: &g, weights: weights,
	}
	if f := c.check(); f != nil {
		return (*Error)(f.In("kernel.AdditiveBackward"))
	}
	if view.Races {
		c.announce()
	}
	a := backward.NewAdditive()
	a.Q, a.K, a.V, a.DOut, a.P = *c.q, *c.k, *c.v, *c.out, *c.p
	a.DQ, a.DK, a.DV = *g.Q.view(), *g.K.view(), *g.V.view()
	a.DWeights, a.Weights, a.Accumulate = g.Weights, weights, opts.Accumulate
	a.Scale = scoring.ScaleOr(opts.Scale, 1)
	a.Run(t, opts.Threads, opts.ParallelFor)
	a.Release()
	return nil
}

// An additiveBackward is the arguments of a call of AdditiveBackward. out is dout, which has its
// shape.
type additiveBackward struct {
	call
	p       *view.Tensor
	grads   *AdditiveGradients
	weights []float32
}

// check reports the first argument that does not fit.
func (c *additiveBackward) check() *check.Failure {
	names := [...]string{"q", "k", "v", "dout", "p"}
	for i, t := range [...]*view.Tensor{c.q, c.k, c.v, c.out, c.p} {
		if f := t.CheckPlainFloats(names[i]); f != nil {
			return f
		}
	}
	if f := c.checkShapes("dout"); f != nil {
		return f
	}
	// Tensors that are broadcast take no memory, the scratch memory of a key head does.
	const most = 1024 // numbers of scratch memory for a key, or for a column
	d, dv, keys := c.q.Dim(3), c.v.Dim(3), c.k.Dim(2)
	if need := ints.MulSat(ints.AddSat(keys, dv), ints.AddSat(d, most)); !hugepages.Fits(ints.MulSat(need, 4), 1) {
		return &check.Failure{Where: "k", Got: c.k.Describe(), Want: "fewer keys: memory for some rows of them", Kind: check.ErrMemory}
	}
	dq, dk, dV := c.grads.Q.view(), c.grads.K.view(), c.grads.V.view()
	return cmp.Or(
		c.p.CheckLike("p", c.q, "q", keys),
		dq.CheckGradient("Gradients.Q", c.q, "q"), dk.CheckGradient("Gradients.K", c.k, "k"), dV.CheckGradient("Gradients.V", c.v, "v"),
		check.Length("weights", len(c.weights), d, "one for each number of a query"), check.LengthOrNil("Gradients.Weights", c.grads.Weights, d, "as weights has them"),
		view.CheckApart(4, []string{"Gradients.Q", "Gradients.K", "Gradients.V", "Gradients.Weights", "q", "k", "v", "dout", "p", "weights"},
			dq.Memory(), dk.Memory(), dV.Memory(), view.MemoryOf(c.grads.Weights),
			c.q.Memory(), c.k.Memory(), c.v.Memory(), c.out.Memory(), c.p.Memory(), view.MemoryOf(c.weights)),
		c.checkOptions(),
	)
}

// announce tells the race detector what the call reads and writes.
func (c *additiveBackward) announce() {
	for _, t := range [...]*view.Tensor{c.q, c.k, c.v, c.out, c.p} {
		t.AnnounceAll(view.Read)
	}
	for _, t := range [...]*view.Tensor{c.grads.Q.view(), c.grads.K.view(), c.grads.V.view()} {
		t.AnnounceAll(view.Write)
	}
	view.Announce(view.Read, c.weights)
	view.Announce(view.Write, c.grads.Weights)
}
