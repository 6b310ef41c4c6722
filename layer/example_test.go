package layer_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
)

// Attention in four steps: each of three tokens, two numbers long, attends to all three.
func Example_fourSteps() {
	const tokens = 3
	view := func(data []float32, columns int) kernel.Tensor {
		return kernel.BHLD(data, 1, 1, tokens, columns)
	}
	show := func(name string, x []float32, columns int) {
		fmt.Printf("%-7s", name)
		for ; len(x) > 0; x = x[columns:] {
			fmt.Printf(" %.2f", x[:columns])
		}
		fmt.Println()
	}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	x := []float32{
		1, 0,
		0, 1,
		1, 1,
	}

	// 1. Learned layers project every token to a query, a key and a value.
	project := func(weights ...float32) []float32 {
		l, err := linear.New(linear.DenseMatrix(weights, 2, 2), nil, kernel.Exec{})
		check(err)
		y := make([]float32, tokens*2)
		check(l.Project(view(y, 2), view(x, 2), linear.Options{}))
		return y
	}
	q := project(2, 0, 0, 2)
	k := project(0, 1, 1, 0)
	v := project(10, 0, 0, 20)

	// 2. Every query is compared with every key.
	scores := make([]float32, tokens*tokens)
	check(layer.Scores(view(scores, tokens), view(q, 2), view(k, 2), layer.ScaledDot{}, nil))
	show("scores", scores, tokens)

	// 3. The scores of a query become weights that sum to 1.
	weights := make([]float32, tokens*tokens)
	check(layer.Softmax(weights, scores, tokens, nil, kernel.Exec{}))
	show("weights", weights, tokens)

	// 4. The values are added up, each times its weight.
	out := make([]float32, tokens*2)
	check(layer.WeightedSum(view(out, 2), view(weights, tokens), view(v, 2), kernel.Exec{}))
	show("out", out, 2)

	// Attend does steps 2 to 4 at once.
	check(layer.ScaledDot{}.Attend(view(out, 2), view(q, 2), view(k, 2), view(v, 2), nil))
	show("Attend", out, 2)

	// Output:
	// scores  [0.00 1.41 1.41] [1.41 0.00 1.41] [1.41 1.41 2.83]
	// weights [0.11 0.45 0.45] [0.45 0.11 0.45] [0.16 0.16 0.67]
	// out     [5.54 17.83] [8.92 11.08] [8.36 16.73]
	// Attend  [5.54 17.83] [8.92 11.08] [8.36 16.73]
}

// A masked score is -Inf.
func ExampleScores() {
	x := kernel.BHLD([]float32{1, 2, 3}, 1, 1, 3, 1) // queries and keys
	scores := make([]float32, 3*3)
	err := layer.Scores(kernel.BHLD(scores, 1, 1, 3, 3), x, x, layer.Dot{}, &layer.ScoreOptions{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
	fmt.Println(scores[:3], scores[3:6], scores[6:], err)

	// Output: [1 -Inf -Inf] [2 4 -Inf] [3 6 9] <nil>
}

// Two rows of three scores. In the second row only the first two scores are valid.
func ExampleSoftmax() {
	scores := []float32{
		1, 1, 1,
		0, 0, 9,
	}
	weights := make([]float32, 6)
	err := layer.Softmax(weights, scores, 3, []int{3, 2}, kernel.Exec{})
	fmt.Printf("%.2f %.2f %v\n", weights[:3], weights[3:], err)

	// Output: [0.33 0.33 0.33] [0.50 0.50 0.00] <nil>
}

// The weights of three keys: one equal to the query, one twice as long, and one
// perpendicular to it.
func ExampleSimilarity() {
	q := kernel.BHLD([]float32{.6, .8}, 1, 1, 1, 2)
	k := kernel.BHLD([]float32{.6, .8, 1.2, 1.6, .8, -.6}, 1, 1, 3, 2)
	for _, s := range []layer.Similarity{layer.Dot{}, layer.ScaledDot{}, layer.Cosine{}} {
		out, weights := make([]float32, 2), make([]float32, 3)
		err := s.Attend(kernel.BHLD(out, 1, 1, 1, 2), q, k, k, &kernel.Options{Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, 1, 1, 1, 3)}})
		fmt.Printf("%T %.2f %v\n", s, weights, err)
	}

	// Output:
	// layer.Dot [0.24 0.67 0.09] <nil>
	// layer.ScaledDot [0.28 0.58 0.14] <nil>
	// layer.Cosine [0.42 0.42 0.16] <nil>
}

// The cosine is at most 1, so that weights differ little. A larger Scale makes them
// sharper.
func ExampleCosine() {
	q := kernel.BHLD([]float32{1, 0}, 1, 1, 1, 2)
	k := kernel.BHLD([]float32{5, 0, 0, 5}, 1, 1, 2, 2)
	v := kernel.BHLD([]float32{100, 200}, 1, 1, 2, 1)
	for _, sharpness := range []float32{1, 10} {
		out := make([]float32, 1)
		err := layer.Cosine{}.Attend(kernel.BHLD(out, 1, 1, 1, 1), q, k, v, &kernel.Options{Scoring: kernel.Scoring{Scale: sharpness}})
		fmt.Printf("%.1f %v\n", out, err)
	}

	// Output:
	// [126.9] <nil>
	// [100.0] <nil>
}

// Nadaraya-Watson regression is attention with a Gaussian kernel as the similarity: the
// value at a query is the mean of the known values, weighted by how near they are.
func ExampleFunc() {
	gauss := layer.Func(func(q, k []float32) float32 { return -(q[0] - k[0]) * (q[0] - k[0]) / 2 })
	at := []float32{0, 1.5, 3}
	out := make([]float32, len(at))
	err := gauss.Attend(
		kernel.BHLD(out, 1, 1, len(at), 1),
		kernel.BHLD(at, 1, 1, len(at), 1),
		kernel.BHLD([]float32{0, 1, 2, 3}, 1, 1, 4, 1),
		kernel.BHLD([]float32{10, 20, 30, 40}, 1, 1, 4, 1), nil)
	fmt.Printf("%.1f %v\n", out, err)

	// Output: [15.2 25.0 34.8] <nil>
}

// Queries of two numbers and keys of three, compared by the matrix W.
func ExampleGeneral() {
	w := []float32{
		1, 0, 0,
		0, 0, 9,
	}
	s, err := layer.NewGeneral(linear.DenseMatrix(w, 2, 3), kernel.Exec{})
	fmt.Println(err)
	scores := make([]float32, 2)
	err = layer.Scores(kernel.BHLD(scores, 1, 1, 1, 2),
		kernel.BHLD([]float32{1, 1}, 1, 1, 1, 2),
		kernel.BHLD([]float32{1, 2, 3, 4, 5, 6}, 1, 1, 2, 3), s, nil)
	fmt.Printf("%.1f %v\n", scores, err) // 1·1 + 9·3 and 1·4 + 9·6

	// Output:
	// <nil>
	// [28.0 58.0] <nil>
}

// A decoder attends to the same three states in every step. Their keys are projected
// once.
func ExampleAdditive() {
	l, err := linear.New(linear.DenseMatrix([]float32{1, 0, 0, 1}, 2, 2), nil, kernel.Exec{})
	fmt.Println(err)
	a := layer.Additive{Query: l, Key: l, V: []float32{10, 10}}

	states := kernel.BHLD([]float32{1, 0, 0, 1, -1, -1}, 1, 1, 3, 2)
	keys := kernel.BHLD(make([]float32, 6), 1, 1, 3, 2)
	fmt.Println(a.Key.Project(keys, states, linear.Options{}))

	step := layer.Additive{Query: a.Query, V: a.V}
	for _, query := range [][]float32{{0, 0}, {5, 0}} {
		context, weights := make([]float32, 2), make([]float32, 3)
		err := step.Attend(kernel.BHLD(context, 1, 1, 1, 2), kernel.BHLD(query, 1, 1, 1, 2), keys, states,
			&kernel.Options{Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, 1, 1, 1, 3)}})
		fmt.Printf("%.2f %.2f %v\n", weights, context, err)
	}

	// Output:
	// <nil>
	// <nil>
	// [0.50 0.50 0.00] [0.50 0.50] <nil>
	// [0.00 1.00 0.00] [0.00 1.00] <nil>
}
