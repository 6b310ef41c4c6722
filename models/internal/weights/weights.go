// Package weights says where the weights of real models are that make models fetches. They
// are too large for the repository.
package weights

import (
	"os"
	"path/filepath"
)

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
