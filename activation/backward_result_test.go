package activation_test

import (
	"math"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestGradients compares the gradients that start from a result with their formula, and with finite
// differences in float64.
func TestGradients(t *testing.T) {
	for name, c := range map[string]struct {
		f        func(dx, dy, y []float32, exec kernel.Exec) error
		function func(x float64) float64
		contract func(y, dy float32) float32
	}{
		"tanh": {activation.TanhBackward, math.Tanh, func(y, dy float32) float32 {
			return float32(dy * float32(float32(1-y)*float32(1+y)))
		}},
		"sigmoid": {activation.SigmoidBackward, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, func(y, dy float32) float32 {
			return float32(dy * float32(float32(1-y)*y))
		}},
	} {
		var x []float64
		for i := -300; i <= 300; i++ {
			x = append(x, float64(i)/40)
		}
		y, dy := make([]float32, len(x)), testutil.Floats(len(x))
		for i, x := range x {
			y[i] = float32(c.function(x))
		}
		dx := make([]float32, len(x))
		if err := c.f(dx, dy, y, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		for i, x := range x {
			const h = 1e-5
			want := float64(dy[i]) * (c.function(x+h) - c.function(x-h)) / (2 * h)
			if math.Abs(float64(dx[i])-want) > 3e-7 || dx[i] != c.contract(y[i], dy[i]) {
				t.Errorf("%s at %v: %v, want %v and by the contract %v", name, x, dx[i], want, c.contract(y[i], dy[i]))
			}
		}
		inY, inDY := append([]float32(nil), y...), append([]float32(nil), dy...)
		if err := c.f(inY, dy, inY, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		if err := c.f(inDY, inDY, y, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		testutil.CheckBits(t, name+" in y", inY, dx)
		testutil.CheckBits(t, name+" in dy", inDY, dx)
		contracttest.CheckArgument(t, name, c.f(dx, dy, y[1:], kernel.Exec{}), "dx", "length 600")
		contracttest.CheckArgument(t, name, c.f(dx, dy[1:], y, kernel.Exec{}), "dy", "length 601")
		contracttest.CheckArgument(t, name, c.f(y[1:], dy[1:], y[:600], kernel.Exec{}), "dx", "y itself")
	}
}
