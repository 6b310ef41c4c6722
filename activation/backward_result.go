package activation

import (
	"cmp"

	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// TanhBackward computes the gradient of tanh from its result y and the gradient dy of that:
//
//	dx[i] = dy[i]·((1 - y[i])·(1 + y[i]))
//
// Each operation is rounded. dx may be y or dy, and these may overlap. If dx overlaps a part of
// one of them or the lengths differ, the error is a [*kernel.ArgumentError], and leaves dx
// untouched.
func TanhBackward(dx, y, dy []float32) error {
	return onGradient(dx, y, dy, func(dx, y, dy []float32) {
		for i, y := range y {
			dx[i] = dy[i] * float32((1-y)*(1+y))
		}
	})
}

// SigmoidBackward computes the gradient of 1/(1+e^-x) from its result y and the gradient dy of
// that:
//
//	dx[i] = dy[i]·((1 - y[i])·y[i])
//
// Each operation is rounded. The slices and the errors are those of [TanhBackward].
func SigmoidBackward(dx, y, dy []float32) error {
	return onGradient(dx, y, dy, func(dx, y, dy []float32) {
		for i, y := range y {
			dx[i] = dy[i] * float32((1-y)*y)
		}
	})
}

// onGradient computes a gradient from two slices.
func onGradient(dx, y, dy []float32, function func(dx, y, dy []float32)) error {
	if f := cmp.Or(
		elementwise.CheckLength("dx", dx, "y", y), elementwise.CheckLength("dy", dy, "y", y),
		elementwise.CheckOutput("dx", dx, "y", y), elementwise.CheckOutput("dx", dx, "dy", dy),
	); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	elementwise.Binary(dx, y, dy, function)
	return nil
}
