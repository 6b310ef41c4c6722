// Package weights finds models by their names or paths: [Resolve] finds what a person names, [Find]
// the models that attn fetch downloads, which are too large for the repository.
package weights

import (
	"fmt"
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

// Path returns where a model is fetched to, MiniLM or SmolLM2, whether it is there or not.
func Path(model string) (string, error) {
	folder, err := Folder()
	if err != nil {
		return "", fmt.Errorf("there is no folder for models: %w", err)
	}
	return filepath.Join(folder, filepath.FromSlash(model)), nil
}

// Find is [Path] for a model that must be there. If it is missing, the error says how to get it
// and is an [os.ErrNotExist].
func Find(model string) (string, error) {
	path, err := Path(model)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("missing, attn fetch downloads it: %w", err)
	}
	return path, nil
}
