package encoder

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/models/weights"
)

// files are the files of a folder that the bits of embeddings depend on. Without a tokenizer.json,
// tokenizer_config.json is one of them.
var files = []string{"config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json", "vocab.txt", "1_Pooling/config.json"}

// Digest returns a SHA-256 of the files of a model that the bits of embeddings depend on: two copies
// of a model have the same. The model is a folder or a name, as for [Load].
func Digest(model string) (d [sha256.Size]byte, err error) { return DigestWith(model, LoadOptions{}) }

// DigestWith is [Digest] for a model that is loaded with options, which the bits of embeddings depend on, too.
func DigestWith(model string, o LoadOptions) (d [sha256.Size]byte, err error) {
	dir, err := weights.Resolve(model)
	if err != nil {
		return d, fmt.Errorf("encoder: %w", err)
	}
	h := sha256.New()
	names := slices.Clone(files)
	if _, err := os.Stat(filepath.Join(dir, "tokenizer.json")); err != nil {
		names = append(names, "tokenizer_config.json")
	}
	for _, name := range names {
		sum, err := fileDigest(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return d, fmt.Errorf("encoder: %w", err)
		}
		fmt.Fprintf(h, "%s %x\n", name, sum)
	}
	if o.Int8 {
		fmt.Fprintln(h, "int8")
	}
	h.Sum(d[:0])
	return d, nil
}

// fileDigest returns the SHA-256 of a file.
func fileDigest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
