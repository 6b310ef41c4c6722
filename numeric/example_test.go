package numeric_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// The product of a fused multiply-add is not rounded. Here that shows by how much 1/x in
// float32 differs from the true quotient.
func ExampleFMA() {
	for _, x := range []float32{3, 5, 7} {
		inverse := 1 / x
		fmt.Println(float32(inverse*x)-1, numeric.FMA(inverse, x, -1))
	}

	// Output:
	// 0 2.9802322e-08
	// 0 1.4901161e-08
	// 0 4.4703484e-08
}

// Scores in units of log2 become weights.
func ExampleExp2Slice() {
	scores := []float32{0, -1, -3}
	err := numeric.Exp2Slice(scores, scores, kernel.Exec{})
	fmt.Println(scores, err)

	// Output: [1 0.5 0.125] <nil>
}

// Two formats of 16 bits: F16 keeps 11 bits of a number, BF16 keeps 8 and has the range
// of a float32.
func ExampleToF16() {
	for _, x := range []float32{0.1, 100000} {
		fmt.Println(x, numeric.ToF16(x).Float32(), numeric.ToBF16(x).Float32())
	}

	// Output:
	// 0.1 0.099975586 0.100097656
	// 100000 +Inf 99840
}

// Keys of four numbers in two groups, each with a scale of its own. Attention takes the
// int8 elements together with their scales.
func ExampleQuantizeInt8() {
	src := []float32{1.27, -0.5, 0, 254}
	q, scales := make([]int8, 4), make([]float32, 2)
	err := numeric.QuantizeInt8(q, scales, src, 2, kernel.Exec{})
	fmt.Println(q, scales, err)

	s := kernel.BHLD(scales, 1, 1, 1, 2)
	keys := kernel.BHLD(q, 1, 1, 1, 4).Scaled(&s)
	fmt.Println(keys)

	// Output:
	// [127 -50 0 127] [0.01 2] <nil>
	// int8 [B H L D] = [1 1 1 4] with strides [4 4 4]
}

// A slice of float32 is converted element by element.
func ExampleToBF16() {
	v := []float32{1, 0.5, 3.14159}
	data := make([]kernel.BF16, len(v))
	for i, x := range v {
		data[i] = numeric.ToBF16(x)
	}
	fmt.Println(kernel.BHLD(data, 1, 1, 1, 3), data[2].Float32())

	// Output: bfloat16 [B H L D] = [1 1 1 3] with strides [3 3 3] 3.140625
}
