package kernel_test

import (
	"fmt"
	"log"

	"github.com/attn-go/attn/kernel"
)

// The gradients of a call from the gradient of its output. The forward call keeps LSE, from
// which the weights are computed again: here 1/2 and 1/2.
func ExampleAttentionBackward() {
	q, k, v := column(0), column(1, 2), column(3, 6)
	lse := column(0)
	err := kernel.Attention(column(0), q, k, v, &kernel.Options{Outputs: kernel.Outputs{LSE: lse}})
	if err != nil {
		fmt.Println(err)
		return
	}

	dq, dv := make([]float32, 1), make([]float32, 2)
	dout := column(1)
	err = kernel.AttentionBackward(kernel.Gradients{Q: column(dq...), V: column(dv...)}, dout, q, k, v, lse, nil)
	fmt.Printf("dq %.3f, dv %.3f %v\n", dq, dv, err)

	// Output: dq [0.750], dv [0.500 0.500] <nil>
}

// Additive attention is trained on the weights that its forward call has written.
func ExampleAdditiveBackward() {
	q, k, v := column(0), column(0, 0), column(3, 6)
	w := []float32{2} // of the one hidden unit
	p := kernel.BHLD(make([]float32, 2), 1, 1, 1, 2)
	err := kernel.Additive(column(0), q, k, v, w, &kernel.Options{Outputs: kernel.Outputs{Weights: p}})
	if err != nil {
		fmt.Println(err)
		return
	}

	dk, dv := make([]float32, 2), make([]float32, 2)
	dout := column(1)
	err = kernel.AdditiveBackward(kernel.AdditiveGradients{K: column(dk...), V: column(dv...)}, dout, q, k, v, p, w,
		kernel.AdditiveBackwardOptions{})
	fmt.Println(dk, dv, err)

	// Output: [-1.5 1.5] [0.5 0.5] <nil>
}

// One machine has the first 256 keys of a sequence, another one those from 256 on. Each computes
// its part, and whoever has both merges them: the mean of 256 ones and 256 threes.
func ExampleAttentionPartials() {
	const keys = 256
	shard := func(value float32, start int) kernel.Partials {
		v := make([]float32, keys)
		for i := range v {
			v[i] = value
		}
		part, err := kernel.NewPartials(1, 1, 1, 1, 1)
		if err != nil {
			log.Fatal(err)
		}
		err = kernel.AttentionPartials(part, column(0), column(make([]float32, keys)...), column(v...),
			&kernel.PartialOptions{Scoring: kernel.Scoring{KeyStart: []int{start}}})
		if err != nil {
			fmt.Println(err)
		}
		return *part
	}
	out := make([]float32, 1)
	err := kernel.MergePartials(column(out...), []kernel.Partials{shard(1, 0), shard(3, keys)}, kernel.MergeOptions{})
	fmt.Println(out, err)

	// Output: [2] <nil>
}

// Partials have a block for every 256 keys that they are to see. Before they see any, the result
// is zeros. Reset brings them back to that.
func ExampleNewPartials() {
	const blocks, batch, heads, queries, headSize = 1, 1, 1, 1, 1
	state, err := kernel.NewPartials(blocks, batch, heads, queries, headSize)
	fmt.Println(err)
	out := make([]float32, 1)
	show := func() {
		err := kernel.MergePartials(column(out...), []kernel.Partials{*state}, kernel.MergeOptions{})
		fmt.Println(out, err)
	}
	show()
	err = kernel.AccumulatePartials(state, column(0), column(0, 0), column(1, 3), nil)
	fmt.Println(err)
	show()
	state.Reset()
	show()

	// Output:
	// <nil>
	// [0] <nil>
	// <nil>
	// [2] <nil>
	// [0] <nil>
}
