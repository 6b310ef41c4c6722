// Package digests finds the files of a model that results depend on, and computes their SHA-256.
package digests

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/internal/filemap"
)

// Suffix ends the name of a file that keeps the SHA-256 of another one. It is no file of the model.
const Suffix = ".sha256.json"

// List returns the names of a folder's files of these kinds, which are the ends of names such as
// ".json", and of the files of PyTorch that are read, with slashes and in the order of
// [fs.WalkDir].
func List(dir string, kinds []string) (names []string, err error) {
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(name, Suffix) && (slices.Contains(kinds, path.Ext(name)) || ofTorch(files, name)) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// ofTorch tells whether a file of PyTorch is read: bge-m3's weights and vectors of tokens, and
// weights without safetensors beside them. Folders have others, of optimizers and the like.
func ofTorch(files fs.FS, name string) bool {
	dir, base := path.Split(name)
	if base == "sparse_linear.pt" || base == "colbert_linear.pt" {
		return true
	}
	for _, other := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if _, err := fs.Stat(files, dir+other); err == nil {
			return false
		}
	}
	return strings.HasPrefix(base, "pytorch_model") && path.Ext(base) == ".bin"
}

// OfFile returns the SHA-256 of a file.
func OfFile(path string) (sum [sha256.Size]byte, err error) {
	f, err := filemap.OpenRegular(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	return Of(f)
}

// Of returns the SHA-256 of what r has.
func Of(r io.Reader) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, r)
	h.Sum(sum[:0])
	return sum, err
}
