package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/adapters"
	"github.com/attn-go/attn/models/internal/digests"
	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/lora"
)

// kinds are the ends of the names of files that results may depend on.
var kinds = []string{".gguf", ".jinja", ".json", ".model", ".safetensors", ".txt"}

// Files returns the SHA-256 of a GGUF file, or of all parts of one that is the first of several, or
// of each file of a folder that results may depend on. They are kept beside each file, in
// NAME.sha256.json, or in the user's cache folder where that cannot be written, and hold as long as
// the file has the same size and time of change. rehash computes them anyway.
func Files(model string, rehash bool) ([]File, error) {
	return sums(model, func(name string) (Hash, error) { return digest(name, rehash) })
}

// Digests is [Files] that reads all files and keeps nothing.
func Digests(model string) ([]File, error) {
	return sums(model, func(name string) (Hash, error) {
		h, err := digests.OfFile(name)
		return h, err
	})
}

// Adapters returns the SHA-256 of the files of adapters, of which nothing is kept.
func Adapters(list []lora.Adapter) (all []Adapter, err error) {
	for _, a := range list {
		files, err := adapters.Files(a.Path)
		if err != nil {
			return nil, fmt.Errorf("receipt: %w", err)
		}
		one := Adapter{Scale: a.Factor()}
		for _, f := range files {
			one.Files = append(one.Files, File{f.Name, f.SHA256})
		}
		all = append(all, one)
	}
	return all, nil
}

func sums(model string, digest func(name string) (Hash, error)) ([]File, error) {
	info, err := os.Stat(model)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	dir, list := model, list
	if !info.IsDir() {
		dir, list = filepath.Dir(model), func(string) ([]string, error) { return parts(model) }
	}
	names, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	files := make([]File, len(names))
	for i, name := range names {
		h, err := digest(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("receipt: %w", err)
		}
		files[i] = File{name, h}
	}
	return files, nil
}

// parts returns the names of the files of a model that is no folder.
func parts(model string) (names []string, err error) {
	paths, err := gguf.Parts(model)
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names, err
}

// list returns the names of a folder's files, sorted.
func list(dir string) (names []string, err error) {
	names, err = digests.List(dir, kinds)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: %w: no file of a model", dir, fs.ErrNotExist)
	}
	slices.Sort(names)
	return names, err
}

// A kept digest holds as long as the file has this size and time.
type kept struct {
	Size   int64 `json:"size"`
	Time   int64 `json:"modified_ns"`
	SHA256 Hash  `json:"sha256"`
}

// digest returns the SHA-256 of a file.
func digest(name string, rehash bool) (h Hash, err error) {
	f, err := filemap.OpenRegular(name)
	if err != nil {
		return h, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return h, err
	}
	places := keptAt(name)
	if !rehash {
		for _, at := range places {
			var k kept
			data, err := os.ReadFile(at)
			if err == nil && json.Unmarshal(data, &k) == nil && k.Size == info.Size() && k.Time == info.ModTime().UnixNano() {
				return k.SHA256, nil
			}
		}
	}
	if h, err = digests.Of(f); err != nil {
		return h, err
	}
	data, err := json.Marshal(kept{info.Size(), info.ModTime().UnixNano(), h})
	for _, at := range places {
		if err == nil && write(at, data) == nil {
			break
		}
	}
	return h, err
}

// keptAt returns where the digest of a file may be kept, the best place first.
func keptAt(name string) []string {
	places := []string{name + digests.Suffix}
	cache, err := os.UserCacheDir()
	if full, fail := filepath.Abs(name); err == nil && fail == nil {
		key := sha256.Sum256([]byte(full))
		places = append(places, filepath.Join(cache, "attn", "sha256", hex.EncodeToString(key[:16])+digests.Suffix))
	}
	return places
}

// write writes a file that is whole at any time.
func write(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if fail := f.Close(); err == nil {
		err = fail
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
