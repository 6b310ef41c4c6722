// Package weights finds the weights of real models for tests and benchmarks. They are too
// large for the repository: make models fetches them.
package weights

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Refs is the flag -refs of every test of this module: a folder with further references for
// TestReferences. All test binaries have it, so that go test ./models/... -args -refs DIR works.
var Refs = flag.String("refs", "", "a `folder` with further references for TestReferences")

// The models, as paths below Folder.
const (
	MiniLM  = "minilm"                                  // a folder as Hugging Face has it
	SmolLM2 = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" // a file
)

// Folder returns the folder of the fetched models: ATTN_MODELS, or attn/models in the user's
// cache folder.
func Folder() (string, error) {
	if folder := os.Getenv("ATTN_MODELS"); folder != "" {
		return folder, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "attn", "models"), err
}

// Path returns the path of a model. If it is missing, the test is skipped.
func Path(t testing.TB, model string) string {
	t.Helper()
	folder, err := Folder()
	if err != nil {
		t.Skipf("NOT RUN: there is no folder for models: %v", err)
	}
	path := filepath.Join(folder, filepath.FromSlash(model))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT RUN: %s is missing, make models fetches it", path)
	}
	return path
}
