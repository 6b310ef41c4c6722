package layer

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
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
	if bad := checkSoftmaxBackward(dx, dy, y, n); bad != nil {
		return (*kernel.Error)(bad.In("layer.SoftmaxBackward"))
	}
	return softmaxBackward.Run(&exec, elementwise.Call{Rows: len(y) / n, Slices: [6][]float32{dx, dy, y}})
}

var softmaxBackward = elementwise.Function{Name: "layer.SoftmaxBackward", Outputs: 1, ElementFMAs: softmaxBackwardFMAs, Do: func(c *elementwise.Call) {
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

// checkSoftmaxBackward reports the first argument of SoftmaxBackward that does not fit.
func checkSoftmaxBackward(dx, dy, y []float32, n int) *check.Failure {
	if n < 1 || len(y)%n != 0 {
		return &check.Failure{Where: "n", Got: fmt.Sprint(n), Want: fmt.Sprintf("the length of a row, which divides the length of y, %d", len(y))}
	}
	names := [...]string{"dy", "dx"}
	for i, x := range [...][]float32{dy, dx} {
		if len(x) != len(y) {
			return &check.Failure{Where: names[i], Got: fmt.Sprintf("length %d", len(x)), Want: fmt.Sprintf("length %d as y has it", len(y))}
		}
	}
	for i, x := range [...][]float32{dy, y} {
		if overlapInPart(dx, x) {
			return &check.Failure{Where: "dx", Got: "memory that overlaps a part of " + [...]string{"dy", "y"}[i], Want: "y or dy itself, or a range of memory of its own"}
		}
	}
	return nil
}
