package encoder

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/attn-go/attn/models/tokenizer/wordpiece"
	"github.com/attn-go/attn/models/weights"
)

// Load reads a model from a folder as Hugging Face and sentence-transformers have it, or from one
// that [weights.Resolve] finds by its name, such as all-MiniLM-L6-v2 where make models puts it:
//
//	config.json                 model_type bert, an activation of the GELU kind, absolute positions
//	model.safetensors           float32, float16 or bfloat16, which are widened; names with "bert." or without
//	vocab.txt, tokenizer.json   see package wordpiece
//	sentence_bert_config.json   max_seq_length; without it the model's number of positions counts
//	1_Pooling/config.json       must ask for the mean of all tokens; without it that is assumed
//
// If a key or a tensor is missing or does not fit, the error is a [*ModelError], or a
// [*wordpiece.ConfigError] for the tokenizer. If the folder or one of the
// first two files is missing, errors.Is finds [fs.ErrNotExist] in it.
func Load(model string) (*Encoder, error) { return LoadWith(model, LoadOptions{}) }

// LoadOptions are settings of a model that change its results.
type LoadOptions struct {
	// Int8 rounds the weights of all linear layers to 8 bits when they are read, and their inputs in
	// every call, in blocks of 32, see [linear.NewInt8] and [linear.Options]. These weights take a
	// quarter of the memory, and texts less time. Embeddings have the same bits on every CPU, but others
	// than without Int8: for MiniLM the cosine of both is 0.9993 or more from 10 tokens on, and 0.998 or
	// more below. The model's width and that of its inner layers are multiples of 32.
	Int8 bool
}

// LoadWith is [Load] with options.
func LoadWith(model string, o LoadOptions) (*Encoder, error) {
	dir, err := weights.Resolve(model)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	c, err := readConfig(dir)
	if err != nil {
		return nil, err
	}
	m, err := readModel(dir, c, o)
	if err != nil {
		return nil, err
	}
	tokenizer, err := readTokenizer(dir, c)
	if err != nil {
		return nil, err
	}
	return &Encoder{model: m, tokenizer: tokenizer, free: &sync.Pool{New: func() any { return &scratch{} }}}, nil
}

// readTokenizer reads a tokenizer whose ids are those of the model.
func readTokenizer(dir string, c *config) (*wordpiece.Tokenizer, error) {
	t, err := wordpiece.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("encoder: %s: %w", dir, err)
	}
	if t.Len() > c.Vocab {
		return nil, &ModelError{filepath.Join(dir, "config.json"), "vocab_size", strconv.Itoa(c.Vocab), fmt.Sprintf("at least %d, the tokens of the tokenizer", t.Len())}
	}
	return t, nil
}

// model are the weights, which never change.
type model struct {
	config
	activation linear.Activation
	int8       bool // see LoadOptions

	words     []float32 // [Vocab, Width], the embedding of token type 0 added
	positions []float32 // [Positions, Width]
	norm      affine
	layers    []layer
}

// affine are the weights of a norm.
type affine struct{ weight, bias []float32 }

// A layer is one block of the encoder: attention and a feed-forward network.
type layer struct {
	qkv, out    *linear.Linear // [3·Width, Width]: queries, keys, values; [Width, Width]
	attention   affine
	up, down    *linear.Linear // [Inner, Width], [Width, Inner]
	feedforward affine
}

// A reader reads the tensors of a model. After the first error it returns nothing.
type reader struct {
	file   *safetensors.File
	path   string
	prefix string // of all names
	int8   bool   // weights of linear layers are rounded
	err    error
}

const wordsName = "embeddings.word_embeddings.weight"

// readModel reads model.safetensors of a folder.
func readModel(dir string, c *config, o LoadOptions) (*model, error) {
	r := &reader{path: filepath.Join(dir, "model.safetensors"), int8: o.Int8}
	var err error
	if r.file, err = safetensors.Open(r.path); err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	defer r.file.Close()
	if _, ok := r.file.Info("bert." + wordsName); ok {
		r.prefix = "bert."
	}
	m := &model{config: *c, activation: activations[c.Act], int8: o.Int8}
	m.words = r.floats(wordsName, c.Vocab, c.Width)
	m.positions = r.floats("embeddings.position_embeddings.weight", c.Positions, c.Width)
	types := r.floats("embeddings.token_type_embeddings.weight", c.Types, c.Width)
	m.norm = r.affine("embeddings.LayerNorm", c.Width)
	for i := 0; i < c.Layers && r.err == nil; i++ {
		m.layers = append(m.layers, r.layer(fmt.Sprintf("encoder.layer.%d.", i), c))
	}
	if r.err != nil {
		return nil, r.err
	}
	// All tokens are of type 0. PyTorch adds its embedding to that of the word, too, before
	// that of the position.
	for row := range slices.Chunk(m.words, c.Width) {
		for i, x := range types[:c.Width] {
			row[i] += x
		}
	}
	return m, nil
}

func (r *reader) layer(name string, c *config) layer {
	return layer{
		qkv:         r.linear(c.Width, c.Width, name+"attention.self.query", name+"attention.self.key", name+"attention.self.value"),
		out:         r.linear(c.Width, c.Width, name+"attention.output.dense"),
		attention:   r.affine(name+"attention.output.LayerNorm", c.Width),
		up:          r.linear(c.Inner, c.Width, name+"intermediate.dense"),
		down:        r.linear(c.Width, c.Inner, name+"output.dense"),
		feedforward: r.affine(name+"output.LayerNorm", c.Width),
	}
}

func (r *reader) affine(name string, n int) affine {
	return affine{r.floats(name+".weight", n), r.floats(name+".bias", n)}
}

// linear reads layers of n outputs and k inputs and makes one layer of them, whose outputs
// follow one another.
func (r *reader) linear(n, k int, names ...string) *linear.Linear {
	var w, bias []float32
	for _, name := range names {
		w = append(w, r.floats(name+".weight", n, k)...)
		bias = append(bias, r.floats(name+".bias", n)...)
	}
	if r.err != nil {
		return nil
	}
	pack := linear.New
	if r.int8 {
		pack = linear.NewInt8
	}
	l, err := pack(linear.DenseMatrix(w, n*len(names), k), bias)
	if err != nil {
		r.err = fmt.Errorf("encoder: %s: %s%s: %w", r.path, r.prefix, names[0], err)
	}
	return l
}

// floats reads a tensor of the given shape. Numbers of 16 bits are widened, which is exact.
func (r *reader) floats(name string, shape ...int) []float32 {
	if r.err != nil {
		return nil
	}
	name = r.prefix + name
	info, ok := r.file.Info(name)
	got := "nothing"
	if ok {
		got = fmt.Sprintf("%s %v", info.DType, info.Shape)
	}
	if !ok || !slices.Equal(info.Shape, shape) || info.DType != "F32" && info.DType != "F16" && info.DType != "BF16" {
		r.err = &ModelError{r.path, name, got, fmt.Sprintf("F32, F16 or BF16 %v", shape)}
		return nil
	}
	x, err := r.widened(name, info.DType)
	if err != nil {
		r.err = fmt.Errorf("encoder: %s: %w", r.path, err)
	}
	return x
}

func (r *reader) widened(name, dtype string) ([]float32, error) {
	if dtype == "F32" {
		return r.file.Float32(name)
	}
	words, err := r.file.Uint16(name)
	x := make([]float32, len(words))
	for i, w := range words {
		if dtype == "F16" {
			x[i] = kernel.F16(w).Float32()
		} else {
			x[i] = kernel.BF16(w).Float32()
		}
	}
	return x, err
}
