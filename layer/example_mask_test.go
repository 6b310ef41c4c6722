package layer_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/layer"
)

// showWeights prints the weights of every query, one line for each batch row. The queries
// are zeros, so that all keys that a query sees have the same weight.
func showWeights(batch, tokens int, mask kernel.Mask) {
	x := kernel.BHLD(make([]float32, batch*tokens), batch, 1, tokens, 1)
	out := kernel.BHLD(make([]float32, batch*tokens), batch, 1, tokens, 1)
	weights := make([]float32, batch*tokens*tokens)
	err := layer.ScaledDot{}.Attend(out, x, x, x, &kernel.Options{
		Scoring: kernel.Scoring{Mask: mask},
		Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, batch, 1, tokens, tokens)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ; len(weights) > 0; weights = weights[tokens*tokens:] {
		for query := range tokens {
			fmt.Printf("%.2f", weights[query*tokens:][:tokens])
		}
		fmt.Println()
	}
}

// Two texts of three tokens. The last token of the second text is padding.
func ExamplePaddingMask() {
	padded := []int{
		0, 0, 0,
		0, 0, 1,
	}
	showWeights(2, 3, layer.PaddingMask(padded, 2))

	// One number is missing.
	showWeights(2, 3, layer.PaddingMask(padded[:5], 2))

	// Output:
	// [0.33 0.33 0.33][0.33 0.33 0.33][0.33 0.33 0.33]
	// [0.50 0.50 0.00][0.50 0.50 0.00][0.50 0.50 0.00]
	// kernel.Attention: Options.Mask: 5 elements for the shape [2 1 1 Lk], want 6: the call has Lk = 3 keys
}

// A decoder for two texts of three tokens, in which token 0 is padding: And joins both
// masks.
func ExamplePaddingTokenMask() {
	tokens := []int{
		7, 6, 5,
		4, 9, 0,
	}
	mask := layer.PaddingTokenMask(tokens, 2, 0).And(kernel.Causal(0))
	showWeights(2, 3, mask)

	// Output:
	// [1.00 0.00 0.00][0.50 0.50 0.00][0.33 0.33 0.33]
	// [1.00 0.00 0.00][0.50 0.50 0.00][0.50 0.50 0.00]
}

// A mask [Lq, Lk] of numbers that hides from every token the token itself.
func ExampleHiddenMask() {
	mask := []float32{
		1, 0, 0,
		0, 1, 0,
		0, 0, 1,
	}
	showWeights(1, 3, layer.HiddenMask(mask, [4]int{1, 1, 3, 3}))

	// Output: [0.00 0.50 0.50][0.50 0.00 0.50][0.50 0.50 0.00]
}
