// Package gobytes runs a small language model on attn alone: a Llama-style decoder
// over bytes, trained on the Go standard library's sources. It comes with the
// package; data/README.md says where it is from.
//
// Every number is computed under attn's numeric contract, so that logits are the
// same bits on every CPU, with any number of threads, in any batch, and however
// a text is cut into chunks.
package gobytes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/attn-go/attn/examples/internal/weights"
	"github.com/attn-go/attn/internal/safetensors"
	"github.com/attn-go/attn/kernel"
)

//go:embed data/gobytes.safetensors
var embedded []byte

// Config is the shape of a model, as its file's metadata has it.
type Config struct {
	Layers   int     `json:"layers"`
	Width    int     `json:"width"`
	Heads    int     `json:"heads"`
	KVHeads  int     `json:"kv_heads"`
	HeadSize int     `json:"head_size"`
	FFN      int     `json:"ffn"`
	Context  int     `json:"context"`
	Vocab    int     `json:"vocab"`
	Theta    float64 `json:"rope_theta"`
	Epsilon  float32 `json:"norm_eps"`
}

// check reports a configuration that no model can have, or that is none of a model
// over bytes.
func (c *Config) check() error {
	sizes := [...]int{c.Layers, c.Width, c.Heads, c.KVHeads, c.HeadSize, c.FFN, c.Context}
	for _, n := range sizes {
		if n < 1 || n > 1<<16 {
			return fmt.Errorf("config: sizes %d, want 1 to %d", sizes, 1<<16)
		}
	}
	switch {
	case c.Vocab != 256:
		return fmt.Errorf("config: vocabulary of %d, want the 256 bytes", c.Vocab)
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("config: %d heads on %d KV heads", c.Heads, c.KVHeads)
	case c.HeadSize%2 != 0:
		return fmt.Errorf("config: head size %d, want an even one", c.HeadSize)
	}
	return nil
}

// Model is a loaded model. It is immutable: any number of [Batch]es may use it at once.
type Model struct {
	Config
	embed  []float32 // [Vocab, Width]
	layers []layer
	norm   []float32
	head   *kernel.Linear // the embedding once more: its output is the logits
	rope   *kernel.Rope
}

// A layer is a block of the decoder: attention, then a gated feed-forward network.
type layer struct {
	attnNorm, ffnNorm []float32
	q, k, v, o        *kernel.Linear
	gate, up, down    *kernel.Linear
}

// Default loads the model that comes with the package.
func Default() (*Model, error) {
	return Load(bytes.NewReader(embedded), int64(len(embedded)))
}

// Load reads a model from a safetensors file of so many bytes, with weights of f16
// or f32 and the [Config] as JSON in the metadata. A damaged or lying file gets an error.
func Load(r io.ReaderAt, size int64) (*Model, error) {
	f, err := safetensors.New(r, size)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if err := json.Unmarshal([]byte(f.Metadata("config")), &m.Config); err != nil {
		return nil, fmt.Errorf("metadata: config: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, m.load(weights.NewLoader(f))
}

func (m *Model) load(l *weights.Loader) error {
	queries, keys := m.Heads*m.HeadSize, m.KVHeads*m.HeadSize
	m.embed = l.Floats("embed.weight", m.Vocab, m.Width)
	m.head = l.Linear("embed.weight", "", m.Vocab, m.Width)
	m.norm = l.Floats("norm.weight", m.Width)
	for i := range m.Layers {
		at := func(name string) string { return fmt.Sprintf("blocks.%d.%s.weight", i, name) }
		m.layers = append(m.layers, layer{
			attnNorm: l.Floats(at("attn_norm"), m.Width),
			ffnNorm:  l.Floats(at("ffn_norm"), m.Width),
			q:        l.Linear(at("wq"), "", queries, m.Width),
			k:        l.Linear(at("wk"), "", keys, m.Width),
			v:        l.Linear(at("wv"), "", keys, m.Width),
			o:        l.Linear(at("wo"), "", m.Width, queries),
			gate:     l.Linear(at("w1"), "", m.FFN, m.Width),
			up:       l.Linear(at("w3"), "", m.FFN, m.Width),
			down:     l.Linear(at("w2"), "", m.Width, m.FFN),
		})
	}
	rope, err := kernel.NewRope(kernel.RopeConfig{Dims: m.HeadSize, Base: m.Theta, Positions: m.Context})
	m.rope = rope
	return errors.Join(l.Err(), err)
}
