package linear_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/numeric"
)

// A layer of three inputs and two outputs. Its weights are packed once, and applied to
// two rows.
func ExampleLinear() {
	weights := []float32{
		1, 2, 3,
		4, 5, 6,
	}
	layer, err := linear.New(linear.DenseMatrix(weights, 2, 3), []float32{100, 200}, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{
		1, 0, 0,
		0, 1, 1,
	}
	out := make([]float32, 2*2)
	err = layer.Apply(linear.DenseMatrix(out, 2, 2), linear.DenseMatrix(x, 2, 3), linear.Options{})
	fmt.Println(out, err)

	// Output: [101 204 105 211] <nil>
}

// Two outputs of 32 inputs with weights of 8 bits, as a GGUF file has them. Rows looks the
// weights of an output up, as models do with embeddings.
func ExampleFromBlocks() {
	const outputs, inputs = 2, 32
	var data []byte
	for n := range outputs {
		data = append(data, 0x00, 0x38) // the scale 0.5, as binary16
		for k := range inputs {
			data = append(data, byte(int8(10*n-k)))
		}
	}
	layer, err := linear.FromBlocks(linear.Q8_0, data, outputs, inputs, nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float32, inputs)
	x[1], x[3] = 1, 100
	out, row := make([]float32, outputs), make([]float32, inputs)
	err = layer.Apply(linear.DenseMatrix(out, 1, outputs), linear.DenseMatrix(x, 1, inputs), linear.Options{})
	fmt.Println(out, err)
	err = layer.Rows(linear.DenseMatrix(row, 1, inputs), []int32{1}, kernel.Exec{})
	fmt.Println(row[:4], err)

	// Output:
	// [-150.5 354.5] <nil>
	// [5 4.5 4 3.5] <nil>
}

// What a layer will take in memory and in a file: IQ4_XS is widened to 10 bits a weight.
func ExampleFormat_PackedSize() {
	const n, k = 1024, 4096
	weights, bytes := linear.IQ4_XS.Block()
	fmt.Println(n*k/weights*bytes, linear.IQ4_XS.PackedSize(n, k))

	// Output: 2228224 5247040
}

// A packed layer in a file need not be packed again. A program that maps the file into memory does
// not even read it until the layer is used. If FromPacked returns an error, as after an update that
// has another PackedVersion, the program packs the weights again.
func ExampleFromPacked() {
	layer, err := linear.New(linear.DenseMatrix([]float32{1, 2, 3, 4, 5, 6}, 2, 3), []float32{100, 200}, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if _, err := layer.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}

	again, err := linear.FromPacked(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 2)
	err = again.Apply(linear.DenseMatrix(out, 1, 2), linear.DenseMatrix([]float32{1, 0, 0}, 1, 3), linear.Options{})
	fmt.Println(out, err)

	// Output: [101 204] <nil>
}

// The tokens of a model are [B, L, K]. The layer writes N = heads·D numbers for each
// token, which attention reads as heads [B, heads, L, D], without a copy.
func ExampleLinear_Project() {
	const batch, tokens, inputs, heads, d = 1, 2, 1, 2, 2
	layer, err := linear.New(linear.DenseMatrix([]float32{1, 2, 3, 4}, heads*d, inputs), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := kernel.BLHD([]float32{1, 10}, batch, tokens, 1, inputs)
	q := make([]float32, batch*tokens*heads*d)
	err = layer.Project(kernel.BLHD(q, batch, tokens, 1, heads*d), x, linear.Options{})
	fmt.Println(q, err)
	fmt.Println(kernel.BLHD(q, batch, tokens, heads, d)) // for attention

	// Output:
	// [1 2 3 4 10 20 30 40] <nil>
	// float32 [B H L D] = [1 2 2 2] with strides [8 2 4]
}

// Weights that lie as [inputs, outputs], as in Keras, are passed as their transpose.
func ExampleMatrix_T() {
	weights := linear.DenseMatrix([]float32{
		1, 4,
		2, 5,
		3, 6,
	}, 3, 2)
	fmt.Println(weights)
	fmt.Println(weights.T())

	layer, err := linear.New(weights.T(), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 2)
	err = layer.Apply(linear.DenseMatrix(out, 1, 2), linear.DenseMatrix([]float32{1, 0, 0}, 1, 3), linear.Options{})
	fmt.Println(out, err)

	// Output:
	// float32 [3 2] with strides [2 1]
	// float32 [2 3] with strides [1 2]
	// [1 4] <nil>
}

// A part of a larger matrix is a view with its row stride: here the left half.
func ExampleStridedMatrix() {
	x := []float32{
		1, 2, -1, -1,
		3, 4, -1, -1,
	}
	layer, err := linear.New(linear.DenseMatrix([]float32{1, 1}, 1, 2), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 2)
	err = layer.Apply(linear.DenseMatrix(out, 2, 1), linear.StridedMatrix(x, 2, 2, 4, 1), linear.Options{})
	fmt.Println(out, err)

	// Output: [3 7] <nil>
}

// An argument that does not fit is an error that names it.
func ExampleLinear_Apply_error() {
	layer, err := linear.New(linear.DenseMatrix(make([]float32, 6), 2, 3), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = layer.Apply(linear.DenseMatrix(make([]float32, 2), 1, 2), linear.DenseMatrix(make([]float32, 4), 1, 4), linear.Options{})
	var arg *kernel.Error
	if errors.As(err, &arg) {
		fmt.Println(arg.Where)
		fmt.Println(arg.Want)
	}

	// Output:
	// linear.Linear.Apply: x
	// 3 columns, the inputs of the layer
}

// A layer is packed once and used by any number of goroutines. Its weights may be of 16 bits.
func ExampleNew() {
	weights := []kernel.F16{numeric.ToF16(0.5), numeric.ToF16(2)}
	layer, err := linear.New(linear.DenseMatrix(weights, 1, 2), []float32{10}, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, k := layer.Shape()
	fmt.Println(n, "output,", k, "inputs of type", layer.DType())

	out := make([]float32, 1)
	err = layer.Apply(linear.DenseMatrix(out, 1, 1), linear.DenseMatrix([]float32{4, 1}, 1, 2), linear.Options{})
	fmt.Println(out, err)

	// Output:
	// 1 output, 2 inputs of type float16
	// [14] <nil>
}

// Weights are rounded to 8 bits, and in this call the inputs are, too, so that integers are
// multiplied.
func ExampleQuantizeInt8() {
	const inputs = 32
	weights, x := make([]float32, inputs), make([]float32, inputs)
	weights[0], weights[1] = 127, -0.6 // a scale of 1 for all 32: -0.6 is rounded to -1
	x[0], x[1] = 1, 127
	layer, err := linear.QuantizeInt8(linear.DenseMatrix(weights, 1, inputs), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 1)
	err = layer.Apply(linear.DenseMatrix(out, 1, 1), linear.DenseMatrix(x, 1, inputs), linear.Options{DynamicInt8: true})
	fmt.Println(layer.Format(), out, err)

	// Output: Q8_0 [0] <nil>
}

// Weights and rows are rounded to bfloat16, of which 1.003 is 1 and 3.01 is 3.015625.
func ExampleRoundBFloat16() {
	layer, err := linear.RoundBFloat16(linear.DenseMatrix([]float32{1.003, 2}, 1, 2), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 1)
	err = layer.Apply(linear.DenseMatrix(out, 1, 1), linear.DenseMatrix([]float32{3.01, 1}, 1, 2), linear.Options{})
	fmt.Println(layer.DType(), out, err)

	// Output: bfloat16 [5.015625] <nil>
}

// A model shares the weights between its embeddings and its last layer. Here it is asked
// for the rows 2 and 0.
func ExampleLinear_Rows() {
	layer, err := linear.New(linear.DenseMatrix([]float32{1, 2, 3, 4, 5, 6}, 3, 2), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 4)
	err = layer.Rows(linear.DenseMatrix(out, 2, 2), []int32{2, 0}, kernel.Exec{})
	fmt.Println(out, err)

	// Output: [5 6 1 2] <nil>
}

// The hidden layer of a feed-forward network: the activation is applied while its inputs are in
// cache.
func ExampleLinear_Apply() {
	layer, err := linear.New(linear.DenseMatrix([]float32{1, 0, 0, 1}, 2, 2), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 2)
	err = layer.Apply(linear.DenseMatrix(out, 1, 2), linear.DenseMatrix([]float32{0, 100}, 1, 2),
		linear.Options{Activation: linear.SiLU})
	fmt.Println(out, err)

	// Output: [0 100] <nil>
}

// A matrix is a view: element (i, j) is data[i·columns + j].
func ExampleDenseMatrix() {
	m := linear.DenseMatrix([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	rows, columns := m.Shape()
	fmt.Println(rows, columns, m.DType())

	// Output: 2 3 float32
}

// A feed-forward network: the outputs of the first layer go through an activation to the second.
func ExampleChain() {
	up, err := linear.New(linear.DenseMatrix([]float32{1, 1, 100, -100}, 2, 2), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	down, err := linear.New(linear.DenseMatrix([]float32{1, 2}, 1, 2), []float32{0.5}, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]float32, 1)
	err = linear.Chain(linear.DenseMatrix(out, 1, 1), linear.DenseMatrix([]float32{60, 50}, 1, 2), up, down,
		linear.Options{Activation: linear.SiLU})
	fmt.Println(out, err)

	// Output: [2110.5] <nil>
}

// a·bᵀ of two matrices that change from call to call, and a·b.
func ExampleProduct() {
	a := linear.DenseMatrix([]float32{1, 2, 3, 4}, 2, 2)
	b := linear.DenseMatrix([]float32{1, 10, 100, 1000}, 2, 2)
	out := make([]float32, 4)
	for _, b := range []linear.Matrix{b, b.T()} {
		err := linear.Product(linear.DenseMatrix(out, 2, 2), a, b, linear.ProductOptions{})
		fmt.Println(out, err)
	}

	// Output:
	// [21 2100 43 4300] <nil>
	// [201 2010 403 4030] <nil>
}

// The gradients of a layer of two inputs and one output, from two rows. With Accumulate a second
// micro-batch would add to the gradients of the weights and the bias.
func ExampleBackward() {
	w := linear.DenseMatrix([]float32{3, 5}, 1, 2)
	x := linear.DenseMatrix([]float32{1, 2, 10, 20}, 2, 2)
	dy := linear.DenseMatrix([]float32{1, -1}, 2, 1)

	dx, dw, db := make([]float32, 4), make([]float32, 2), make([]float32, 1)
	err := linear.Backward(linear.Gradients{
		X:    linear.DenseMatrix(dx, 2, 2),
		W:    linear.DenseMatrix(dw, 1, 2),
		Bias: db,
	}, dy, x, w, linear.ProductOptions{})
	fmt.Println(dx, dw, db, err)

	// Output: [3 5 -3 -5] [-9 -18] [0] <nil>
}

// The gradient of embeddings: token 1 occurs twice in the text, token 0 not at all.
func ExampleAddRows() {
	gradient := make([]float32, 3*2) // of three tokens
	text := []int32{1, 2, 1}
	dx := linear.DenseMatrix([]float32{1, 2, 3, 4, 10, 20}, 3, 2)
	err := linear.AddRows(linear.DenseMatrix(gradient, 3, 2), dx, text, kernel.Exec{})
	fmt.Println(gradient, err)

	// Output: [0 0 11 22 3 4] <nil>
}
