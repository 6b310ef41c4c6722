package embedding_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
)

// A text has the same vector alone as beside others. The model is tiny, with random weights.
func ExampleEmbedder_Embed() {
	model, err := models.OpenEmbedder("../testdata/tiny/bert-1", embedding.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	both, err := model.Embed(context.Background(), []string{"the cat sat", "a much longer text than the other one"})
	if err != nil {
		fmt.Println(err)
		return
	}
	alone, err := model.Embed(context.Background(), []string{"the cat sat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	same := true
	for i, x := range alone[0] {
		same = same && x == both[0][i]
	}
	fmt.Println(len(both), len(alone[0]), same)

	// Output: 2 36 true
}

// Words that two texts share, by how much they count.
func ExampleSparse_Dot() {
	a := embedding.Sparse{Tokens: []int32{3, 7, 9}, Weights: []float32{0.5, 0.25, 1}}
	b := embedding.Sparse{Tokens: []int32{7, 9}, Weights: []float32{1, 0.5}}
	fmt.Println(a.Dot(b))

	// Output: 0.75
}
