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

// List returns the names of a folder's files of these kinds, which are the ends of names such as ".json", with
// slashes and in the order of [fs.WalkDir].
func List(dir string, kinds []string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(name, Suffix) && slices.Contains(kinds, path.Ext(name)) {
			names = append(names, name)
		}
		return err
	})
	return names, err
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
