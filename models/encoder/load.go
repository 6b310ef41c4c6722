package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/adapters"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/models/weights"
)

// LoadOptions are settings of a model that change its results. The zero value is the model as it
// is.
type LoadOptions = embedding.LoadOptions

// Architectures lists what [Load] takes: model_type of a config.json and general.architecture of a
// GGUF file.
func Architectures() (folders, files []string) {
	return slices.Sorted(slices.Values(settings.Encoders.Types())), settings.Encoders.Files()
}

// Load reads an embedding model from a folder as Hugging Face and sentence-transformers have it,
// from a GGUF file, or from one that [weights.Resolve] finds by its name, such as all-MiniLM-L6-v2
// where attn fetch puts it. A folder has
//
//	config.json         with a model_type that [Architectures] lists
//	model.safetensors   or the shards of its index, or pytorch_model.bin or its shards: float32,
//	                    float16 or bfloat16, which stay as they are
//	tokenizer.json      or vocab.txt, see package tokenizer
//	modules.json        and what it names, see [embedding.Modules]: the transformer's files may
//	                    lie in a folder. Without it a vector is the pooling divided by its L2 norm
//	sparse_linear.pt    optional: weights of tokens of bge-m3, see [embedding.Embedder.Sparse]
//	colbert_linear.pt   optional: vectors of tokens, see [embedding.Embedder.DocumentVectors]
//
// No code in files of PyTorch runs. A GGUF file has the architecture bert, jina-bert-v2, nomic-bert
// or nomic-bert-moe, weights of any type that package gguf converts, a tokenizer and a pooling. Its
// vectors are divided by their L2 norm. Files of bert do not name the activation, which is GELU as
// BERT has it.
//
// Every tensor and module is used, or the error is a [*kernel.Error] that names it, as it is if one
// is missing or does not fit. With a Precision of int8 and widths that are no multiples of 32 it is
// a [*kernel.Error]. Errors of the tokenizer come from package tokenizer. If the folder or either
// of the first two files is missing, errors.Is finds [fs.ErrNotExist] in it.
func Load(model string, o LoadOptions) (*Encoder, error) {
	x, err := open(model, o)
	if err != nil {
		return nil, err
	}
	defer x.close()
	return x.load(o)
}

// load reads an embedding model.
func (x *origin) load(o LoadOptions) (*Encoder, error) {
	m, err := x.read(o)
	if err != nil {
		return nil, err
	}
	for _, name := range x.Names() {
		if strings.HasPrefix(name, "classifier.") || strings.HasPrefix(name, "cls.output.") {
			return nil, &kernel.Error{Where: x.path + ": " + name, Got: describe(x.Store, name), Want: "an embedding model; this one is for LoadReranker"}
		}
	}
	if err := x.Unused(); err != nil {
		return nil, err
	}
	steps, err := embedding.ReadSteps(x.path, x.modules, m.Outputs(), o)
	if err != nil {
		return nil, err
	}
	sparse, err := x.readSparse(m.Outputs(), nil)
	if err != nil {
		return nil, err
	}
	tokens, err := x.readTokens(m.Outputs())
	if err != nil {
		return nil, err
	}
	n := &runner{model: m}
	parts := embedding.Parts{
		Model: n, Tokenizer: x.tokenizer, Drop: -1, Modules: x.modules, Steps: steps, Sparse: sparse, Tokens: tokens,
		Vocab: m.Vocab, Width: m.Outputs(), MaxTokens: x.maxTokens, Positions: x.longest(),
	}
	if x.modules.Late == nil {
		return &Encoder{Embedder: embedding.New(parts), net: n}, nil
	}
	e, err := x.lateEmbedder(parts)
	if err != nil {
		return nil, err
	}
	return &Encoder{Embedder: e, net: n}, nil
}

// lateEmbedder returns the embedder of a model of late interaction.
func (x *origin) lateEmbedder(parts embedding.Parts) (*embedding.Embedder, error) {
	e, err := embedding.NewLate(parts)
	if err == nil {
		err = x.checkLate(x.modules.Late)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.path, err)
	}
	return e, nil
}

// checkLate reports layers in which a token that fills up a query may see none of it, or that
// cannot hide these tokens.
func (x *origin) checkLate(l *embedding.Late) error {
	for _, a := range x.model.Attentions() {
		if l.Expand && !l.Attend && (a.Apart != nil || a.Window > 0 && a.Window < l.QueryLength) {
			return &kernel.Error{Where: "config_sentence_transformers.json: do_query_expansion", Got: fmt.Sprintf("true with %d tokens of a query", l.QueryLength), Want: "layers that see as many tokens to each side, without positions apart"}
		}
	}
	return nil
}

// An origin is the files of a model: a folder or a GGUF file.
type origin struct {
	*tensors.Store
	path      string
	model     *arch.Model
	positions int    // that tokens may have
	limits    string // what says so in the files
	modules   *embedding.Modules
	tokenizer *tokenizer.Tokenizer
	maxTokens int
	folder    bool     // and not a file
	labels    []string // of a GGUF file
	close     func() error
}

// open reads what the files of a model and its adapters say. The caller closes the origin.
func open(model string, o LoadOptions) (*origin, error) {
	if err := (kernel.Exec{}).Check(); err != nil {
		return nil, err // of ATTN_TIER, which no file is to blame for
	}
	path, err := weights.Resolve(model)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return openGGUF(path, o)
	}
	return openFolder(path, o)
}

// describe returns the type and shape of a tensor.
func describe(s *tensors.Store, name string) string {
	info, _ := s.Info(name)
	return info.String()
}

func openFolder(dir string, o LoadOptions) (*origin, error) {
	modules, err := folder.ReadModules(dir)
	if err != nil {
		return nil, err
	}
	at := folder.Transformer(dir)
	if _, err := os.Stat(filepath.Join(at, configName)); err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	s, err := tensors.Open(at)
	if err != nil {
		return nil, err
	}
	x := &origin{Store: s, path: dir, modules: modules, folder: true, close: s.Close}
	if err := adapters.Merge(s, "", o.LoRA, kernel.Exec{}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := x.readFolder(folder.At(at)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return x, nil
}

// readFolder reads the model and the tokenizer of a folder.
func (x *origin) readFolder(f *folder.Folder) (err error) {
	if x.model, err = readConfig(f); err != nil {
		return err
	}
	if e, ok := x.model.Layers[min(1, len(x.model.Layers)-1)].Feed.(*arch.Experts); ok {
		x.SeparateRows(e.Count, e.Inner)
	}
	if x.tokenizer, err = tokenizer.Load(f.Dir()); err != nil {
		return fmt.Errorf("encoder: %s: %w", f.Dir(), err)
	}
	if n := x.model.Vocab; x.tokenizer.Len() > n {
		return &kernel.Error{Where: f.Path(configName) + ": vocab_size", Got: strconv.Itoa(n), Want: fmt.Sprintf("at least %d, the tokens of the tokenizer", x.tokenizer.Len())}
	}
	if x.modules.Lower {
		if x.tokenizer, err = x.tokenizer.Lower(); err != nil {
			return fmt.Errorf("encoder: %s: %w", f.Dir(), err)
		}
	}
	x.readLength()
	x.limits = f.Path(configName) + ": max_position_embeddings"
	return x.checkEnds(len(x.tokenizer.Encode("", tokenizer.Options{Limit: 1})))
}

// checkEnds reports that the tokens around texts, of which there are so many, have more positions
// than the model.
func (x *origin) checkEnds(n int) error {
	if most := x.longest(); n > most {
		return &kernel.Error{Where: x.limits, Got: fmt.Sprintf("%d positions of tokens", most), Want: fmt.Sprintf("%d or more, for the tokens around a text", n)}
	}
	return nil
}

// readLength finds out to how many tokens a text is cut: to max_seq_length if that is said, or else
// to the length of the tokenizer or the positions of the model, the smaller one. Rotary positions
// go on for ever, so that max_seq_length may be more than the model was trained for. So do the
// positions of T5, and of DeBERTa without a table, up to settings.MostApart. A table ends, where
// sentence-transformers fails with a longer text: here it is cut.
func (x *origin) readLength() {
	n := x.modules.MaxTokens
	if x.positions = cmp.Or(x.model.Embed.Table, x.model.Context); x.model.Embed.Table == 0 {
		x.positions = max(x.positions, n)
		if a := x.model.Layers[0].Attention(); a.Apart != nil || a.Relative > 0 {
			x.positions = min(x.positions, settings.MostApart)
		}
	}
	x.maxTokens = x.longest()
	if n = cmp.Or(n, x.modules.TokenizerMax); n > 0 {
		x.maxTokens = min(n, x.maxTokens)
	}
}

// longest returns the most tokens that a text may have.
func (x *origin) longest() int { return x.positions - x.model.Embed.Padding - 1 }

const configName = "config.json"

// readConfig reads config.json of a folder.
func readConfig(f *folder.Folder) (*arch.Model, error) {
	return settings.Encoders.ReadFolder(f.Dir(), func(key, got, want string) error {
		return &kernel.Error{Where: f.Path(configName) + ": " + key, Got: got, Want: want}
	})
}
