package norm

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/tier"
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
	t, f := tier.Handle(opts.Tier).Tier()
	if f == nil {
		f = c.check(opts.Threads)
	}
	if f != nil {
		return (*kernel.Error)(f.In(function))
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
	like := call{x: c.x, weight: c.weight, eps: c.eps}
	names := [...]string{"x", "dy", "Gradients.X", directArg}
	for i, t := range [...]*view.Tensor{&c.x, &c.dy, &c.dx, &c.direct} {
		if i > 1 && !t.IsSet() {
			continue
		}
		if f := like.checkTensor(names[i], t); f != nil {
			return f
		}
	}
	if f := like.checkNumbers(); f != nil {
		return f
	}
	if c.direct.IsSet() && !c.dx.IsSet() {
		return &check.Failure{Where: directArg, Got: c.direct.Describe(), Want: "no tensor, as Gradients.X is not set"}
	}
	if !c.layer && c.dBias != nil {
		return &check.Failure{Where: "Gradients.Bias", Got: fmt.Sprintf("%d numbers", len(c.dBias)), Want: "nil, as RMSNorm has no bias"}
	}
	for i, s := range [...][]float32{c.dWeight, c.dBias} {
		if s != nil && len(s) != c.x.Dim(3) {
			return &check.Failure{Where: [...]string{"Gradients.Weight", "Gradients.Bias"}[i], Got: fmt.Sprintf("%d numbers", len(s)), Want: fmt.Sprintf("%d, one for each element of a row of x, or nil", c.x.Dim(3))}
		}
	}
	if c.dx.IsSet() {
		if f := c.dx.CheckDistinct("Gradients.X"); f != nil {
			return f
		}
	}
	if f := c.checkMemory(); f != nil {
		return f
	}
	if s := c.x.Shape(); min(s[0], s[1], s[2]) > 0 && ints.MulSat(ints.MulSat(s[0], s[1]), s[2]) == math.MaxInt {
		return &check.Failure{Where: "x", Got: c.x.Describe(), Want: "a number of rows that fits an int"}
	}
	return check.Threads("Options.Threads", threads)
}

const directArg = "Options.Direct"

// checkMemory reports a gradient that shares memory with another argument, unless X is the same
// rows.
func (c *backwardCall) checkMemory() *check.Failure {
	names := [...]string{"Gradients.X", "Gradients.Weight", "Gradients.Bias", "dy", "x", directArg, "weight"}
	tensors := [...]*view.Tensor{&c.dx, nil, nil, &c.dy, &c.x, &c.direct, nil}
	memory := [...]view.Memory{
		c.dx.Memory(), view.MemoryOf(c.dWeight), view.MemoryOf(c.dBias), c.dy.Memory(), c.x.Memory(), c.direct.Memory(), view.MemoryOf(c.weight),
	}
	for i := range memory {
		for k := range min(i, 3) {
			same := k == 0 && tensors[i] != nil && c.dx.IsSame(tensors[i])
			if memory[k].Overlaps(memory[i]) && !same {
				want := "memory of its own"
				if k == 0 && tensors[i] != nil {
					want += ", or the same rows"
				}
				return &check.Failure{Where: names[k], Got: "memory that overlaps " + names[i], Want: want}
			}
		}
	}
	return nil
}

// announce announces to the race detector what the call reads and writes.
func (c *backwardCall) announce() {
	for b := range c.x.Dim(0) {
		n := c.x.Length(b)
		c.x.AnnounceRows(view.Read, b, 0, n)
		c.dy.AnnounceRows(view.Read, b, 0, n)
		if c.direct.IsSet() {
			c.direct.AnnounceRows(view.Read, b, 0, n)
		}
		if c.dx.IsSet() {
			c.dx.AnnounceRows(view.Write, b, 0, n)
		}
	}
	view.Announce(view.Read, c.weight)
	view.Announce(view.Write, c.dWeight)
	view.Announce(view.Write, c.dBias)
}
