// Package testweights gives the weights of real models, and references, to tests and benchmarks.
package testweights

import (
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // for tests of packages that know no references
	"github.com/attn-go/attn/models/weights"
)

// The models, for Path.
const (
	MiniLM  = weights.MiniLM
	SmolLM2 = weights.SmolLM2
)

// Path returns the path of a model. If it is missing, the test is skipped.
func Path(t testing.TB, model string) string {
	t.Helper()
	path, err := weights.Find(model)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	return path
}
