package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/kernel"
)

// answers is the version of what the bytes of answers depend on beside the contract, the model and the
// settings: how texts become tokens, how tokens are chosen and how answers are written. Raise it with
// every change of them.
const answers = 1

// kinds are the ends of the names of files that results may depend on.
var kinds = []string{".gguf", ".jinja", ".json", ".model", ".safetensors", ".txt"}

// digestOf returns a SHA-256 of a file, or of those files in a folder that results may depend on.
func digestOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("server: %w", err)
	}
	h := sha256.New()
	if !info.IsDir() {
		err = addFile(h, os.DirFS(filepath.Dir(name)), filepath.Base(name), "")
	} else {
		dir := os.DirFS(name)
		err = fs.WalkDir(dir, ".", func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains(kinds, path.Ext(file)) {
				return err
			}
			return addFile(h, dir, file, file)
		})
	}
	if err != nil {
		return "", fmt.Errorf("server: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// addFile adds the digest of a file to h, with a name.
func addFile(h io.Writer, dir fs.FS, file, name string) error {
	f, err := dir.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%s %x\n", name, sum.Sum(nil))
	return err
}

// fingerprint returns the hash of all that the answers of a model depend on.
func (m *Model) fingerprint(s *Settings) string {
	h := sha256.New()
	fmt.Fprintf(h, "answers %d\ncontract %d\nmodel %s\n", answers, kernel.Contract, m.digest)
	if m.generate != nil {
		o := m.generate.Options()
		fmt.Fprintf(h, "context %d\ncache %v %v\nint8 %v\nmax %d\nsampler %+v\n", o.Context, o.CacheType, cmp.Or(o.CacheValueType, o.CacheType), o.Int8, s.MaxTokens, *s.Sampler)
	}
	return "fp_" + hex.EncodeToString(h.Sum(nil)[:8])
}
