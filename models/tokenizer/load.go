package tokenizer

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/attn-go/attn/models/internal/filemap"
)

// Load reads the tokenizer of a folder as Hugging Face has it: tokenizer.json, or, if there is none,
// vocab.txt as BERT has it; and tokenizer_config.json, if there is one. What these say on cutting and
// padding is ignored: the caller of Encode decides.
//
// Errors are of type *ConfigError or, if a file cannot be read, *fs.PathError.
func Load(dir string) (*Tokenizer, error) {
	settings, err := optional(filepath.Join(dir, "tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	data, err := optional(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	if data != nil {
		return FromJSON(data, settings)
	}
	data, err = optional(filepath.Join(dir, "vocab.txt"))
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &ConfigError{dir, "neither tokenizer.json nor vocab.txt", "one of them"}
	}
	return fromLines(data, settings)
}

// optional returns what a file has, nil if there is no such file.
func optional(path string) ([]byte, error) {
	data, err := filemap.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
