package kernel

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/backward"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/view"
)

// AdditiveGradients are the outputs of [AdditiveBackward]: float32, neither paged nor ragged. Those
// that are not set are not computed.
type AdditiveGradients struct {
	Q, K, V Tensor    // with respect to q, k and v, and of their shapes
	Weights []float32 // with respect to the weights
}

// AdditiveBackwardOptions are the settings of one call of [AdditiveBackward].
type AdditiveBackwardOptions struct {
	Exec // changes no bit of the result

	// Scale is Options.Scale of the call of [Additive]: 0 means 1, and -0 is 0.
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
//	k    [B, Hkv, Lk, D]   Hkv divides H; the sums over i are over the queries of all query heads of
//	v    [B, Hkv, Lk, Dv]  a key head
//	dout [B, H, Lq, Dv]
//	p    [B, H, Lq, Lk]    the weights of the attention, as the call wrote them to Options.Weights
//
// All are float32, and neither paged nor ragged. The options of the call may have been any that
// leave these formulas true: Scale, Mask, ALiBi, Bias, Sinks and positions, but not Softcap, Score or
// Dropout. A key with the weight 0 does not count for the query, even if it or its value is NaN.
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
		inputs:  [...]view.Tensor{*q.view(), *k.view(), *v.view(), *dout.view(), *p.view()},
		outputs: [...]view.Tensor{*g.Q.view(), *g.K.view(), *g.V.view()},
		dw:      g.Weights, weights: weights,
	}
	if f := c.check(&opts); f != nil {
		return (*Error)(f.In("kernel.AdditiveBackward"))
	}
	if view.Races {
		c.announce()
	}
	a := backward.NewAdditive()
	a.Q, a.K, a.V, a.DOut, a.P = c.inputs[qArg], c.inputs[kArg], c.inputs[vArg], c.inputs[doutArg], c.inputs[pArg]
	a.DQ, a.DK, a.DV = c.outputs[qArg], c.outputs[kArg], c.outputs[vArg]
	a.DWeights, a.Weights, a.Accumulate = g.Weights, weights, opts.Accumulate
	a.Scale = scoring.ScaleOr(opts.Scale, 1)
	a.Run(t, opts.Threads, opts.ParallelFor)
	a.Release()
	return nil
}

// The indices of tensors in an additiveBackward.
const (
	qArg = iota
	kArg
	vArg
	doutArg
	pArg
)

// An additiveBackward is the arguments of a call.
type additiveBackward struct {
	inputs      [5]view.Tensor
	outputs     [3]view.Tensor
	dw, weights []float32
}

// check reports the first argument that does not fit.
func (c *additiveBackward) check(o *AdditiveBackwardOptions) *check.Failure {
	names := [...]string{"q", "k", "v", "dout", "p"}
	for i := range c.inputs {
		if f := checkRows(names[i], &c.inputs[i]); f != nil {
			return f
		}
	}
	if f := c.checkShapes(); f != nil {
		return f
	}
	gradients := [...]string{"Gradients.Q", "Gradients.K", "Gradients.V"}
	for i := range c.outputs {
		t := &c.outputs[i]
		if !t.IsSet() {
			continue
		}
		if f := checkRows(gradients[i], t); f != nil {
			return f
		}
		if t.Shape() != c.inputs[i].Shape() {
			return &check.Failure{Where: gradients[i], Got: t.Describe(), Want: fmt.Sprintf("shape %v, that of %s", c.inputs[i].Shape(), names[i])}
		}
		if f := t.CheckDistinct(gradients[i]); f != nil {
			return f
		}
	}
	if f := c.checkWeights(o); f != nil {
		return f
	}
	if f := c.checkMemory(); f != nil {
		return f
	}
	return check.Threads("Options.Threads", o.Threads)
}

// checkRows reports a tensor that is not valid by itself, or not plain float32.
func checkRows(arg string, t *view.Tensor) *check.Failure {
	if f := t.Check(arg); f != nil {
		return f
	}
	if t.DType() != view.Float32 || !t.IsPlain() {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: "float32, neither paged nor ragged"}
	}
	return nil
}

// checkShapes reports an input whose shape does not fit the others.
func (c *additiveBackward) checkShapes() *check.Failure {
	wrong := func(arg string, t *view.Tensor, want string, args ...any) *check.Failure {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: fmt.Sprintf(want, args...)}
	}
	q, k, v, dout, p := &c.inputs[qArg], &c.inputs[kArg], &c.inputs[vArg], &c.inputs[doutArg], &c.inputs[pArg]
	s, sk := q.Shape(), k.Shape()
	switch {
	case sk[0] != s[0] || sk[3] != s[3]:
		return wrong("k", k, "batch %d and head size %d, as q has them", s[0], s[3])
	case sk[1] == 0 && s[1] > 0 || sk[1] > 0 && s[1]%sk[1] != 0:
		return wrong("k", k, "a number of heads that divides that of q, %d", s[1])
	case v.Shape() != [4]int{sk[0], sk[1], sk[2], v.Dim(3)}:
		return wrong("v", v, "batch %d, %d heads and length %d, as k has them", sk[0], sk[1], sk[2])
	case dout.Shape() != [4]int{s[0], s[1], s[2], v.Dim(3)}:
		return wrong("dout", dout, "shape %v, that of q with the head size of v", [4]int{s[0], s[1], s[2], v.Dim(3)})
	case p.Shape() != [4]int{s[0], s[1], s[2], sk[2]}:
		return wrong("p", p, "shape %v, a weight for every query and key", [4]int{s[0], s[1], s[2], sk[2]})
	}
	// Tensors that are broadcast take no memory, the scratch memory of a key head does.
	const most = 1024 // numbers of scratch memory for a key, or for a column
	if need := ints.MulSat(ints.AddSat(sk[2], v.Dim(3)), ints.AddSat(s[3], most)); !hugepages.Fits(ints.MulSat(need, 4), 1) {
		return &check.Failure{Where: "k", Got: k.Describe(), Want: "fewer keys: memory for some rows of them", Kind: check.ErrMemory}
	}
	return nil
}

// checkWeights reports weights, their gradients or a scale that do not fit.
func (c *additiveBackward) checkWeights(o *AdditiveBackwardOptions) *check.Failure {
	d := c.inputs[qArg].Dim(3)
	if len(c.weights) != d {
		return &check.Failure{Where: "weights", Got: fmt.Sprintf("%d numbers", len(c.weights)), Want: fmt.Sprintf("one for each of the %d of a query", d)}
	}
	if c.dw != nil && len(c.dw) != d {
		return &check.Failure{Where: "Gradients.Weights", Got: fmt.Sprintf("%d numbers", len(c.dw)), Want: fmt.Sprintf("%d as weights has them, or nil", d)}
	}
	if !(math.Abs(float64(o.Scale)) <= math.MaxFloat32) {
		return &check.Failure{Where: "Options.Scale", Got: fmt.Sprint(o.Scale), Want: "a finite number, 0 for 1, or -0 for 0"}
	}
	return nil
}

// checkMemory reports a gradient that shares memory with another argument.
func (c *additiveBackward) checkMemory() *check.Failure {
	names := [...]string{"Gradients.Q", "Gradients.K", "Gradients.V", "Gradients.Weights", "q", "k", "v", "dout", "p", "weights"}
	var memory [len(names)]view.Memory
	for i := range c.outputs {
		memory[i] = c.outputs[i].Memory()
	}
	memory[3] = view.MemoryOf(c.dw)
	for i := range c.inputs {
		memory[4+i] = c.inputs[i].Memory()
	}
	memory[9] = view.MemoryOf(c.weights)
	for i := range memory {
		for k := range min(i, 4) {
			if memory[k].Overlaps(memory[i]) {
				return &check.Failure{Where: names[k], Got: "memory that overlaps " + names[i], Want: "a range of memory of its own"}
			}
		}
	}
	return nil
}

// announce tells the race detector what the call reads and writes.
func (c *additiveBackward) announce() {
	for i := range c.inputs {
		announceAll(view.Read, &c.inputs[i])
	}
	for i := range c.outputs {
		if c.outputs[i].IsSet() {
			announceAll(view.Write, &c.outputs[i])
		}
	}
	view.Announce(view.Read, c.weights)
	view.Announce(view.Write, c.dw)
}

func announceAll(a view.Access, t *view.Tensor) {
	for b := range t.Dim(0) {
		if t.Dim(1) > 0 {
			t.AnnounceRows(a, b, 0, t.Dim(2))
		}
	}
}
