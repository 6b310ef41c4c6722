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

// Powers of two of integers are exact, and tiny ones are 0.
func ExampleExp2() {
	fmt.Println(numeric.Exp2(10), numeric.Exp2(0.5), numeric.Exp2(-200))

	// Output: 1024 1.4142135 0
}

// The inverse of Exp2.
func ExampleLog2() {
	fmt.Println(numeric.Log2(1024), numeric.Log2(0.125), numeric.Log2(0))

	// Output: 10 -3 -Inf
}

// An odd function: a changed sign changes no other bit.
func ExampleTanh() {
	fmt.Println(numeric.Tanh(0.5), numeric.Tanh(-0.5), numeric.Tanh(20))

	// Output: 0.4621172 -0.4621172 1
}

// TanhSlice has the bits of Tanh, with the CPU's vector instructions.
func ExampleTanhSlice() {
	x := []float32{0, 0.5, -20}
	err := numeric.TanhSlice(x, x, kernel.Exec{})
	fmt.Println(x, err)

	// Output: [0 0.4621172 -1] <nil>
}

// The residual stream of a model takes in the result of a layer.
func ExampleAddSlice() {
	stream, block := []float32{1, 2, 3}, []float32{0.5, -2, 10}
	err := numeric.AddSlice(stream, stream, block, kernel.Exec{})
	fmt.Println(stream, err)

	// Output: [1.5 0 13] <nil>
}

// The most probable token of a model's logits. Of equal ones it is the first.
func ExampleArgmax() {
	fmt.Println(numeric.Argmax([]float32{-1, 3, 2, 3}), numeric.Argmax(nil))

	// Output: 1 -1
}

// Keys of four numbers as two bytes and one scale. The largest number is exact.
func ExampleQuantizeInt4() {
	src := []float32{-4, 1, 0.2, 3}
	q, scales := make([]kernel.Int4x2, 2), make([]float32, 1)
	err := numeric.QuantizeInt4(q, scales, src, 4, kernel.Exec{})
	fmt.Println(scales, err)
	for _, pair := range q {
		first, second := pair.Numbers()
		fmt.Println(float32(first)*scales[0], float32(second)*scales[0])
	}

	// Output:
	// [0.5] <nil>
	// -4 1
	// 0 3
}

// Two formats of 8 bits: E4M3 keeps 4 bits of a number, up to 448, E5M2 keeps 3 and has a larger
// range. Both saturate.
func ExampleToF8E4M3() {
	for _, x := range []float32{0.1, 1000, 1e6} {
		fmt.Println(x, numeric.ToF8E4M3(x).Float32(), numeric.ToF8E5M2(x).Float32())
	}

	// Output:
	// 0.1 0.1015625 0.09375
	// 1000 448 1024
	// 1e+06 448 57344
}

// Values of 8 bits for attention.
func ExampleToF8E5M2() {
	v := []float32{1, 0.3, -50000}
	data := make([]kernel.F8E5M2, len(v))
	for i, x := range v {
		data[i] = numeric.ToF8E5M2(x)
	}
	fmt.Println(kernel.BHLD(data, 1, 1, 1, 3), data[1].Float32(), data[2].Float32())

	// Output: float8_e5m2 [B H L D] = [1 1 1 3] with strides [3 3 3] 0.3125 -49152
}
