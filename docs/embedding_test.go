package docs_test

import (
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// TestEmbedding: each block of Go in embedding.md stands in an example, line by line.
func TestEmbedding(t *testing.T) {
	blocks, examples := testutil.CheckCode(t, "embedding.md", "example_embedding_test.go", "example_bytes_test.go")
	if blocks < examples {
		t.Errorf("embedding.md has %d blocks of Go, fewer than the %d examples", blocks, examples)
	}
}
