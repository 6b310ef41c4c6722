package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
	"github.com/attn-go/attn/models/bert"
	"github.com/attn-go/attn/models/weights"
)

// An Embedder computes the embeddings of texts, each of the same number of numbers. It must
// be a function of each text alone, to the bit. A [*bert.Encoder] is one.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Width() int
}

// A Model is an Embedder with a digest that tells it from others.
type Model struct {
	Embedder
	Digest [sha256.Size]byte
}

// files are the files of a folder that the bits of embeddings depend on.
var files = []string{"config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json", "vocab.txt", "1_Pooling/config.json"}

// LoadModel loads a BERT model, which may be a folder or a name, see [bert.Load]. Its digest is that of the files that the
// bits of embeddings depend on: two copies of a model have the same.
func LoadModel(model string, opts bert.Options) (*Model, error) {
	dir, err := weights.Resolve(model)
	if err != nil {
		return nil, err
	}
	e, err := bert.Load(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{Embedder: e.With(opts)}
	h := sha256.New()
	for _, name := range files {
		sum, err := digest(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%s %x\n", name, sum)
	}
	h.Sum(m.Digest[:0])
	return m, nil
}

// digest returns the SHA-256 of a file.
func digest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// parseDigest reads the digest of a model in hexadecimal.
func parseDigest(s string) (d wire.Hash, ok bool) {
	b, err := hex.DecodeString(s)
	return d, err == nil && copy(d[:], b) == len(d) && len(b) == len(d)
}
