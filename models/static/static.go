// Package static makes embeddings of texts with tables of vectors, without a transformer: a vector
// is the mean of the tokens' vectors. It reads the folders of model2vec and of
// sentence-transformers' StaticEmbedding.
package static

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/models/weights"
)

// The architectures: model_type of model2vec's config.json, and the module of
// sentence-transformers.
const (
	Model2Vec       = "model2vec"
	StaticEmbedding = "StaticEmbedding"
)

const (
	defaultMax = 512 // tokens of a text, as in model2vec
	most       = strict.Most
)

// Load reads a table of vectors from a folder, found as [weights.Resolve] does:
//
//	config.json         of model2vec: normalize says whether vectors are divided by their L2 norm,
//	                    max_length to how many tokens texts are cut: 512 if it is missing, none if
//	                    it is null
//	modules.json        of sentence-transformers: StaticEmbedding, in this folder or below it, and
//	                    Normalize; with config_sentence_transformers.json, see
//	                    [embedding.Modules]. Without config.json texts are cut as tokenizer.json
//	                    says
//	model.safetensors   embeddings or embedding.weight [rows, width], of float32, float16 or
//	                    bfloat16; mapping [tokens], the row of each token if it is not the id;
//	                    weights [tokens], which rows are multiplied with
//	tokenizer.json      see package tokenizer
//
// Texts get no tokens around them, and texts of model2vec lose the tokens that stand for unknown
// words, after the cut as in its version 0.10; that this version looks only at the first max_length
// times the median length of a token characters, for speed, is not so here. A text without tokens
// has a vector of zeros. Every tensor is used and every key of config.json is known, or the error
// is a [*kernel.Error] that names it.
func Load(model string, o embedding.LoadOptions) (*embedding.Embedder, error) {
	if err := o.Precision.Check("LoadOptions.Precision"); err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	if len(o.LoRA) > 0 {
		return nil, &kernel.Error{Where: "static: LoadOptions.LoRA", Got: "adapters of a table of vectors", Want: "none"}
	}
	m, err := read(model)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	m.Meter = loading.New(m.Bytes(), o.Progress)
	if err := m.load(); err != nil {
		return nil, err
	}
	if err := m.End(); err != nil {
		return nil, err
	}
	t, err := tokenizer.Load(m.dir)
	if err != nil {
		return nil, fmt.Errorf("static: %s: %w", m.dir, err)
	}
	if t.Len() > m.vocab {
		return nil, &kernel.Error{Where: m.dir + ": tokenizer.json", Got: fmt.Sprintf("%d tokens", t.Len()), Want: fmt.Sprintf("at most %d, which have vectors", m.vocab)}
	}
	steps, err := embedding.ReadSteps(m.dir, m.modules, m.width, o)
	if err != nil {
		return nil, err
	}
	p := embedding.Parts{
		Model: &m.table, Tokenizer: t, NoSpecial: true, Drop: -1, Modules: m.modules, Steps: steps,
		Vocab: m.vocab, Width: m.width, MaxTokens: m.maxTokens, Positions: most, Empty: true,
	}
	if id, ok := t.Role(tokenizer.RoleUnknown); ok && m.dropUnknown {
		p.Drop = id
	}
	return embedding.New(p), nil
}

// A table has the vectors of tokens.
type table struct {
	rows    []float32 // [_, width]
	mapping []int32   // of each id; nil if rows have the order of ids
	weights []float32 // of each id, or nil
	width   int
}

// States copies the vectors of the tokens of each text.
func (t *table) States(ctx context.Context, ids, _ [][]int32, _ *embedding.Options, _ embedding.Pooling, each func(text int, states []float32) error) error {
	var x []float32
	for i, text := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x = x[:0]
		for _, id := range text {
			row := id
			if t.mapping != nil {
				row = t.mapping[id]
			}
			x = append(x, t.rows[int(row)*t.width:][:t.width]...)
			if t.weights != nil {
				for j, y := range x[len(x)-t.width:] {
					x[len(x)-t.width+j] = float32(y * t.weights[id])
				}
			}
		}
		if err := each(i, x); err != nil {
			return err
		}
	}
	return nil
}

// A model is the files of a table.
type model struct {
	*tensors.Reader
	table
	dir         string // of the tensors
	name        string // of the tensor
	count       int    // of rows
	vocab       int    // of ids
	dropUnknown bool
	maxTokens   int // of a text, before the unknown ones are dropped
	modules     *embedding.Modules
}

// read reads what a folder says, without the vectors. The caller closes it.
func read(name string) (*model, error) {
	dir, err := weights.Resolve(name)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	m := &model{maxTokens: defaultMax, modules: &embedding.Modules{Listed: true, Poolings: []embedding.Pooling{embedding.PoolMean}}}
	at, err := m.readModules(dir)
	if err != nil {
		return nil, err
	}
	if err := folder.ReadSettings(dir, m.modules); err != nil {
		return nil, err
	}
	if err := m.readConfig(dir, at); err != nil {
		return nil, err
	}
	s, err := tensors.Open(at)
	if err != nil {
		return nil, err
	}
	m.Reader, m.dir = &tensors.Reader{Store: s}, at
	if err := m.sizes(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// readModules reads modules.json, if there is one, and returns the folder of the table.
func (m *model) readModules(dir string) (string, error) {
	list, err := folder.ReadList(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	} else if err != nil {
		return "", err
	}
	at := dir
	for i, x := range list {
		kind := x.Type[strings.LastIndex(x.Type, ".")+1:]
		switch {
		case i == 0 && kind == StaticEmbedding:
			at = filepath.Join(dir, filepath.FromSlash(x.Path))
		case i > 0 && kind == "Normalize":
			m.modules.After = []embedding.Module{{}}
		default:
			return "", &kernel.Error{Where: filepath.Join(dir, "modules.json") + ": " + fmt.Sprintf("module %d", i), Got: fmt.Sprintf("%q", x.Type), Want: "StaticEmbedding, and then Normalize or nothing"}
		}
	}
	return at, nil
}

// ofModel2Vec are keys of config.json that say how model2vec has made the table. Its versions up to
// 0.10 write them, and read none of them; how many rows and columns there are the tensors say.
var ofModel2Vec = strict.Table{}.Add(strict.Any, "tokenizer_name", "apply_pca", "apply_zipf", "sif_coefficient", "pooling", "hidden_dim",
	"seq_length", "embedding_dtype", "vocabulary_quantization")

// readConfig reads config.json of model2vec. A StaticEmbedding has none: the file of its tokenizer
// says to how many tokens it cuts texts, or it does not cut them.
func (m *model) readConfig(dir, at string) (err error) {
	const name = "config.json"
	s := strict.ReadJSON(dir, name, &err, func(key, got, want string) error {
		return &kernel.Error{Where: filepath.Join(dir, name) + ": " + key, Got: got, Want: want}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return m.readTruncation(filepath.Join(at, "tokenizer.json"))
	} else if err != nil {
		return err
	}
	m.dropUnknown = s.Text("model_type") == Model2Vec
	switch {
	case s.Has("max_length"):
		m.maxTokens = s.Size("max_length", 0)
	case s.Given("max_length"): // null: texts are not cut
		m.maxTokens = most
	}
	if s.Has("normalize") { // what model2vec goes by
		if m.modules.After = nil; s.Yes("normalize") {
			m.modules.After = []embedding.Module{{}}
		}
	}
	s.Unknown(strict.Config, ofModel2Vec)
	return err
}

// readTruncation reads to how many tokens the file of a tokenizer cuts texts.
func (m *model) readTruncation(path string) error {
	var c struct {
		Truncation *struct {
			Max int `json:"max_length"`
		} `json:"truncation"`
	}
	if err := folder.ReadJSON(path, &c); err != nil && !errors.Is(err, fs.ErrNotExist) { // which the tokenizer reports
		return err
	}
	m.maxTokens = most
	if c.Truncation != nil {
		m.maxTokens = c.Truncation.Max
	}
	if m.maxTokens < 1 || m.maxTokens > most {
		return &kernel.Error{Where: path + ": truncation.max_length", Got: fmt.Sprint(m.maxTokens), Want: fmt.Sprintf("1 to %d", most)}
	}
	return nil
}

// sizes finds the table and how large it is.
func (m *model) sizes() error {
	m.name = "embeddings"
	if _, ok := m.Info(m.name); !ok {
		m.name = "embedding.weight"
	}
	info, ok := m.Info(m.name)
	if !ok || len(info.Shape) != 2 || info.Shape[0] < 1 || info.Shape[1] < 1 || info.Shape[0] > most || info.Shape[1] > 1<<20 {
		return m.Bad(m.name, "a matrix [rows, width]")
	}
	m.count, m.width = info.Shape[0], info.Shape[1]
	m.vocab = m.count
	for _, name := range []string{"mapping", "weights"} {
		if info, ok := m.Info(name); ok && len(info.Shape) == 1 && info.Shape[0] >= 1 && info.Shape[0] <= most {
			m.vocab = info.Shape[0]
			break
		}
	}
	return nil
}

// integers are the types of the mapping.
var integers = []gguf.Type{gguf.I64, gguf.I32}

// load reads the tensors, or notes them if nothing is read.
func (m *model) load() error {
	m.rows = m.Floats(m.name, m.count, m.width)
	if m.Has("mapping") {
		m.readMapping(m.Raw("mapping", integers, m.vocab))
	} else if m.vocab != m.count {
		m.Fail(m.Bad("weights", fmt.Sprintf("%d numbers, as there are rows", m.count)))
	}
	if info, ok := m.Info("weights"); ok && info.Type == gguf.F64 {
		m.readWeights(m.Raw("weights", []gguf.Type{gguf.F64}, m.vocab))
	} else if ok {
		m.weights = m.Floats("weights", m.vocab)
	}
	return m.Done()
}

// readMapping reads the rows of tokens.
func (m *model) readMapping(data []byte, of gguf.Type) {
	size := len(data) / m.vocab
	if size == 0 {
		return
	}
	m.mapping = make([]int32, m.vocab)
	for i := range m.mapping {
		row := int64(int32(binary.LittleEndian.Uint32(data[i*size:])))
		if of == gguf.I64 {
			row = int64(binary.LittleEndian.Uint64(data[i*size:]))
		}
		if row < 0 || row >= int64(m.count) {
			m.Fail(&kernel.Error{Where: m.Where("mapping"), Got: fmt.Sprintf("row %d for token %d", row, i), Want: fmt.Sprintf("0 to %d", m.count-1)})
			return
		}
		m.mapping[i] = int32(row)
	}
}

// readWeights reads weights of float64.
func (m *model) readWeights(data []byte, _ gguf.Type) {
	m.weights = make([]float32, len(data)/8)
	for i := range m.weights {
		m.weights[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
	}
}

func init() { inventory.Static = inspect }

// inspect says what [Load] would read of a model, without reading the vectors.
func inspect(name, _ string) (*inventory.Inventory, error) {
	m, err := read(name)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	v := &inventory.Inventory{}
	v.Size("width", m.width)
	v.Size("rows", m.count)
	v.Size("vocabulary", m.vocab)
	m.Dry = v
	v.Problem(m.load())
	_, v.Tokenizer = tokenizer.Load(m.dir)
	return v, nil
}
