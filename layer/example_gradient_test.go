package layer_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
)

// A larger score takes weight from the others: the gradients of a row's scores sum to 0.
func ExampleSoftmaxBackward() {
	weights := []float32{0.5, 0.25, 0.25} // as Softmax has returned them
	dweights := []float32{4, 0, 0}
	dscores := make([]float32, 3)
	err := layer.SoftmaxBackward(dscores, dweights, weights, 3, kernel.Exec{})
	fmt.Println(dscores, err)

	// Output: [1 -0.5 -0.5] <nil>
}

// A value of weight 0 does not count, whatever it is.
func ExampleWeightedSum() {
	weights := kernel.BHLD([]float32{0.25, 0.75, 0}, 1, 1, 1, 3)
	v := kernel.BHLD([]float32{4, 8, 100}, 1, 1, 3, 1)
	out := make([]float32, 1)
	err := layer.WeightedSum(kernel.BHLD(out, 1, 1, 1, 1), weights, v, kernel.Exec{})
	fmt.Println(out, err)

	// Output: [7] <nil>
}

// Each value gets its weight's share of the gradient.
func ExampleWeightedSumBackward() {
	weights := kernel.BHLD([]float32{0.25, 0.75}, 1, 1, 1, 2)
	v := kernel.BHLD([]float32{4, 8}, 1, 1, 2, 1)
	dout := kernel.BHLD([]float32{2}, 1, 1, 1, 1)
	dweights, dv := make([]float32, 2), make([]float32, 2)
	err := layer.WeightedSumBackward(layer.WeightedSumGradients{
		Weights: kernel.BHLD(dweights, 1, 1, 1, 2),
		V:       kernel.BHLD(dv, 1, 1, 2, 1),
	}, dout, weights, v, kernel.Exec{})
	fmt.Println(dweights, dv, err)

	// Output: [8 16] [0.5 1.5] <nil>
}

// The gradient of the queries, for a similarity that a program chooses: the default Scale of
// ScaledDot is 1/√D, here 1/2.
func ExampleDifferentiable() {
	const d = 4
	row := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x)/d, d) }
	q, k := row(0, 0, 0, 0), row(1, 1, 1, 1, -1, -1, -1, -1)
	v, dout := kernel.BHLD([]float32{3, 6}, 1, 1, 2, 1), kernel.BHLD([]float32{1}, 1, 1, 1, 1)
	for _, s := range []layer.Differentiable{layer.Dot{}, layer.ScaledDot{}} {
		out, lse, dq := make([]float32, 1), make([]float32, 1), make([]float32, d)
		forward := kernel.Options{Outputs: kernel.Outputs{LSE: kernel.BHLD(lse, 1, 1, 1, 1)}}
		err := s.Attend(kernel.BHLD(out, 1, 1, 1, 1), q, k, v, &forward)
		if err != nil {
			fmt.Println(err)
			return
		}
		err = s.Backward(kernel.Gradients{Q: row(dq...)}, dout, q, k, v, forward.LSE, nil)
		fmt.Printf("%T %.2f %v\n", s, dq, err)
	}

	// Output:
	// layer.Dot [-1.50 -1.50 -1.50 -1.50] <nil>
	// layer.ScaledDot [-0.75 -0.75 -0.75 -0.75] <nil>
}

// Queries of three numbers and keys of two. The matrix is [size of q, size of k].
func ExampleNewGeneral() {
	w := []float32{
		9, 0,
		0, 9,
		0, 0,
	}
	s, err := layer.NewGeneral(linear.DenseMatrix(w, 3, 2), kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, k := kernel.BHLD([]float32{0, 9, 5}, 1, 1, 1, 3), kernel.BHLD([]float32{1, 0, 0, 1}, 1, 1, 2, 2)
	out := make([]float32, 1)
	err = s.Attend(kernel.BHLD(out, 1, 1, 1, 1), q, k, kernel.BHLD([]float32{10, 20}, 1, 1, 2, 1), nil)
	fmt.Println(out, err)

	// Output: [20] <nil>
}

// The gradient of the matrix W of General, to which each query adds its own.
func ExampleGeneral_Backward() {
	w := []float32{1}
	s, err := layer.NewGeneral(linear.DenseMatrix(w, 1, 1), kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	column := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), 1) }
	q, k, v := column(2), column(5, 5), column(3, 6)
	forward := kernel.Options{Outputs: kernel.Outputs{LSE: column(0)}}
	if err := s.Attend(column(0), q, k, v, &forward); err != nil {
		fmt.Println(err)
		return
	}
	dk, dw := make([]float32, 2), make([]float32, 1)
	g := layer.GeneralGradients{Gradients: kernel.Gradients{K: column(dk...)}, W: dw}
	err = s.Backward(g, column(1), q, k, v, forward.LSE, w, nil)
	fmt.Printf("%.1f %.1f %v\n", dk, dw, err) // equal keys leave nothing to learn about W

	// Output: [-1.5 1.5] [0.0] <nil>
}

// A training step of a module without projections of queries and keys: Forward keeps in a trace
// what Backward needs.
func ExampleMultiHead_Forward() {
	const tokens, width = 2, 1
	values, err := linear.New(linear.DenseMatrix([]float32{3}, width, width), nil, kernel.Exec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := layer.MultiHead{Heads: 1, V: values}
	rows := func(x ...float32) kernel.Tensor { return kernel.BLHD(x, 1, tokens, 1, width) }
	query, key, value := rows(0, 0), rows(0, 0), rows(1, 2)

	out := make([]float32, tokens)
	trace := layer.MultiHeadTrace{V: rows(0, 0), Heads: rows(0, 0), LSE: kernel.BHLD(make([]float32, tokens), 1, 1, tokens, 1)}
	opts := kernel.BackwardOptions{}
	fmt.Println(m.Forward(rows(out...), trace, query, key, value, &opts), out)

	dvalue, dweight := make([]float32, tokens), make([]float32, 1)
	err = m.Backward(layer.MultiHeadGradients{Value: rows(dvalue...), V: layer.Parameters{Weight: dweight}},
		rows(1, 1), query, key, value, trace, layer.MultiHeadWeights{V: []float32{3}}, &opts)
	fmt.Printf("%.1f %.1f %v\n", dvalue, dweight, err)

	// Output:
	// <nil> [4.5 4.5]
	// [3.0 3.0] [3.0] <nil>
}

// Queries of a decoder attend to the three states of an encoder: cross-attention, with two heads.
func ExampleMultiHead_Attend() {
	query := kernel.BLHD([]float32{0, 0}, 1, 1, 1, 2)
	states := kernel.BLHD([]float32{1, 10, 2, 20, 3, 30}, 1, 3, 1, 2)
	out := make([]float32, 2)
	m := layer.MultiHead{Heads: 2}
	err := m.Attend(kernel.BLHD(out, 1, 1, 1, 2), query, states, states, nil)
	fmt.Println(out, err)

	// Output: [2 20] <nil>
}
