// Package testweights gives the weights of real models, and references, to tests and benchmarks.
package testweights

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/internal/weights"
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
	folder, err := weights.Folder()
	if err != nil {
		t.Skipf("NOT RUN: there is no folder for models: %v", err)
	}
	path := filepath.Join(folder, filepath.FromSlash(model))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN: %s is missing, make models fetches it", path)
	}
	return path
}
