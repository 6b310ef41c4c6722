package batch

import (
	"context"

	"github.com/attn-go/attn/models/decoder"
)

// A Session computes the steps of texts. It is a [decoder.Session], or one in its place in a test.
type Session interface {
	NewText() *decoder.Text
	Forward(ctx context.Context, steps ...decoder.Step) ([][]float32, error)
	FreePages() int

	// Ahead lets the layer that guesses further tokens read with texts, and guess, see
	// [Options.Ahead].
	Ahead(ctx context.Context, all ...*decoder.Guess) error
}
