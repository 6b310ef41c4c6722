package kernel

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/backward"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// Gradients are the outputs of [AttentionBackward]: the gradients of a loss with respect to the
// inputs of a call of [Attention]. A gradient that is not set is not computed.
type Gradients struct {
	// Q, K and V have the shapes of q, k and v, ragged if these are, with the same lengths, in
	// float32. Rows of keys that no query sees are zeros. Rows of Q, K and V may alternate in
	// memory, as [PackedQKV] lays them out, so that the gradient of a joint projection is written
	// in its place. No two share an element, or memory with an argument.
	Q, K, V Tensor

	// Bias has the shape of Options.Bias, in float32. Where a dimension of the bias is 1, the
	// gradients along it are added up.
	Bias Tensor

	// Sinks has a number for each of q's heads, if Options.Sinks has.
	Sinks []float32
}

// BackwardOptions are the settings of one call of [AttentionBackward]. Scoring has the values that
// it had in the call of [Attention]. Score, DynamicInt12 and BFloat16 must not be set: the
// derivative of Score is unknown, and rounding has none.
type BackwardOptions struct {
	Exec
	Scoring

	// Accumulate adds the gradients to what the outputs hold, as for several calls with the same
	// parameters: each number becomes the sum of itself and of what a call without Accumulate
	// gives, rounded once. Where nothing is added, as for keys that no query sees, +0 is.
	Accumulate bool
}

// AttentionBackward computes the gradients of a call of [Attention]. dout is the gradient of a loss
// with respect to out. lse is Options.LSE of that call, which it has written, and q, k, v and the
// options are those that it had:
//
//	P  = exp(S - lse), S the scores after all options; 0 for hidden pairs
//	dP = dout·vᵀ
//	dS = P∘(dP - D), D = the sum of P∘dP over the keys of a row
//
//	dv = Pᵀ·dout    dq = dS·k·scale    dk = dSᵀ·q·scale    dbias = dS
//
// Softcap multiplies dS by its derivative after the gradient of the bias is taken. Dropout drops
// the same weights again, by its counters. Query heads that share a key head add to its gradients.
// Section "backward" of the numeric contract, package contract, fixes the order of all sums: like
// results, gradients have the same bits on every CPU, tier and thread count.
//
// q, k, v and dout are float32, Float16 or BFloat16, not in pages. dout has out's shape,
// and lse is [B, H, Lq, 1] in float32.
//
// Scores are computed again, for 64 rows at a time or, on some CPUs, twice as many (after Dao:
// "FlashAttention-2", 2023), so that the workspace is O(threads): 4 or 8 MiB for each at most, half
// as much again with Softcap, and two numbers for each row of q. In the steady state a call
// allocates nothing.
//
// out itself is not needed: D is also the sum of dout∘out, but the rounding of out would double
// the error of dq. Against float64, gradients on real activations have 0.8 to 1.3 times the error
// of PyTorch's.
//
// Rows of hidden keys and values never matter, even if they are NaN; nor do rows of q and dout that
// see no key. A NaN in a visible pair makes all gradients NaN that depend on it; a NaN in a result
// is 7fc00000.
//
// Numbers of dout below 2^-100 in magnitude count as 0, and so do gradients of scores:
// their products may be subnormal, and on some CPUs those take 100 times as long as others.
// A loss whose gradients are that small needs a factor.
//
// Gradients are overwritten, or added to with opts.Accumulate. The workspace then has room for the
// gradients of k and v (with one thread, of one key head), and for the gradient of a bias that
// several pairs share.
//
// Bad input gets an [*Error], and the gradients stay untouched.
func AttentionBackward(grads Gradients, dout, q, k, v, lse Tensor, opts *BackwardOptions) error {
	opts = cmp.Or(opts, &backwardDefaults)
	t, err := selectTier("kernel.AttentionBackward", &opts.Exec)
	if err != nil {
		return err
	}
	c := backwardCall{
		call: newCall(scoring.Gradients, &dout, &q, &k, &v, &opts.Exec, &opts.Scoring, &noOutputs),
		lse:  lse.view(), grads: &grads, accumulate: opts.Accumulate,
	}
	if f := c.check(); f != nil {
		return (*Error)(f.In("kernel.AttentionBackward"))
	}
	if q.view().Dim(0) == 0 || q.view().Dim(1) == 0 {
		grads.addNothing(opts.Accumulate)
		return nil
	}
	if grads.Bias.view().Dim(3) == 0 { // there is no key, and nothing to write
		grads.Bias = Tensor{}
	}
	if view.Races {
		c.announce()
	}
	j := backward.New()
	c.resolve(&j.Call.Forward)
	j.Call.Forward.LSE = *c.lse
	j.Call.DOut, j.Call.DQ, j.Call.DK, j.Call.DV, j.Call.DBias = *c.out, *grads.Q.view(), *grads.K.view(), *grads.V.view(), *grads.Bias.view()
	j.Call.DSinks, j.Call.Accumulate = grads.Sinks, opts.Accumulate
	j.Run(t, opts.Threads, opts.ParallelFor)
	j.Release()
	return nil
}

// addNothing sets the gradients of a call without queries to zero, or adds +0.
func (g *Gradients) addNothing(accumulate bool) {
	rows.Start(g.Sinks, accumulate)
	for _, t := range [...]*view.Tensor{g.K.view(), g.V.view(), g.Bias.view()} {
		t.EachRow(func(row []float32) { rows.Start(row, accumulate) })
	}
}

// A backwardCall is the arguments of a call of AttentionBackward. out is dout, which has its shape.
type backwardCall struct {
	call
	lse        *view.Tensor
	grads      *Gradients
	accumulate bool
}

// announce tells the race detector what the call reads and writes.
func (c *backwardCall) announce() {
	forward := c.call
	forward.out = nil
	forward.announce()
	for b := range c.q.Dim(0) {
		for _, t := range [...]*view.Tensor{c.out, c.lse} {
			t.AnnounceRows(view.Read, b, 0, c.q.Length(b))
		}
		for _, t := range [...]*view.Tensor{c.grads.Q.view(), c.grads.K.view(), c.grads.V.view()} {
			if t.IsSet() {
				t.AnnounceRows(view.Write, b, 0, t.Length(b))
			}
		}
	}
	if t := c.grads.Bias.view(); t.IsSet() {
		for b := range t.Dim(0) {
			t.AnnounceRows(view.Write, b, 0, t.Dim(2))
		}
	}
	view.Announce(view.Write, c.grads.Sinks)
}

// check reports the first argument of AttentionBackward that does not fit. It reads no
// element of a tensor (but lengths and ids) and writes nothing.
func (c *backwardCall) check() *check.Failure {
	names := [...]string{"q", "k", "v", "dout"}
	for i, t := range [...]*view.Tensor{c.q, c.k, c.v, c.out} {
		if f := t.Check(names[i]); f != nil {
			return f
		}
		if !t.IsFloat() {
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: view.WantFloat}
		}
	}
	if f := c.checkShapes("dout"); f != nil {
		return f
	}
	if f := c.checkOptions(); f != nil {
		return f // the checks of gradients read what it has found to fit
	}
	return cmp.Or(c.checkLSE(), c.checkGradients())
}

func (c *backwardCall) checkLSE() *check.Failure {
	const arg = "lse"
	s := &c.scores
	if want := [4]int{s.Batch, s.Heads, s.Queries, 1}; !c.lse.IsSet() || c.lse.Shape() != want || c.lse.DType() != view.Float32 {
		got := "none"
		if c.lse.IsSet() {
			got = c.lse.Describe()
		}
		return &check.Failure{Where: arg, Got: got, Want: fmt.Sprintf("the float32 %v that Attention has written", want)}
	}
	if f := c.lse.Check(arg); f != nil {
		return f
	}
	return c.lse.CheckLengths(arg, c.q, "q")
}

// checkGradients reports an output that does not fit the call or that shares memory with
// anything else.
func (c *backwardCall) checkGradients() *check.Failure {
	// Names and tensors in one struct would make the tensors escape.
	names := [...]string{"Gradients.Q", "Gradients.K", "Gradients.V", "Gradients.Bias"}
	inputs := [...]string{"q", "k", "v", "Options.Bias"}
	like := [...]*view.Tensor{c.q, c.k, c.v, &c.scoring.Bias}
	g := c.grads
	var written [len(names)]view.Memory
	grads := [...]*view.Tensor{g.Q.view(), g.K.view(), g.V.view(), g.Bias.view()}
	for i, t := range grads {
		if !t.IsSet() {
			continue
		}
		if !like[i].IsSet() {
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: "none, as there is no " + inputs[i]}
		}
		if t.Shape() != like[i].Shape() || t.DType() != view.Float32 || !t.IsFloat() || like[i].IsPlain() && !t.IsPlain() {
			return &check.Failure{Where: names[i], Got: t.Describe(), Want: fmt.Sprintf("float32, in the shape of %s, %v", inputs[i], like[i].Shape())}
		}
		if t.Dim(3) == 0 { // a bias for no keys
			continue
		}
		if f := t.Check(names[i]); f != nil {
			return f
		}
		if f := cmp.Or(t.CheckWritable(names[i]), t.CheckLengths(names[i], like[i], inputs[i])); f != nil {
			return f
		}
		written[i] = t.Memory()
		if f := c.checkShared(names[i], written[i], nil); f != nil {
			return f
		}
		for _, other := range grads[:i] {
			if other.IsSet() && !t.IsApartFrom(other) {
				return view.Overlap(names[i], "another output")
			}
		}
	}
	return cmp.Or(c.checkSinks(written[:]), c.checkSums())
}

// checkSums reports gradients that accumulate and whose sums, beside the outputs, do not fit the
// memory.
func (c *backwardCall) checkSums() *check.Failure {
	g, n := c.grads, 0
	for _, t := range [...]*view.Tensor{g.K.view(), g.V.view(), g.Bias.view()} {
		if isOwn := t == g.Bias.view() && !backward.SharesBias(t, c.q); c.accumulate && t.IsSet() && t.Dim(3) > 0 && !isOwn {
			batch, rows := t.AllRows()
			n = ints.AddSat(n, ints.MulSat(ints.MulSat(batch, rows), ints.MulSat(t.Dim(1), t.Dim(3))))
		}
	}
	if !hugepages.Fits(n, 4) {
		return &check.Failure{Where: "Options.Accumulate", Got: "true", Want: fmt.Sprintf("false: memory for the sums of the gradients, %d numbers", n), Kind: check.ErrMemory}
	}
	return nil
}

func (c *backwardCall) checkSinks(others []view.Memory) *check.Failure {
	const arg = "Gradients.Sinks"
	if c.grads.Sinks == nil {
		return nil
	}
	if len(c.grads.Sinks) != len(c.scoring.Sinks) {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("%d numbers", len(c.grads.Sinks)), Want: fmt.Sprintf("as many as Options.Sinks has: %d", len(c.scoring.Sinks))}
	}
	return c.checkShared(arg, view.MemoryOf(c.grads.Sinks), others)
}

// checkShared reports a gradient whose memory an input or another gradient shares.
func (c *backwardCall) checkShared(arg string, written view.Memory, others []view.Memory) *check.Failure {
	if f := c.checkOverlap(arg, written, others); f != nil {
		return f
	}
	names := [...]string{"dout", "lse"}
	for i, in := range [...]*view.Tensor{c.out, c.lse} {
		if written.Overlaps(in.Memory()) {
			return view.Overlap(arg, names[i])
		}
	}
	return nil
}
