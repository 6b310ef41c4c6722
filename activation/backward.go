package activation

import (
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// SiLUBackward computes the gradient of [SiLU] from the gradient dy of its result and from its
// argument x. With s = 1/(1+e^-x) it is
//
//	dx[i] = dy[i]·s·(1 + x·(1-s))
//
// dx may be x or dy, and these may overlap. The error is a [*kernel.Error] if dx overlaps a part of
// x or dy, if the lengths differ, or if exec or ATTN_TIER names a tier that cannot run. An error
// leaves dx untouched. The numeric contract, package contract, defines the bits.
func SiLUBackward(dx, dy, x []float32, exec kernel.Exec) error {
	return siluBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, x}})
}

// GELUBackward computes the gradient of [GELU]. With the normal distribution function Φ and its
// density φ it is
//
//	dx[i] = dy[i]·(Φ(x) + x·φ(x))
//
// Arguments and errors are as for [SiLUBackward].
func GELUBackward(dx, dy, x []float32, exec kernel.Exec) error {
	return geluBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, x}})
}

// GELUTanhBackward computes the gradient of [GELUTanh]. With s = (1 + tanh(u))/2
// and u = sqrt(2/π)·(x + 0.044715·x³) it is
//
//	dx[i] = dy[i]·(s + 2·x·s·(1-s)·sqrt(2/π)·(1 + 0.134145·x²))
//
// Arguments and errors are as for [SiLUBackward].
func GELUTanhBackward(dx, dy, x []float32, exec kernel.Exec) error {
	return geluTanhBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, x}})
}

// SwiGLUBackward computes the gradients of [SwiGLU] from the gradient dy of its result and from its
// arguments:
//
//	dgate[i] = (dy[i]·up[i])·slope of SiLU at gate[i], as in SiLUBackward
//	dup[i]   = dy[i]·SiLU(gate[i])
//
// dgate and dup may each be gate, up or dy, but not the same slice. The error is a [*kernel.Error]
// if dgate or dup overlaps another slice in part, if the lengths differ, or if exec or ATTN_TIER
// names a tier that cannot run. An error leaves dgate and dup untouched.
func SwiGLUBackward(dgate, dup, dy, gate, up []float32, exec kernel.Exec) error {
	return swigluBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dgate, dup, dy, gate, up}})
}

// GeGLUBackward computes the gradients of [GeGLU], with [GELU]. Arguments and errors are as for
// [SwiGLUBackward].
func GeGLUBackward(dgate, dup, dy, gate, up []float32, exec kernel.Exec) error {
	return gegluBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dgate, dup, dy, gate, up}})
}

// GeGLUTanhBackward computes the gradients of [GeGLUTanh], with [GELUTanh]. Arguments and errors
// are as for [SwiGLUBackward].
func GeGLUTanhBackward(dgate, dup, dy, gate, up []float32, exec kernel.Exec) error {
	return gegluTanhBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dgate, dup, dy, gate, up}})
}

var (
	siluBackward      = gradient("activation.SiLUBackward", "x", slopeFMAs, func(c *elementwise.Call) { gradients(c, gradientOfSiLU) })
	geluBackward      = gradient("activation.GELUBackward", "x", slopeFMAs, func(c *elementwise.Call) { gradients(c, gradientOfGELU) })
	geluTanhBackward  = gradient("activation.GELUTanhBackward", "x", slopeFMAs, func(c *elementwise.Call) { gradients(c, gradientOfGELUTanh) })
	swigluBackward    = gatedGradient("activation.SwiGLUBackward", func(c *elementwise.Call) { gatedGradients(c, gradientOfSiLU) })
	gegluBackward     = gatedGradient("activation.GeGLUBackward", func(c *elementwise.Call) { gatedGradients(c, gradientOfGELU) })
	gegluTanhBackward = gatedGradient("activation.GeGLUTanhBackward", func(c *elementwise.Call) { gatedGradients(c, gradientOfGELUTanh) })
)

// gradient is the gradient of a function of one slice, from its argument or its result, x.
func gradient(name, x string, fmas float64, do func(c *elementwise.Call)) elementwise.Function {
	return elementwise.Function{Name: name, Args: []string{"dx", "dy", x}, Outputs: 1, Like: 2, ElementFMAs: fmas, Do: do}
}

// gatedGradient are the gradients of a function of one slice times another one.
func gatedGradient(name string, do func(c *elementwise.Call)) elementwise.Function {
	return elementwise.Function{Name: name, Args: []string{"dgate", "dup", "dy", "gate", "up"}, Outputs: 2, Like: 3, ElementFMAs: slopeFMAs, Do: do}
}

// chunkElements is how many elements are computed at a time: they stay in L1.
const chunkElements = 1024

// A chunk is memory for some elements: f is the function of x.
type chunk struct{ f, product [chunkElements]float32 }

var chunks = parallel.FreeList[chunk]{}

// A gradientOf returns the kernel of a function and its gradient.
type gradientOf func(a *ukernel.Activations) func(f, dx, dy, x []float32)

func gradientOfSiLU(a *ukernel.Activations) func(f, dx, dy, x []float32) { return a.SiLUBackward }
func gradientOfGELU(a *ukernel.Activations) func(f, dx, dy, x []float32) { return a.GELUBackward }
func gradientOfGELUTanh(a *ukernel.Activations) func(f, dx, dy, x []float32) {
	return a.GELUTanhBackward
}

// gradients computes the gradients of a function.
func gradients(c *elementwise.Call, of gradientOf) {
	dx, dy, x := c.Slices[0], c.Slices[1], c.Slices[2]
	s, kernel := chunks.Get(), of(c.Tier.Activations())
	for len(x) > 0 {
		n := min(len(x), chunkElements)
		kernel(s.f[:n], dx, dy, x)
		dx, dy, x = dx[n:], dy[n:], x[n:]
	}
	chunks.Put(s)
}

// gatedGradients computes the gradients of a function of gate times up.
func gatedGradients(c *elementwise.Call, of gradientOf) {
	dgate, dup, dy, gate, up := c.Slices[0], c.Slices[1], c.Slices[2], c.Slices[3], c.Slices[4]
	s, kernel, mul := chunks.Get(), of(c.Tier.Activations()), c.Tier.Elementwise().Mul
	for len(gate) > 0 {
		n := min(len(gate), chunkElements)
		f, product := s.f[:n], s.product[:n]
		mul(product, dy, up)
		kernel(f, product, product, gate)
		mul(dup[:n], dy, f)
		copy(dgate, product) // which may be dy
		dgate, dup, dy, gate, up = dgate[n:], dup[n:], dy[n:], gate[n:], up[n:]
	}
	chunks.Put(s)
}

// TanhBackward computes the gradient of tanh from the gradient dy of its result and from that
// result, y:
//
//	dx[i] = dy[i]·((1 - y[i])·(1 + y[i]))
//
// Each operation is rounded. dx may be y or dy, and these may overlap. The error is a
// [*kernel.Error] if dx overlaps a part of x or dy, if the lengths differ, or if exec or ATTN_TIER
// names a tier that cannot run. An error leaves dx untouched.
func TanhBackward(dx, dy, y []float32, exec kernel.Exec) error {
	return tanhBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, y}})
}

// SigmoidBackward computes the gradient of 1/(1+e^-x) from the gradient dy of its result and from
// that result, y:
//
//	dx[i] = dy[i]·((1 - y[i])·y[i])
//
// Each operation is rounded. Arguments and errors are as for [TanhBackward].
func SigmoidBackward(dx, dy, y []float32, exec kernel.Exec) error {
	return sigmoidBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, y}})
}

var (
	tanhBackward    = gradient("activation.TanhBackward", "y", resultFMAs, func(c *elementwise.Call) { c.Tier.Activations().TanhBackward(c.Slices[0], c.Slices[1], c.Slices[2]) })
	sigmoidBackward = gradient("activation.SigmoidBackward", "y", resultFMAs, func(c *elementwise.Call) { c.Tier.Activations().SigmoidBackward(c.Slices[0], c.Slices[1], c.Slices[2]) })
)
