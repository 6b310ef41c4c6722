// Package activation has the activation functions of feed-forward layers, alone and gated,
// with the same bits on every CPU, such as
//
//	err := activation.SwiGLU(dst, gate, up, kernel.Exec{}) // dst[i] = SiLU(gate[i])·up[i]
//
// It has
//
//   - [SiLU], [GELU] and [GELUTanh] of the elements of a slice
//   - [SwiGLU], [GeGLU] and [GeGLUTanh], these functions of one slice times another slice
//   - the gradients of all of them, such as [SiLUBackward] and [SwiGLUBackward], and [TanhBackward]
//     and [SigmoidBackward], which take the results of tanh and of the logistic function
//   - [GRU], which follows the linear layers of a gated recurrent unit, and [GRUBackward]
//
// All of them use the vector instructions of the CPU, and several goroutines if there is enough to
// do. Their last argument, exec, says how a call is computed; the zero Exec is the default. exec
// changes no bit of a result: the numeric contract, package contract, defines all of them. Relative
// to the exact values the errors are small everywhere, also where a result is tiny:
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

// SiLU computes dst[i] = x/(1+e^-x), x = src[i]. It is also called swish. dst may be src. The error
// is a [*kernel.Error] if they overlap in part, if their lengths differ, or if exec or ATTN_TIER
// names a tier that cannot run. An error leaves dst untouched.
func SiLU(dst, src []float32, exec kernel.Exec) error {
	return silu.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, src}})
}

// GELU computes dst[i] = x·Φ(x) = x/2·(1 + erf(x/sqrt(2))), x = src[i]. Φ is the normal
// distribution function. Arguments and errors are as for [SiLU].
func GELU(dst, src []float32, exec kernel.Exec) error {
	return gelu.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, src}})
}

// GELUTanh computes dst[i] = x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³))), x = src[i], which many
// models use in the place of [GELU]. Arguments and errors are as for [SiLU].
func GELUTanh(dst, src []float32, exec kernel.Exec) error {
	return geluTanh.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, src}})
}

// SwiGLU computes dst[i] = SiLU(gate[i])·up[i]. The product of [SiLU] and up is rounded. dst may be
// gate or up, and these may overlap. The error is a [*kernel.Error] if dst overlaps a part of gate
// or up, if the lengths differ, or if exec or ATTN_TIER names a tier that cannot run. An error
// leaves dst untouched.
func SwiGLU(dst, gate, up []float32, exec kernel.Exec) error {
	return swiglu.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, gate, up}})
}

// GeGLU computes dst[i] = GELU(gate[i])·up[i], with [GELU]. Arguments and errors are as for
// [SwiGLU].
func GeGLU(dst, gate, up []float32, exec kernel.Exec) error {
	return geglu.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, gate, up}})
}

// GeGLUTanh computes dst[i] = GELUTanh(gate[i])·up[i], with [GELUTanh]. Arguments and errors are as
// for [SwiGLU].
func GeGLUTanh(dst, gate, up []float32, exec kernel.Exec) error {
	return gegluTanh.Run(&exec, &elementwise.Call{Slices: [6][]float32{dst, gate, up}})
}

// An element takes as long as so many FMAs of a product, with avx2 on Zen 3 and in L2.
const (
	functionFMAs    = 40
	slopeFMAs       = 110
	resultFMAs      = 20 // a gradient from a result
	gruFMAs         = 45
	gruBackwardFMAs = 20
)

var (
	silu      = function("activation.SiLU", func(c *elementwise.Call) { c.Tier.Activations().SiLU(c.Slices[0], c.Slices[1]) })
	gelu      = function("activation.GELU", func(c *elementwise.Call) { c.Tier.Activations().GELU(c.Slices[0], c.Slices[1]) })
	geluTanh  = function("activation.GELUTanh", func(c *elementwise.Call) { c.Tier.Activations().GELUTanh(c.Slices[0], c.Slices[1]) })
	swiglu    = gated("activation.SwiGLU", func(c *elementwise.Call) { c.Tier.Activations().SwiGLU(c.Slices[0], c.Slices[1], c.Slices[2]) })
	geglu     = gated("activation.GeGLU", func(c *elementwise.Call) { c.Tier.Activations().GeGLU(c.Slices[0], c.Slices[1], c.Slices[2]) })
	gegluTanh = gated("activation.GeGLUTanh", func(c *elementwise.Call) { c.Tier.Activations().GeGLUTanh(c.Slices[0], c.Slices[1], c.Slices[2]) })
)

// function is a function of one slice.
func function(name string, do func(c *elementwise.Call)) elementwise.Function {
	return elementwise.Function{Name: name, Args: []string{"dst", "src"}, Outputs: 1, Like: 1, ElementFMAs: functionFMAs, Do: do}
}

// gated is a function of one slice times another one.
func gated(name string, do func(c *elementwise.Call)) elementwise.Function {
	return elementwise.Function{Name: name, Args: []string{"dst", "gate", "up"}, Outputs: 1, Like: 1, ElementFMAs: functionFMAs, Do: do}
}
