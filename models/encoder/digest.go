package encoder

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/models/weights"
)

// kinds are the ends of the names of files that the bits of embeddings may depend on.
var kinds = []string{".json", ".txt", ".safetensors"}

// files returns the names of these files, also in the folders of modules, sorted and with slashes. That
// of a GGUF file is ".".
func files(dir string) (names []string, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return []string{"."}, nil
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains(kinds, path.Ext(name)) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// Digest returns a SHA-256 of the files of a model that the bits of embeddings depend on: two copies
// of a model have the same. The model is a folder, a GGUF file or a name, as for [Load], and may be of any
// architecture.
func Digest(model string) (d [sha256.Size]byte, err error) { return DigestWith(model, LoadOptions{}) }

// DigestWith is [Digest] for a model that is loaded with options, which the bits of embeddings depend on, too.
func DigestWith(model string, o LoadOptions) (d [sha256.Size]byte, err error) {
	dir, err := weights.Resolve(model)
	if err != nil {
		return d, fmt.Errorf("encoder: %w", err)
	}
	h := sha256.New()
	names, err := files(dir)
	if err != nil {
		return d, fmt.Errorf("encoder: %w", err)
	}
	for _, name := range names {
		sum, err := fileDigest(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return d, fmt.Errorf("encoder: %w", err)
		}
		fmt.Fprintf(h, "%s %x\n", name, sum)
	}
	if o.Int8 {
		fmt.Fprintln(h, "int8")
	}
	if o.Unit {
		fmt.Fprintln(h, "unit")
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
