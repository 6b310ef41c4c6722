package optimize_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/optimize"
)

// A linear layer learns to tell the larger of two numbers. A step is the forward pass, the loss
// with its gradient, the gradient of the weights, and their change.
func Example() {
	x := linear.DenseMatrix([]float32{
		1, 0,
		0, 1,
		3, 2,
		-2, -1,
	}, 4, 2)
	targets := []int32{0, 1, 0, 1}

	w := make([]float32, 2*2) // [classes, inputs]
	dw, m, v := make([]float32, len(w)), make([]float32, len(w)), make([]float32, len(w))
	logits := make([]float32, 4*2)
	y := linear.DenseMatrix(logits, 4, 2)
	adam := optimize.AdamW{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.01}

	step := func(n int) (mean float32, err error) {
		weights := linear.DenseMatrix(w, 2, 2)
		layer, err := linear.New(weights, nil, kernel.Exec{})
		if err != nil {
			return 0, err
		}
		if err := layer.Apply(y, x, linear.Options{}); err != nil {
			return 0, err
		}
		mean, err = loss.CrossEntropy(logits, logits, 2, targets, kernel.Exec{}) // from here on logits is their gradient
		if err != nil {
			return 0, err
		}
		err = linear.Backward(linear.Gradients{W: linear.DenseMatrix(dw, 2, 2)}, y, x, weights, linear.ProductOptions{})
		if err != nil {
			return 0, err
		}
		if _, err := optimize.ClipNorm(1, [][]float32{dw}, kernel.Exec{}); err != nil {
			return 0, err
		}
		return mean, adam.Step(w, dw, m, v, n, kernel.Exec{})
	}
	for n := 1; n <= 100; n++ {
		mean, err := step(n)
		if err != nil {
			fmt.Println(err)
			return
		}
		if n%50 == 0 || n == 1 {
			fmt.Printf("step %d: loss %.3f\n", n, mean)
		}
	}

	// Output:
	// step 1: loss 0.693
	// step 50: loss 0.019
	// step 100: loss 0.009
}

// The minimum of (w-3)², whose gradient is 2(w-3).
func ExampleAdamW_Step() {
	w, g, m, v := []float32{0}, []float32{0}, []float32{0}, []float32{0}
	adam := optimize.AdamW{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	for step := 1; step <= 200; step++ {
		g[0] = 2 * (w[0] - 3)
		if err := adam.Step(w, g, m, v, step, kernel.Exec{}); err != nil {
			fmt.Println(err)
			return
		}
		if step == 1 || step == 200 {
			fmt.Printf("step %d: %.1f\n", step, w)
		}
	}

	// Output:
	// step 1: [0.1]
	// step 200: [3.0]
}

// The gradients of a model with two slices of weights have the norm 5. They are limited to 1.
func ExampleClipNorm() {
	weights, bias := []float32{3, 0}, []float32{-4}
	norm, err := optimize.ClipNorm(1, [][]float32{weights, bias}, kernel.Exec{})
	fmt.Println(norm, err)
	fmt.Printf("%.2f %.2f\n", weights, bias)

	// Output:
	// 5 <nil>
	// [0.60 0.00] [-0.80]
}
