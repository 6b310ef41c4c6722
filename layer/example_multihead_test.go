package layer_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// Two heads, each of which uses two of a token's four numbers. There are no
// projections, so that the heads use the tokens as they are. In the first head query i
// matches key i, in the second head it matches the other key.
func ExampleMultiHead() {
	const tokens, width, heads = 2, 4, 2
	x := kernel.BLHD([]float32{
		9, 0, 9, 0,
		0, 9, 0, 9,
	}, 1, tokens, 1, width)
	key := kernel.BLHD([]float32{
		9, 0, 0, 9,
		0, 9, 9, 0,
	}, 1, tokens, 1, width)
	out, weights := make([]float32, tokens*width), make([]float32, heads*tokens*tokens)

	m := layer.MultiHead{Heads: heads}
	err := m.Attend(kernel.BLHD(out, 1, tokens, 1, width), x, key, x,
		&kernel.Options{Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, 1, heads, tokens, tokens)}})
	fmt.Printf("head 0 %.0f\nhead 1 %.0f\nout %.0f %v\n", weights[:4], weights[4:], out, err)

	// Output:
	// head 0 [1 0 0 1]
	// head 1 [0 1 1 0]
	// out [9 0 0 9 0 9 9 0] <nil>
}

// The weights of PyTorch's nn.MultiheadAttention(2, 1, batch_first=True), as its
// state_dict has them.
func ExampleFromTorch() {
	m, err := layer.FromTorch(2, 1, layer.TorchWeights{
		InProjWeight: []float32{
			1, 0, 0, 1, // of queries
			0, 1, 1, 0, // of keys
			2, 0, 0, 2, // of values
		},
		InProjBias:    make([]float32, 6),
		OutProjWeight: []float32{1, 0, 0, 1},
		OutProjBias:   []float32{10, 20},
	}, kernel.Exec{})
	fmt.Println(err)

	x := kernel.BLHD([]float32{20, 0, 0, 20}, 1, 2, 1, 2)
	out := make([]float32, 4)
	err = m.Attend(kernel.BLHD(out, 1, 2, 1, 2), x, x, x, nil)
	fmt.Println(out, err)

	// Output:
	// <nil>
	// [10 60 50 20] <nil>
}
