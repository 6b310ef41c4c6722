// Package berttest makes a BERT model of random weights that is small enough for tests without
// real ones.
package berttest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/numeric"
)

// A Model is a BERT encoder before it is written to files. Tests change it to damage them.
type Model struct {
	Config  map[string]any    // of config.json
	Tensors map[string]Tensor // of model.safetensors
	Vocab   []string          // of vocab.txt: the special tokens, a, b, c, ##b and ##c
	Extra   map[string]string // further files by their names
}

// A Tensor is a tensor of float32.
type Tensor struct {
	Shape []int
	Data  []float32
}

// The sizes of the model.
const (
	Width     = 24 // numbers of an embedding
	Inner     = 40 // of the feed-forward network
	Layers    = 2
	Heads     = 3
	Positions = 10 // most tokens; texts are cut to 8
)

// New returns a model whose tensors' names begin with prefix. Its weights are always the same.
func New(prefix string) *Model { return NewSized(prefix, Width, Inner) }

// NewSized is New with other widths: multiples of Heads, and of 32 for layers of 8 bits.
func NewSized(prefix string, width, inner int) *Model {
	m := &Model{
		Vocab: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "##b", "##c"},
		Config: map[string]any{
			"model_type": "bert", "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": Layers,
			"num_attention_heads": Heads, "max_position_embeddings": Positions, "type_vocab_size": 2, "vocab_size": 9,
			"layer_norm_eps": 1e-12, "hidden_act": "gelu", "position_embedding_type": "absolute",
		},
		Tensors: map[string]Tensor{},
		Extra:   map[string]string{"sentence_bert_config.json": `{"max_seq_length": 8}`},
	}
	r := rand.New(rand.NewPCG(5, 6))
	add := func(name string, shape ...int) { m.Tensors[prefix+name] = random(r, shape...) }
	norm := func(name string) { add(name+".weight", width); add(name+".bias", width) }
	dense := func(name string, n, k int) { add(name+".weight", n, k); add(name+".bias", n) }
	add("embeddings.word_embeddings.weight", 9, width)
	add("embeddings.position_embeddings.weight", Positions, width)
	add("embeddings.token_type_embeddings.weight", 2, width)
	norm("embeddings.LayerNorm")
	for i := range Layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			dense(layer+"attention."+name, width, width)
		}
		norm(layer + "attention.output.LayerNorm")
		dense(layer+"intermediate.dense", inner, width)
		dense(layer+"output.dense", width, inner)
		norm(layer + "output.LayerNorm")
	}
	return m
}

// AddClassifier makes the model a cross-encoder with one label.
func (m *Model) AddClassifier() {
	width, r := m.Config["hidden_size"].(int), rand.New(rand.NewPCG(7, 8))
	dense := func(name string, n int) {
		m.Tensors[name+".weight"], m.Tensors[name+".bias"] = random(r, n, width), random(r, n)
	}
	dense("bert.pooler.dense", width)
	dense("classifier", 1)
	m.Config["id2label"] = map[string]string{"0": "LABEL_0"}
}

// random returns numbers that 16 bits hold.
func random(r *rand.Rand, shape ...int) Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = numeric.ToF16(r.Float32() - 0.5).Float32()
	}
	return Tensor{shape, x}
}

// Write writes the files of the model into the folder dir, with weights of the dtype F32, F16,
// BF16 or, for tests of errors, I32.
func (m *Model) Write(dir, dtype string) error {
	config, err := json.Marshal(m.Config)
	if err != nil {
		return err
	}
	weights, err := m.safetensors(dtype)
	if err != nil {
		return err
	}
	files := map[string]string{
		"config.json": string(config), "vocab.txt": strings.Join(m.Vocab, "\n") + "\n", "model.safetensors": weights,
	}
	maps.Copy(files, m.Extra)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// safetensors returns the file of the weights. Its tensors are in the order of their names, so
// that a model always has the same bytes.
func (m *Model) safetensors(dtype string) (string, error) {
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, data := map[string]entry{}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(m.Tensors)) {
		x := m.Tensors[name]
		begin := len(data)
		for _, y := range x.Data {
			switch dtype {
			case "F32":
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(y))
			case "F16":
				data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToF16(y)))
			case "BF16":
				data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToBF16(y)))
			case "I32":
				data = binary.LittleEndian.AppendUint32(data, uint32(y))
			}
		}
		header[name] = entry{dtype, x.Shape, [2]int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + string(text) + string(data), nil
}
