package activation

import (
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// TanhBackward computes the gradient of tanh from the gradient dy of its result and from that result, y:
//
//	dx[i] = dy[i]·((1 - y[i])·(1 + y[i]))
//
// Each operation is rounded. dx may be y or dy, and these may overlap. If dx overlaps a
// part of one of them or the lengths differ, the error is a [*kernel.Error], and so it is
// if exec or ATTN_TIER names a tier that cannot run. An error leaves dx untouched.
func TanhBackward(dx, dy, y []float32, exec kernel.Exec) error {
	return tanhBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, y}})
}

// SigmoidBackward computes the gradient of 1/(1+e^-x) from the gradient dy of its result and from that
// result, y:
//
//	dx[i] = dy[i]·((1 - y[i])·y[i])
//
// Each operation is rounded. The arguments and the errors are those of [TanhBackward].
func SigmoidBackward(dx, dy, y []float32, exec kernel.Exec) error {
	return sigmoidBackward.Run(&exec, &elementwise.Call{Slices: [6][]float32{dx, dy, y}})
}

var (
	tanhBackward = gradient("activation.TanhBackward", "y", resultFMAs, func(c *elementwise.Call) {
		dx, dy := c.Slices[0], c.Slices[1]
		for i, y := range c.Slices[2] {
			dx[i] = dy[i] * float32((1-y)*(1+y))
		}
	})
	sigmoidBackward = gradient("activation.SigmoidBackward", "y", resultFMAs, func(c *elementwise.Call) {
		dx, dy := c.Slices[0], c.Slices[1]
		for i, y := range c.Slices[2] {
			dx[i] = dy[i] * float32((1-y)*y)
		}
	})
)
