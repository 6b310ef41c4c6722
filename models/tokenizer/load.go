package tokenizer

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/filemap"
)

// Load reads the tokenizer of a folder as Hugging Face has it: tokenizer.json, or, if there is
// none, vocab.txt as BERT has it; and tokenizer_config.json, if there is one, whose class, if it
// names none, stands in config.json. What these say on cutting and padding is ignored, but for the
// side on which a text is cut: the caller of Encode decides. Any other key of tokenizer_config.json
// is used as [FromJSON] says, is known to change no id, or is an error.
//
// Errors are of type *kernel.Error or, if a file cannot be read, *fs.PathError.
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
		m, err := modelOf(dir)
		if err != nil {
			return nil, err
		}
		return fromJSON(data, settings, m)
	}
	data, err = optional(filepath.Join(dir, "vocab.txt"))
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &kernel.Error{Where: "tokenizer: " + dir, Got: "neither tokenizer.json nor vocab.txt", Want: "one of them"}
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

// modelOf reads what config.json says of the class of a tokenizer.
func modelOf(dir string) (m modelSettings, err error) {
	data, err := optional(filepath.Join(dir, "config.json"))
	if data == nil || err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, &kernel.Error{Where: "tokenizer: config.json", Got: err.Error(), Want: "the settings of a model"}
	}
	return m, nil
}
