package heat_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/bench/examples/heat"
	"github.com/attn-go/attn/kernel"
)

// The weights of one causal self-attention with one head are drawn as SVG and PNG.
func Example() {
	words := []string{"the", "cat", "sleeps"}
	const n, d = 3, 2
	q := []float32{2, 0, 0, 2, 3, 1}
	k := []float32{1, 0, 0, 1, 1, 1}
	v := []float32{1, 2, 3, 4, 5, 6}
	out := make([]float32, n*d)

	// The attention call writes its weights, [batch, heads, queries, keys].
	weights, shape := make([]float32, n*n), [4]int{1, 1, n, n}
	err := kernel.Attention(
		kernel.BHLD(out, 1, 1, n, d), kernel.BHLD(q, 1, 1, n, d), kernel.BHLD(k, 1, 1, n, d), kernel.BHLD(v, 1, 1, n, d),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}, Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, 1, 1, n, n)}})
	if err != nil {
		fmt.Println(err)
		return
	}

	// The weights of batch row 0 and head 0 become a heat map.
	w, err := heat.HeadWeights(weights, shape, 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for query := range n {
		fmt.Printf("%-6s %.2f\n", words[query], w[query*n:][:n])
	}
	figure := heat.Figure{
		Title: `my model, layer 0, reading "the cat sleeps"`,
		Maps: []heat.Map{{
			Title: "head 0", Queries: words, Keys: words, Weights: w,
			Visible: func(query, key int) bool { return key <= query }, // as the causal mask says
		}},
	}
	dir, err := os.MkdirTemp("", "heat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"weights.svg", "weights.png"} {
		if err := figure.WriteFile(filepath.Join(dir, name)); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("wrote", name)
	}

	// Output:
	// the    [1.00 0.00 0.00]
	// cat    [0.20 0.80 0.00]
	// sleeps [0.31 0.07 0.62]
	// wrote weights.svg
	// wrote weights.png
}

func ExampleCharacterLabels() {
	fmt.Println(heat.CharacterLabels("é = 1\n"))
	// Output: [é · = · 1 \n]
}

func ExampleByteLabels() {
	fmt.Println(heat.ByteLabels([]byte("é = 1\n")))
	// Output: [c3 a9 · = · 1 \n]
}
