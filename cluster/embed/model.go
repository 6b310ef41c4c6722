package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
	"github.com/attn-go/attn/models/encoder"
)

// An Embedder computes the embeddings of texts, each of the same number of numbers. It must
// be a function of each text alone, to the bit. A [*encoder.Encoder] is one.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Width() int
}

// A Model is an Embedder with a digest that tells it from others.
type Model struct {
	Embedder
	Digest [sha256.Size]byte
}

// LoadModel loads a BERT model, see [encoder.Load]. Its digest is that of [encoder.Digest].
func LoadModel(model string, opts encoder.Options) (*Model, error) {
	e, err := encoder.Load(model, encoder.LoadOptions{})
	if err != nil {
		return nil, err
	}
	digest, err := encoder.Digest(model, encoder.LoadOptions{})
	if err != nil {
		return nil, err
	}
	return &Model{e.With(opts), digest}, nil
}

// parseDigest reads the digest of a model in hexadecimal.
func parseDigest(s string) (d wire.Hash, ok bool) {
	b, err := hex.DecodeString(s)
	return d, err == nil && copy(d[:], b) == len(d) && len(b) == len(d)
}
