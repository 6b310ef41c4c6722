// Package norm normalises rows: [RMSNorm] and [LayerNorm], the norms of transformers, with the
// addition of a residual before them. [RMSNormBackward] and [LayerNormBackward] compute their gradients.
//
// Like attention in package kernel, a result has the same bits on every CPU, with any number
// of threads, and whatever other rows are in the call.
package norm

import (
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Options are the settings of one call. The zero value has no residual. Exec changes no bit
// of the result.
type Options struct {
	kernel.Exec

	// Residual, if set, is added to x before the norm: a tensor like x. Each sum is rounded,
	// and is a NaN 0x7FC00000 if it is a NaN. The bits are those of a separate addition.
	Residual kernel.Tensor

	// Sum, if set, receives x + Residual. It needs a Residual, and may be x or Residual itself,
	// but not out.
	Sum kernel.Tensor
}

// RMSNorm divides every row of x by the root of the mean of its squares, and multiplies it by
// weight (Zhang, Sennrich: "Root Mean Square Layer Normalization"):
//
//	out = (x/√(mean(x²) + eps))·weight
//
//	x, out [B, H, L, D]  float32, not paged, and ragged only both in the same way
//	weight               D numbers, or nil for ones
//	eps                  0 or more, finite
//
// A row is the D elements of a token, or with H heads those of each head. out may be x or
// the residual. The numeric contract, package contract, defines the bits. A NaN makes its row
// NaN. Infinite elements, and squares beyond float32, give what the formula gives: zeros and NaN.
//
// In the steady state a call allocates nothing, see [kernel.ReleaseMemory]. Calls that share no
// row may run at once. An error is a [*kernel.Error], and
// leaves out and Sum untouched.
func RMSNorm(out, x kernel.Tensor, weight []float32, eps float32, opts Options) error {
	return apply("norm.RMSNorm", &call{out: view.Tensor(out), x: view.Tensor(x), weight: weight, eps: eps}, &opts)
}

// LayerNorm gives every row of x mean 0 and variance 1, multiplies it by weight and adds bias (Ba,
// Kiros, Hinton: "Layer Normalization"):
//
//	out = (x - mean(x))/√(variance(x) + eps)·weight + bias
//
// The variance is the mean of (x - mean)². bias is D numbers, or nil for none. All else is as
// with [RMSNorm].
func LayerNorm(out, x kernel.Tensor, weight, bias []float32, eps float32, opts Options) error {
	return apply("norm.LayerNorm", &call{out: view.Tensor(out), x: view.Tensor(x), weight: weight, bias: bias, eps: eps, layer: true}, &opts)
}

// apply checks a call and computes it.
func apply(function string, c *call, opts *Options) error {
	c.residual, c.sum = view.Tensor(opts.Residual), view.Tensor(opts.Sum)
	t, f := tier.Handle(opts.Tier).Tier()
	if f == nil {
		f = c.check(opts.Threads)
	}
	if f != nil {
		return (*kernel.Error)(f.In(function))
	}
	if s := c.x.Shape(); min(s[0], s[1], s[2], s[3]) == 0 {
		return nil // the other dimensions may be any numbers
	}
	if view.Races {
		c.announce()
	}
	c.tier = t
	c.run(opts)
	return nil
}

// A call holds the arguments of one call.
type call struct {
	tier                  *tier.Tier
	out, x, residual, sum view.Tensor
	weight, bias          []float32
	eps                   float32
	layer                 bool
}
