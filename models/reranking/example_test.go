package reranking_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/reranking"
)

// Scores are logits, so Sigmoid makes probabilities of them. The model of this example is tiny,
// with random weights: what it computes means nothing.
func Example() {
	r, err := models.OpenReranker("../testdata/tiny/reranker-bert-1", embedding.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := r.Score(context.Background(), "Where is the cat?", []string{"On the mat.", "It rains."})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range scores {
		fmt.Printf("%.3f %.3f\n", s, reranking.Sigmoid(s))
	}

	// Output:
	// -0.001 0.500
	// 0.036 0.509
}
