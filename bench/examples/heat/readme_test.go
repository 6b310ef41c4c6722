package heat_test

import (
	"github.com/attn-go/attn/bench/examples/heat"
	"github.com/attn-go/attn/kernel"
)

// The code of ../README.md, which docs/code_test.go compares.
var _ = draw

func draw(out, q, k, v kernel.Tensor, batch, heads, queries, keys int, words []string) error {
	weights := make([]float32, batch*heads*queries*keys)
	err := kernel.Attention(out, q, k, v, &kernel.Options{
		Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, batch, heads, queries, keys)},
	})
	if err != nil {
		return err
	}
	shape := [4]int{batch, heads, queries, keys}
	w, err := heat.HeadWeights(weights, shape, 0, 0) // batch row 0, head 0
	if err != nil {
		return err
	}
	figure := heat.Figure{
		Title: "my model, layer 0",
		Maps:  []heat.Map{{Title: "head 0", Queries: words, Keys: words, Weights: w}},
	}
	return figure.WriteFile("weights.png")
}
