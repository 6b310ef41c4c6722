package optimize_test

import (
	"fmt"

	"github.com/attn-go/attn/optimize"
)

// The minimum of (w-3)², whose gradient is 2(w-3).
func ExampleAdamW_Step() {
	w, g, m, v := []float32{0}, []float32{0}, []float32{0}, []float32{0}
	adam := optimize.AdamW{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	for step := 1; step <= 200; step++ {
		g[0] = 2 * (w[0] - 3)
		if err := adam.Step(w, g, m, v, step, optimize.Options{}); err != nil {
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
func ExampleClip() {
	weights, bias := []float32{3, 0}, []float32{-4}
	norm, err := optimize.Clip(1, weights, bias)
	fmt.Println(norm, err)
	fmt.Printf("%.2f %.2f\n", weights, bias)

	// Output:
	// 5 <nil>
	// [0.60 0.00] [-0.80]
}
