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
}
