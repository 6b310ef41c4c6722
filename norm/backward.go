package norm

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Gradients are the outputs of [RMSNormBackward] and [LayerNormBackward]. Those that are not set are not
// computed.
type Gradients struct {
	X            kernel.Tensor // with respect to x: a tensor like x
	Weight, Bias []float32     // with respect to the weight and the bias: D numbers
}

// BackwardOptions are the settings of one call of [RMSNormBackward] or [LayerNormBackward].
type BackwardOptions struct {
	kernel.Exec // changes no bit of the result

	// Direct, if set, is a tensor like x that is added to Gradients.X: with Options.Residual in
	// the forward pass, the gradient that the sum has got elsewhere. It is an error if Gradients.X is not set.
	Direct kernel.Tensor

	// Accumulate adds the gradients of weight and bias to what is there: +0, if there are no rows.
	Accumulate bool
}

// RMSNormBackward computes the gradients of [RMSNorm] from dy, the gradient of its out. With
//
//	inv = 1/√(mean(x²) + eps), y = x·inv, g = dy·weight
//
// they are
//
//	X      = (g - y·mean(g·y))·inv + Direct
//	Weight = dy·y summed up over all rows
//
//	dy, x [B, H, L, D]  float32, not paged, and ragged only both in the same way
//	weight              D numbers, or nil for ones
//
// If the norm had a Residual, x is the sum that it wrote to Options.Sum. Then X is the gradient
// with respect to the sum, and thereby to both summands.
//
// X may be dy, x or Direct. Other memory is not shared. Gradients.Bias must not be set. The numeric
// contract, package contract, defines the bits. A NaN makes its row of X NaN, and Weight.
//
// In the steady state a call allocates nothing. An error is a [*kernel.Error], and leaves
// the gradients untouched.
func RMSNormBackward(g Gradients, dy, x kernel.Tensor, weight []float32, eps float32, opts BackwardOptions) error {
	return backward("norm.RMSNormBackward", &backwardCall{dy: view.Tensor(dy), x: view.Tensor(x), weight: weight, eps: eps}, &g, &opts)
}

// LayerNormBackward computes the gradients of [LayerNorm] from dy, the gradient of its out. With
//
//	inv = 1/√(variance(x) + eps), y = (x - mean(x))·inv, g = dy·weight
//
// they are
//
//	X      = (g - mean(g) - y·mean(g·y))·inv + Direct
//	Weight = dy·y summed up over all rows
//	Bias   = dy summed up over all rows
//
// All else is as with [RMSNormBackward].
func LayerNormBackward(g Gradients, dy, x kernel.Tensor, weight []float32, eps float32, opts BackwardOptions) error {
	return backward("norm.LayerNormBackward", &backwardCall{dy: view.Tensor(dy), x: view.Tensor(x), weight: weight, eps: eps, layer: true}, &g, &opts)
}

// A backwardCall holds the arguments of one call.
type backwardCall struct {
	dx, dy, x, direct view.Tensor
	dWeight, dBias    []float32
	weight            []float32
	eps               float32
	layer, accumulate bool
}

// backward checks a call and computes it.
func backward(function string, c *backwardCall, g *Gradients, opts *BackwardOptions) error {
	c.dx, c.dWeight, c.dBias = view.Tensor(g.X), g.Weight, g.Bias
	c.direct, c.accumulate = view.Tensor(opts.Direct), opts.Accumulate
	t, err := elementwise.Begin(function, &opts.Exec, c.check(opts.Threads))
	if err != nil {
		return err
	}
	if view.Races {
		c.announce()
	}
	j := backwardJobs.Get()
	j.backwardCall = *c
	j.run(t, opts)
	j.backwardCall = backwardCall{} // the caller's memory
	backwardJobs.Put(j)
	return nil
}

// check reports the first argument that does not fit.
func (c *backwardCall) check(threads int) *check.Failure {
	if f := c.x.CheckFloats("x"); f != nil {
		return f
	}
	d := c.x.Dim(3)
	if c.direct.IsSet() {
		if f := c.direct.CheckLike(directArg, &c.x, "x", d); f != nil {
			return f
		}
		if !c.dx.IsSet() {
			return &check.Failure{Where: directArg, Got: c.direct.Describe(), Want: "no tensor, as Gradients.X is not set"}
		}
	}
	if !c.layer && c.dBias != nil {
		return &check.Failure{Where: "Gradients.Bias", Got: fmt.Sprintf("%d numbers", len(c.dBias)), Want: "nil, as RMSNorm has no bias"}
	}
	if s := c.x.Shape(); min(s[0], s[1], s[2]) > 0 && ints.MulSat(ints.MulSat(s[0], s[1]), s[2]) == math.MaxInt {
		return &check.Failure{Where: "x", Got: c.x.Describe(), Want: "a number of rows that fits an int"}
	}
	inputs, dWeight, dBias := []string{"dy", "x", directArg}, view.MemoryOf(c.dWeight), view.MemoryOf(c.dBias)
	return cmp.Or(
		c.dy.CheckLike("dy", &c.x, "x", d), c.dx.CheckGradient("Gradients.X", &c.x, "x"),
		checkNumbers("weight", c.weight, d), checkEps(c.eps), checkNumbers("Gradients.Weight", c.dWeight, d), checkNumbers("Gradients.Bias", c.dBias, d),
		c.dx.CheckBeside("Gradients.X", inputs, &c.dy, &c.x, &c.direct),
		view.CheckApart(3, []string{"Gradients.X", "Gradients.Weight", "Gradients.Bias", "weight"}, c.dx.Memory(), dWeight, dBias, view.MemoryOf(c.weight)),
		view.CheckApart(2, []string{"Gradients.Weight", "Gradients.Bias", "dy", "x", directArg}, dWeight, dBias, c.dy.Memory(), c.x.Memory(), c.direct.Memory()),
		check.Threads("Options.Threads", threads),
	)
}

const directArg = "Options.Direct"

// announce announces to the race detector what the call reads and writes.
func (c *backwardCall) announce() {
	c.x.AnnounceAll(view.Read)
	c.dy.AnnounceAll(view.Read)
	c.direct.AnnounceAll(view.Read)
	c.dx.AnnounceAll(view.Write)
	view.Announce(view.Read, c.weight)
	view.Announce(view.Write, c.dWeight)
	view.Announce(view.Write, c.dBias)
}
