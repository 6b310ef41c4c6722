package loss_test

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/loss"
)

// Two tokens of a text and a token of padding, for a vocabulary of two. The model has no opinion
// about the first token and is right about the second one.
func ExampleCrossEntropy() {
	logits := []float32{
		0, 0,
		0, 100,
		5, 5,
	}
	dlogits := make([]float32, len(logits))
	mean, err := loss.CrossEntropy(dlogits, logits, 2, []int32{0, 1, loss.IgnoreIndex}, kernel.Exec{})
	fmt.Printf("%.4f %.2f %v\n", mean, dlogits, err) // log(2)/2

	// Validation needs no gradient. exec says how a call computes, as everywhere.
	mean, err = loss.CrossEntropy(nil, logits, 2, []int32{0, 1, loss.IgnoreIndex}, kernel.Exec{Threads: 1})
	fmt.Printf("%.4f %v\n", mean, err)

	// Output:
	// 0.3466 [-0.25 0.25 0.00 0.00 0.00 0.00] <nil>
	// 0.3466 <nil>
}
