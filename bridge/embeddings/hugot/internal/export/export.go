// Package export writes the ONNX file of a BERT encoder, which hugot reads, from the
// safetensors file that package encoder reads. So both compute with the same weights. The graph
// is the one that PyTorch exports: last_hidden_state of input_ids, attention_mask and
// token_type_ids.
package export

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/models/safetensors"
)

// config has what config.json says of the model.
type config struct {
	Layers    int64   `json:"num_hidden_layers"`
	Width     int64   `json:"hidden_size"`
	Heads     int64   `json:"num_attention_heads"`
	FFN       int64   `json:"intermediate_size"`
	Vocab     int64   `json:"vocab_size"`
	Positions int64   `json:"max_position_embeddings"`
	Types     int64   `json:"type_vocab_size"`
	Epsilon   float32 `json:"layer_norm_eps"`
}

// exporter adds the parts of a model to a graph. Its first error stays.
type exporter struct {
	config
	graph
	file *safetensors.File
	err  error
}

// Folder makes a folder for hugot of one that package encoder reads: an ONNX file, and the
// files about the tokenizer and the sizes.
func Folder(to, from string) error {
	for _, name := range []string{"config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o666)
		}
		if err != nil {
			return err
		}
	}
	data, err := model(from)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "model.onnx"), data, 0o666)
}

// model returns the ONNX file of the model in a folder.
func model(folder string) ([]byte, error) {
	e := &exporter{}
	data, err := os.ReadFile(filepath.Join(folder, "config.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &e.config); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if e.file, err = safetensors.Open(filepath.Join(folder, "model.safetensors")); err != nil {
		return nil, err
	}
	defer e.file.Close()
	e.constants()
	x := e.embeddings()
	for i := range e.Layers {
		x = e.layer(x, fmt.Sprintf("encoder.layer.%d.", i))
	}
	e.node("Identity", "last_hidden_state", []string{x})
	e.string(2, "bert")
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		e.bytes(11, value(name, typeInt64, "batch", "sequence"))
	}
	e.bytes(12, value("last_hidden_state", typeFloat, "batch", "sequence", e.Width))
	return e.graph.model(), e.err
}

// constants adds numbers that several nodes use.
func (e *exporter) constants() {
	e.ints("zero", []int64{0}, 1)
	e.ints("one", []int64{1}, 1)
	e.ints("index 1", []int64{1})
	e.ints("axes 1 2", []int64{1, 2}, 2)
	e.ints("split heads", []int64{0, 0, e.Heads, e.Width / e.Heads}, 4)
	e.ints("join heads", []int64{0, 0, e.Width}, 3)
	e.floats("1.0", []float32{1})
	e.floats("0.5", []float32{0.5})
	e.floats("sqrt 2", []float32{float32(math.Sqrt2)})
	e.floats("sqrt d", []float32{float32(math.Sqrt(float64(e.Width / e.Heads)))})
	e.floats("lowest", []float32{-math.MaxFloat32})
	positions := make([]int64, e.Positions)
	for i := range positions {
		positions[i] = int64(i)
	}
	e.ints("positions", positions, 1, e.Positions)
}

// tensor adds a tensor of the file.
func (e *exporter) tensor(name string, shape ...int64) string {
	x, err := e.file.Float32(name)
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return name
	}
	e.floats(name, x, shape...)
	return name
}

// linear adds x·Wᵀ + b. ONNX wants the weights transposed.
func (e *exporter) linear(x, name string, out, in int64) string {
	w, err := e.file.Float32(name + ".weight")
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return name
	}
	t := make([]float32, len(w))
	for i := range out {
		for j := range in {
			t[j*out+i] = w[i*in+j]
		}
	}
	e.floats(name+".weight", t, in, out)
	product := e.node("MatMul", name+".MatMul", []string{x, name + ".weight"})
	return e.node("Add", name+".Add", []string{product, e.tensor(name+".bias", out)})
}

// norm adds LayerNorm.
func (e *exporter) norm(x, name string) string {
	return e.node("LayerNormalization", name, []string{x, e.tensor(name+".weight", e.Width), e.tensor(name+".bias", e.Width)},
		attribute{"axis", int64(-1)}, attribute{"epsilon", e.Epsilon})
}

// embeddings adds the embeddings of words, positions and types, and the mask.
func (e *exporter) embeddings() string {
	shape := e.node("Shape", "shape", []string{"input_ids"})
	length := e.node("Gather", "length", []string{shape, "index 1"}, attribute{"axis", int64(0)})
	end := e.node("Unsqueeze", "end", []string{length, "zero"})
	ids := e.node("Slice", "position_ids", []string{"positions", "zero", end, "one", "one"})
	gather := func(name string, rows int64, index string) string {
		table := e.tensor("embeddings."+name+"_embeddings.weight", rows, e.Width)
		return e.node("Gather", name, []string{table, index}, attribute{"axis", int64(0)})
	}
	words := gather("word", e.Vocab, "input_ids")
	types := gather("token_type", e.Types, "token_type_ids")
	sum := e.node("Add", "words+types", []string{words, types})
	sum = e.node("Add", "embeddings", []string{sum, gather("position", e.Positions, ids)})

	mask := e.node("Unsqueeze", "mask.Unsqueeze", []string{"attention_mask", "axes 1 2"})
	mask = e.node("Cast", "mask.Cast", []string{mask}, attribute{"to", int64(typeFloat)})
	mask = e.node("Sub", "mask.Sub", []string{"1.0", mask})
	e.node("Mul", "mask", []string{mask, "lowest"})
	return e.norm(sum, "embeddings.LayerNorm")
}

// layer adds a layer of the encoder.
func (e *exporter) layer(x, name string) string {
	heads := func(part string, axes ...int64) string {
		y := e.linear(x, name+"attention.self."+part, e.Width, e.Width)
		y = e.node("Reshape", name+part+".Reshape", []string{y, "split heads"})
		return e.node("Transpose", name+part+".Transpose", []string{y}, attribute{"perm", axes})
	}
	q, k, v := heads("query", 0, 2, 1, 3), heads("key", 0, 2, 3, 1), heads("value", 0, 2, 1, 3)
	scores := e.node("MatMul", name+"scores", []string{q, k})
	scores = e.node("Div", name+"scores.Div", []string{scores, "sqrt d"})
	scores = e.node("Add", name+"scores.Add", []string{scores, "mask"})
	weights := e.node("Softmax", name+"weights", []string{scores}, attribute{"axis", int64(-1)})
	out := e.node("MatMul", name+"out", []string{weights, v})
	out = e.node("Transpose", name+"out.Transpose", []string{out}, attribute{"perm", []int64{0, 2, 1, 3}})
	out = e.node("Reshape", name+"out.Reshape", []string{out, "join heads"})
	out = e.linear(out, name+"attention.output.dense", e.Width, e.Width)
	x = e.norm(e.node("Add", name+"attention.residual", []string{out, x}), name+"attention.output.LayerNorm")

	y := e.gelu(e.linear(x, name+"intermediate.dense", e.FFN, e.Width), name+"gelu")
	y = e.linear(y, name+"output.dense", e.Width, e.FFN)
	return e.norm(e.node("Add", name+"residual", []string{y, x}), name+"output.LayerNorm")
}

// gelu adds x·(1 + erf(x/√2))/2.
func (e *exporter) gelu(x, name string) string {
	y := e.node("Div", name+".Div", []string{x, "sqrt 2"})
	y = e.node("Erf", name+".Erf", []string{y})
	y = e.node("Add", name+".Add", []string{y, "1.0"})
	y = e.node("Mul", name+".Mul", []string{x, y})
	return e.node("Mul", name+".half", []string{y, "0.5"})
}
