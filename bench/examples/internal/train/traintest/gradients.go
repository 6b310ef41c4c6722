// Package traintest has what the tests of the trainings of the example models share.
package traintest

import (
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/bench/examples/internal/train"
)

// Sides says how far apart losses are compared, and how exactly: the loss changes by Step/max(norm,
// Least) along the gradient to each side, and the difference may miss the norm by 2% and Absolute.
type Sides struct{ Step, Least, Absolute float64 }

// CheckGradients compares the norm of the gradient of every tensor with the difference of the losses on
// both sides along it: there the loss changes most. Losses are float32, so the sides lie as far
// apart as their rounding demands. loss computes the loss with the weights as they are, and must
// not change gradients.
func CheckGradients(t *testing.T, weights, gradients []train.Part, loss func() float64, sides Sides) {
	t.Helper()
	for i, w := range weights {
		g, norm := *gradients[i].Numbers, 0.0
		for _, x := range g {
			norm += float64(x) * float64(x)
		}
		if norm = math.Sqrt(norm); norm == 0 {
			t.Errorf("%s: the gradient is 0", w.Name)
			continue
		}
		h := sides.Step / max(norm, sides.Least)
		before := slices.Clone(*w.Numbers)
		at := func(h float64) float64 {
			for k, x := range g {
				(*w.Numbers)[k] = before[k] + float32(h*float64(x)/norm)
			}
			return loss()
		}
		got := (at(h) - at(-h)) / (2 * h)
		copy(*w.Numbers, before)
		if math.Abs(got-norm) > 0.02*norm+sides.Absolute {
			t.Errorf("%s: the loss changes by %v along the gradient, want its norm, %v", w.Name, got, norm)
		}
	}
}
