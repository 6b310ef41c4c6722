// Package activation has the activation functions of feed-forward layers, alone and gated,
// with the same bits on every CPU:
//
//   - [SiLU], [GELU] and [GELUTanh] of the elements of a slice
//   - [SwiGLU], [GeGLU] and [GeGLUTanh], these functions of one slice times another slice
//   - the gradients of all of them, such as [SiLUBackward] and [SwiGLUBackward], and those of
//     tanh and of the logistic function from their results, [TanhBackward] and [SigmoidBackward]
//   - what follows the linear layers of a gated recurrent unit, and its gradients, [GRU] and
//     [GRUBackward]
//
// All of them use the vector instructions of the CPU, and several goroutines if there is enough to
// do. Their last argument, exec, says how a call is computed; the zero Exec is the default. exec changes no
// bit of a result: the numeric contract, package contract, defines all of them. Relative to the exact values
// the errors are small everywhere, also where a result is tiny:
//
//	SiLU      within 2.39 ulp
//	GELU      within 2.77 ulp
//	GELUTanh  within 2.34 ulp of the formula with tanh
//
// A result has the sign of its argument: ±0 for ±0, -0 for large negative numbers. It is
// -0 for -Inf, +Inf for +Inf and NaN for NaN.
package activation

import (
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// SiLU computes dst[i] = x/(1+e^-x), x = src[i]. It is also called swish. dst may be src.
// If they overlap in part or their lengths differ, the error is a [*kernel.Error], and so
// it is if exec or ATTN_TIER names a tier that cannot run. An error leaves dst untouched.
func SiLU(dst, src []float32, exec kernel.Exec) error { return silu.Slice(dst, src, &exec) }

// GELU computes dst[i] = x·Φ(x) = x/2·(1 + erf(x/sqrt(2))), x = src[i]. Φ is the normal
// distribution function. The arguments and the errors are those of [SiLU].
func GELU(dst, src []float32, exec kernel.Exec) error { return gelu.Slice(dst, src, &exec) }

// GELUTanh computes dst[i] = x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³))), x = src[i], which
// many models use in the place of [GELU]. The arguments and the errors are those of [SiLU].
func GELUTanh(dst, src []float32, exec kernel.Exec) error {
	return geluTanh.Slice(dst, src, &exec)
}

// SwiGLU computes dst[i] = SiLU(gate[i])·up[i]. The bits are those of [SiLU] and a
// product that is rounded. dst may be gate or up, and these may overlap. If dst overlaps
// a part of one of them or the lengths differ, the error is a [*kernel.Error], and so it
// is if exec or ATTN_TIER names a tier that cannot run. An error leaves dst untouched.
func SwiGLU(dst, gate, up []float32, exec kernel.Exec) error {
	return onPair(dst, gate, up, &exec, &swiglu)
}

// GeGLU computes dst[i] = GELU(gate[i])·up[i], with [GELU]. The arguments and the errors are
// those of [SwiGLU].
func GeGLU(dst, gate, up []float32, exec kernel.Exec) error {
	return onPair(dst, gate, up, &exec, &geglu)
}

// GeGLUTanh computes dst[i] = GELUTanh(gate[i])·up[i], with [GELUTanh]. The arguments and the
// errors are those of [SwiGLU].
func GeGLUTanh(dst, gate, up []float32, exec kernel.Exec) error {
	return onPair(dst, gate, up, &exec, &gegluTanh)
}

// An element takes as long as so many FMAs of a product, with avx2 on Zen 3 and in L2.
const (
	functionFMAs    = 40
	slopeFMAs       = 250
	resultFMAs      = 70 // a gradient from a result, in Go
	gruFMAs         = 45
	gruBackwardFMAs = 20
)

var (
	silu      = elementwise.Function{Name: "activation.SiLU", Outputs: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Activations().SiLU(c.Slices[0], c.Slices[1]) }}
	gelu      = elementwise.Function{Name: "activation.GELU", Outputs: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Activations().GELU(c.Slices[0], c.Slices[1]) }}
	geluTanh  = elementwise.Function{Name: "activation.GELUTanh", Outputs: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Activations().GELUTanh(c.Slices[0], c.Slices[1]) }}
	swiglu    = elementwise.Function{Name: "activation.SwiGLU", Outputs: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Activations().SwiGLU(c.Slices[0], c.Slices[1], c.Slices[2]) }}
	geglu     = elementwise.Function{Name: "activation.GeGLU", Outputs: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Activations().GeGLU(c.Slices[0], c.Slices[1], c.Slices[2]) }}
	gegluTanh = elementwise.Function{Name: "activation.GeGLUTanh", Outputs: 1, ElementFMAs: functionFMAs, Do: func(c *elementwise.Call) { c.Tier.Activations().GeGLUTanh(c.Slices[0], c.Slices[1], c.Slices[2]) }}
)
