package references

import (
	"os"
	"path/filepath"

	"github.com/attn-go/attn/models/internal/refs"
)

// Folder returns the folder of the flag -refs, or fallback if the flag is not set. go test runs
// a test in the folder of its package, so a relative path counts from there or, if it leads
// nowhere, from the nearest folder above from which it leads somewhere.
func Folder(fallback string) string {
	dir := *refs.Dir
	if dir == "" {
		return fallback
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	above, err := os.Getwd()
	if err != nil {
		return dir
	}
	for {
		if _, err := os.Stat(filepath.Join(above, dir)); err == nil {
			return filepath.Join(above, dir)
		}
		parent := filepath.Dir(above)
		if parent == above {
			return dir
		}
		above = parent
	}
}

// IsSmolLM2 returns whether a folder has references of text generation.
func IsSmolLM2(dir string) bool {
	return hasAny(dir, "generate.json", "tokens.json", "tensors.safetensors")
}

// IsMiniLM returns whether a folder has references of sentence embeddings.
func IsMiniLM(dir string) bool {
	return hasAny(dir, "embeddings.json", "embeddings.safetensors", "retrieval.json")
}

func hasAny(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
