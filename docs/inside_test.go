package docs_test

import (
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// TestInside: each block of Go in inside.md stands in an example, line by line.
func TestInside(t *testing.T) {
	blocks, examples := testutil.CheckCode(t, "inside.md", "example_inside_test.go", "example_bytes_test.go")
	if blocks < examples {
		t.Errorf("inside.md has %d blocks of Go, fewer than the %d examples", blocks, examples)
	}
}
