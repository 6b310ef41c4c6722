package encoder

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/adapters"
	"github.com/attn-go/attn/models/internal/digests"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/weights"
)

// kinds are the ends of the names of files that the bits of embeddings may depend on.
var kinds = []string{".json", ".txt", ".safetensors"}

// files returns the names of these files, also in the folders of modules, in the order of
// digests.List, and their paths. The name of a GGUF file is ".", as its own name changes nothing,
// and further parts have a number.
func files(dir string) (names, paths []string, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		paths, err = gguf.Parts(dir)
		for i := range paths {
			names = append(names, ".")
			if i > 0 {
				names[i] += fmt.Sprint(i + 1)
			}
		}
		return names, paths, err
	}
	names, err = digests.List(dir, kinds)
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return names, paths, err
}

// reading is raised when the same files give other vectors, as a setting of them is obeyed that was
// not.
const reading = 2

// Digest returns a SHA-256 of the files of a model that the bits of embeddings depend on, and of
// the options: two copies of a model have the same. The model is a folder, a GGUF file or a name,
// as for [Load], and may be of any architecture.
func Digest(model string, o LoadOptions) (d [sha256.Size]byte, err error) {
	dir, err := weights.Resolve(model)
	if err != nil {
		return d, fmt.Errorf("encoder: %w", err)
	}
	h := sha256.New()
	fmt.Fprintln(h, "reading", reading)
	names, paths, err := files(dir)
	if err != nil {
		return d, fmt.Errorf("encoder: %w", err)
	}
	for i, name := range names {
		sum, err := digests.OfFile(paths[i])
		if err != nil {
			return d, fmt.Errorf("encoder: %w", err)
		}
		fmt.Fprintf(h, "%s %x\n", name, sum)
	}
	switch o.Precision {
	case precision.BFloat16:
		fmt.Fprintln(h, "bf16")
	case precision.Int8:
		fmt.Fprintln(h, "int8, columns sorted")
	}
	if o.Unit {
		fmt.Fprintln(h, "unit")
	}
	if o.Context != 0 {
		fmt.Fprintln(h, "context", o.Context)
	}
	merged, err := adapters.Digest(o.LoRA)
	if err != nil {
		return d, fmt.Errorf("encoder: %w", err)
	}
	fmt.Fprint(h, merged)
	h.Sum(d[:0])
	return d, nil
}
