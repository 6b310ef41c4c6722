// Package gobytes runs a small language model, computed by package kernel alone. The model
// is a Llama-style decoder whose tokens are bytes, trained on the sources of Go's standard
// library. The package has its weights; data/README.md says how they were made.
//
// [Default] loads the model, [Model.NewBatch] makes room for texts, [Batch.Forward] reads
// tokens and returns the logits of the next one, and [Greedy] or a [Sampler] chooses it. A [Trainer]
// trains a model of this kind on another text.
//
// Everything is computed under the numeric contract of package contract. So the logits have
// the same bits on every CPU, with any number of threads, in any batch, and in however
// many calls a text is read.
package gobytes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/attn-go/attn/examples/internal/weights"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/attn-go/attn/rope"
)

//go:embed data/gobytes.safetensors
var embedded []byte

// A Config has the sizes and constants of a model. It is in the metadata of the model's
// file.
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

// check returns an error if no model of bytes can have this configuration.
func (c *Config) check() error {
	sizes := [...]int{c.Layers, c.Width, c.Heads, c.KVHeads, c.HeadSize, c.FFN, c.Context}
	for _, n := range sizes {
		if n < 1 || n > 1<<16 {
			return fmt.Errorf("config: the sizes are %d, want each from 1 to %d", sizes, 1<<16)
		}
	}
	switch {
	case c.Vocab != 256:
		return fmt.Errorf("config: the vocabulary has %d tokens, want 256, the bytes", c.Vocab)
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("config: %d query heads cannot share %d KV heads evenly", c.Heads, c.KVHeads)
	case c.HeadSize%2 != 0:
		return fmt.Errorf("config: the head size is %d, want an even number", c.HeadSize)
	}
	return nil
}

// A Model is a loaded model. It is immutable, so several goroutines may use it at once,
// each with its own [Batch].
type Model struct {
	Config
	embed  []float32 // [Vocab, Width]
	layers []layer
	norm   []float32
	head   *linear.Linear // makes the logits, with the weights of the embedding
	rope   *rope.Rope
}

// A layer of the decoder is attention followed by a gated feed-forward network.
type layer struct {
	attnNorm, ffnNorm []float32
	q, k, v, o        *linear.Linear
	gate, up, down    *linear.Linear
}

// Default loads the model that comes with the package.
func Default() (*Model, error) {
	return Load(bytes.NewReader(embedded), int64(len(embedded)))
}

// Load reads a model from a safetensors file of the given size in bytes. The weights are
// f16 or f32, and the metadata has the [Config] as JSON. Load returns an error if the file
// is damaged or does not hold such a model.
func Load(r io.ReaderAt, size int64) (*Model, error) {
	f, err := safetensors.New(r, size)
	if err != nil {
		return nil, err
	}
	if f.Metadata("config") == "" {
		return nil, errors.New(`the metadata has no "config", the sizes of the model: want one that generate -train has written`)
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

// load reads the weights.
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
	rope, err := rope.New(rope.Config{Dims: m.HeadSize, Base: m.Theta, Positions: m.Context})
	m.rope = rope
	return errors.Join(l.Err(), err)
}
