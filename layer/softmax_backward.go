package layer

import (
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/kernel"
)

// SoftmaxBackward computes the gradient of [Softmax] from the gradient dy of its result and from that
// result, y:
//
//	dx[j] = y[j]·(dy[j] - (y[0]·dy[0] + ... + y[n-1]·dy[n-1]))
//
// The rows, n numbers each, lie one after another. dx and dy have the length of y. dx may be y or
// dy, and these may overlap. Where y is 0, dx is 0, whatever dy holds there: scores that are
// not valid need no lengths. A result that is NaN is 0x7FC00000. exec and the errors are those of
// Softmax.
//
// The sum, in ascending order, the difference and the product are computed in float64, and
// the result is rounded at the end.
func SoftmaxBackward(dx, dy, y []float32, n int, exec kernel.Exec) error {
	return softmaxBackward.Run(&exec, &elementwise.Call{Size: n, Slices: [6][]float32{dx, dy, y}})
}

var softmaxBackward = elementwise.Function{Name: "layer.SoftmaxBackward", Args: []string{"dx", "dy", "y"}, Size: "n", Outputs: 1, Like: 2, ElementFMAs: softmaxBackwardFMAs, Do: func(c *elementwise.Call) {
	for r := range c.Rows {
		softmaxRowBackward(c.Row(0, r), c.Row(1, r), c.Row(2, r))
	}
}}

func softmaxRowBackward(dx, dy, y []float32) {
	sum := 0.0
	for j, p := range y {
		if p != 0 {
			sum += float64(p) * float64(dy[j]) // a product is exact
		}
	}
	for j, p := range y {
		x := float32(0)
		if p != 0 {
			if x = float32(float64(p) * (float64(dy[j]) - sum)); x != x {
				x = nan
			}
		}
		dx[j] = x
	}
}
