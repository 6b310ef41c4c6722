package norm_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/norm"
)

// Two tokens of four numbers are normalised to a mean square of 1.
func ExampleRMS() {
	x := []float32{1, 1, 1, 1, 3, 0, -4, 0}
	y := make([]float32, len(x))
	err := norm.RMS(kernel.BLHD(y, 1, 2, 1, 4), kernel.BLHD(x, 1, 2, 1, 4), nil, 0, norm.Options{})
	fmt.Println(y, err)

	// Output: [1 1 1 1 1.2 0 -1.6 0] <nil>
}

// A block of a transformer adds its result to the residual stream, which goes on as the sum,
// and passes the norm of the sum to the next block.
func ExampleOptions() {
	stream, block := []float32{1, 2, 3, 4}, []float32{0, -1, 1, 0}
	normed := make([]float32, 4)
	x := kernel.BLHD(stream, 1, 1, 1, 4)
	err := norm.Layer(kernel.BLHD(normed, 1, 1, 1, 4), x, []float32{2, 2, 2, 2}, []float32{0, 0, 0, 1}, 0,
		norm.Options{Residual: kernel.BLHD(block, 1, 1, 1, 4), Sum: x})
	fmt.Println(stream, err)
	fmt.Printf("%.3f\n", normed)

	// Output:
	// [1 1 4 4] <nil>
	// [-2.000 -2.000 2.000 3.000]
}
