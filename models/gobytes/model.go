// Package gobytes runs a small language model, computed by package kernel alone. The model
// is a Llama-style decoder whose tokens are bytes, trained on the sources of Go's standard
// library. The package has its weights; data/README.md says how they were made.
//
// [Default] loads the model, [Model.NewBatch] makes room for texts, [Batch.Forward] reads tokens
// and returns the logits of the next one, and [Greedy] chooses it. TestTrainedWeights trains such
// models.
//
// Everything is computed under the numeric contract of package contract. So the logits have
// the same bits on every CPU, with any number of threads, in any batch, and in however
// many calls a text is read.
package gobytes

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/attn-go/attn/rope"
)

//go:embed data/gobytes.safetensors
var embedded []byte

// Activations has queries, keys, values and outputs of attention in this model and in MiniLM, as
// PyTorch computes them: testdata/activations/gobytes.safetensors and minilm.safetensors, described
// by the README.md beside them.
//
//go:embed testdata/activations
var Activations embed.FS

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
	Embed  []float32 // [Vocab, Width]
	Blocks []Block
	Norm   []float32      // [Width]
	Head   *linear.Linear // makes the logits, with the weights of the embedding
	Rope   *rope.Rope
}

// A Block is a layer of the decoder: attention followed by a gated feed-forward network.
type Block struct {
	AttnNorm, FFNNorm []float32 // [Width]
	Q, K, V, O        *linear.Linear
	Gate, Up, Down    *linear.Linear
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
		return nil, errors.New(`the metadata has no "config", the sizes of the model`)
	}
	var c Config
	if err := json.Unmarshal([]byte(f.Metadata("config")), &c); err != nil {
		return nil, fmt.Errorf("metadata: config: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	w := &weightSet{}
	for _, t := range w.tensors(&c) {
		if *t.Numbers, err = read(f, t); err != nil {
			return nil, err
		}
	}
	return newModel(c, w)
}

// read returns the numbers of a tensor of type f32 or f16.
func read(f *safetensors.File, t tensor) ([]float32, error) {
	info, ok := f.Info(t.Name)
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no tensor %q", t.Name)
	case !slices.Equal(info.Shape, t.Shape) || info.DType != "F16" && info.DType != "F32":
		return nil, fmt.Errorf("tensor %q has shape %d and type %q, want shape %d and type F16 or F32", t.Name, info.Shape, info.DType, t.Shape)
	case info.DType == "F32":
		return f.Float32(t.Name)
	}
	bits, err := f.Uint16(t.Name)
	x := make([]float32, len(bits))
	for i, b := range bits {
		x[i] = kernel.F16(b).Float32()
	}
	return x, err
}
