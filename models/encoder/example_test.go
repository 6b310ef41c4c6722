package encoder_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models/encoder"
)

// The models of these examples are tiny, with random weights: what they compute means nothing.

// Vectors of two texts. They have the length 1, so that their dot product is the cosine.
func ExampleLoad() {
	model, err := encoder.Load("../testdata/tiny/bert-1", encoder.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	vectors, err := model.Embed(context.Background(), []string{"the cat sat", "one two three"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(vectors), "vectors of", model.Width(), "numbers, texts of up to", model.MaxTokens(), "tokens")
	fmt.Printf("%.4f\n", vectors[0][:4])

	// Output:
	// 2 vectors of 36 numbers, texts of up to 160 tokens
	// [-0.0201 -0.0655 -0.2985 0.3048]
}

// The vectors of the tokens themselves, before they become one.
func ExampleEncoder_HiddenStates() {
	model, err := encoder.Load("../testdata/tiny/bert-1", encoder.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := model.Tokens("the cat sat")
	states, err := model.HiddenStates(context.Background(), ids)
	if err != nil {
		fmt.Println(err)
		return
	}
	last := states[len(states)-1]
	fmt.Println(len(states)-1, "layer,", len(last)/model.Width(), "tokens")

	// Output: 3 layer, 6 tokens
}

// The passages of a search are sorted by how well they answer the query.
func ExampleLoadReranker() {
	model, err := encoder.LoadReranker("../testdata/tiny/reranker-bert-1", encoder.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := model.Score(context.Background(), "Where is the cat?", []string{"On the mat.", "It rains."})
	fmt.Printf("%.4f %v\n", scores, err)

	// Output: [-0.0012 0.0358] <nil>
}
