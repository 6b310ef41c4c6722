package retrieval_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/retrieval"
)

// A query of two vectors is scored for passages of two vectors and of one.
func ExampleMaxSim() {
	query := kernel.BLHD([]float32{1, 0, 0, 1}, 1, 2, 1, 2)
	vectors := []float32{0.5, 0, 0, 0.25, 1, -1}
	passages := kernel.BLHD(vectors, 1, 3, 1, 2).Ragged([]int{0, 2, 3})
	scores := make([]float32, 2)
	if err := retrieval.MaxSim(scores, query, passages, kernel.Exec{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(scores)
	// Output: [0.75 0]
}
