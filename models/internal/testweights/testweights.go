// Package testweights gives the weights of real models, and references, to tests and benchmarks.
package testweights

import (
	"flag"
	"testing"

	"github.com/attn-go/attn/models/weights"
)

// The models, for Path.
const (
	MiniLM  = weights.MiniLM
	SmolLM2 = weights.SmolLM2
)

// Refs is the flag -refs of every test of this module: a folder with further references for
// TestReferences. All test binaries have it, so that go test ./models/... -args -refs DIR works.
var Refs = flag.String("refs", "", "a `folder` with further references for TestReferences")

// Path returns the path of a model. If it is missing, the test is skipped.
func Path(t testing.TB, model string) string {
	t.Helper()
	path, err := weights.Find(model)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	return path
}
