package norm_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// Two tokens of four numbers are normalised to a mean square of 1.
func ExampleRMSNorm() {
	x := []float32{1, 1, 1, 1, 3, 0, -4, 0}
	y := make([]float32, len(x))
	err := norm.RMSNorm(kernel.BLHD(y, 1, 2, 1, 4), kernel.BLHD(x, 1, 2, 1, 4), nil, 0, norm.Options{})
	fmt.Println(y, err)

	// Output: [1 1 1 1 1.2 0 -1.6 0] <nil>
}

// A block of a transformer adds its result to the residual stream, which goes on as the sum,
// and passes the norm of the sum to the next block.
func ExampleOptions() {
	stream, block := []float32{1, 2, 3, 4}, []float32{0, -1, 1, 0}
	normed := make([]float32, 4)
	x := kernel.BLHD(stream, 1, 1, 1, 4)
	err := norm.LayerNorm(kernel.BLHD(normed, 1, 1, 1, 4), x, []float32{2, 2, 2, 2}, []float32{0, 0, 0, 1}, 0,
		norm.Options{Residual: kernel.BLHD(block, 1, 1, 1, 4), Sum: x})
	fmt.Println(stream, err)
	fmt.Printf("%.3f\n", normed)

	// Output:
	// [1 1 4 4] <nil>
	// [-2.000 -2.000 2.000 3.000]
}

// A row gets mean 0 and variance 1, then the weight and the bias.
func ExampleLayerNorm() {
	x, y := []float32{2, 4}, make([]float32, 2)
	row := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, 1, 2) }
	err := norm.LayerNorm(row(y), row(x), []float32{10, 10}, []float32{0, 1}, 0, norm.Options{})
	fmt.Println(y, err)

	// Output: [-10 11] <nil>
}

// The norm does not change when its row is scaled: a gradient along the row becomes 0, one across
// it is divided by the root of the mean square, 5.
func ExampleRMSNormBackward() {
	row := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, 1, 2) }
	x := row(5, 5)
	for _, dy := range []kernel.Tensor{row(1, 1), row(1, -1)} {
		dx, dweight := make([]float32, 2), make([]float32, 2)
		err := norm.RMSNormBackward(norm.Gradients{X: row(dx...), Weight: dweight}, dy, x, nil, 0, norm.BackwardOptions{})
		fmt.Println(dx, dweight, err)
	}

	// Output:
	// [0 0] [1 1] <nil>
	// [0.2 -0.2] [1 -1] <nil>
}

// The gradients of weight and bias are sums over all rows. A second call adds to them.
func ExampleLayerNormBackward() {
	x := kernel.BHLD([]float32{-1, 1, 3, 7}, 1, 1, 2, 2)
	dy := kernel.BHLD([]float32{1, 2, 10, 20}, 1, 1, 2, 2)
	g := norm.Gradients{Weight: make([]float32, 2), Bias: make([]float32, 2)}
	for _, accumulate := range []bool{false, true} {
		err := norm.LayerNormBackward(g, dy, x, nil, 0, norm.BackwardOptions{Accumulate: accumulate})
		fmt.Println(g.Weight, g.Bias, err)
	}

	// Output:
	// [-11 22] [11 22] <nil>
	// [-22 44] [22 44] <nil>
}
