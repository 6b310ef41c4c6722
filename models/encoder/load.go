package encoder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/models/weights"
)

// Load reads an embedding model from a folder as Hugging Face and sentence-transformers have it, or from one
// that [weights.Resolve] finds by its name, such as all-MiniLM-L6-v2 where make models puts it:
//
//	config.json          model_type bert, distilbert, roberta, xlm-roberta, mpnet, nomic_bert or modernbert
//	model.safetensors    or shards, see [folder.Open]: float32, float16 or bfloat16, which are widened
//	tokenizer.json       or vocab.txt, see package tokenizer
//	modules.json         and what it names, see [folder.Modules]; without it a vector is the pooling divided by its L2 norm
//
// Every tensor and module is used, or the error is a [*folder.Error] that names it, as it is if one is
// missing or does not fit. Errors of the tokenizer are those of package tokenizer. If the folder or one of the
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

	// Unit divides vectors by their L2 norms also if modules.json does not ask for that.
	Unit bool
}

// LoadWith is [Load] with options.
func LoadWith(model string, o LoadOptions) (*Encoder, error) {
	e, f, err := open(model, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, name := range f.Names() {
		if strings.HasPrefix(name, "classifier.") {
			info, _ := f.Info(name)
			return nil, &folder.Error{Path: f.Dir(), Name: name, Got: fmt.Sprintf("%s %v", info.DType, info.Shape), Want: "an embedding model; this one is for LoadReranker"}
		}
	}
	if err := f.Unused(); err != nil {
		return nil, err
	}
	return e, e.readAfter(o)
}

// open reads a model and its tokenizer. The caller closes the folder, and sees to it that all
// tensors are used.
func open(model string, o LoadOptions) (*Encoder, *folder.Folder, error) {
	dir, err := weights.Resolve(model)
	if err != nil {
		return nil, nil, fmt.Errorf("encoder: %w", err)
	}
	modules, err := folder.ReadModules(dir)
	if err != nil {
		return nil, nil, err
	}
	if modules.Root != "" && modules.Root != "." {
		return nil, nil, &folder.Error{Path: dir, Name: "modules.json", Got: "a transformer in the folder " + modules.Root, Want: "one in the folder itself"}
	}
	if _, err := os.Stat(filepath.Join(dir, configName)); err != nil {
		return nil, nil, fmt.Errorf("encoder: %w", err)
	}
	f, err := folder.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	e, err := read(f, modules, o)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return e, f, nil
}

func read(f *folder.Folder, modules *folder.Modules, o LoadOptions) (*Encoder, error) {
	s, err := readSpec(f)
	if err != nil {
		return nil, err
	}
	m, r := readModel(f, s, o)
	if r.err != nil {
		return nil, r.err
	}
	t, err := tokenizer.Load(f.Dir())
	if err != nil {
		return nil, fmt.Errorf("encoder: %s: %w", f.Dir(), err)
	}
	if t.Len() > s.Vocab {
		return nil, &folder.Error{Path: f.Path(configName), Name: "vocab_size", Got: strconv.Itoa(s.Vocab), Want: fmt.Sprintf("at least %d, the tokens of the tokenizer", t.Len())}
	}
	e := &Encoder{model: m, tokenizer: t, modules: modules, dir: f.Dir(), free: &sync.Pool{New: func() any { return &scratch{} }}}
	e.maxTokens = s.longest()
	if n := modules.MaxTokens; n > e.maxTokens && s.names.positions != "" {
		return nil, &folder.Error{Path: f.Path("sentence_bert_config.json"), Name: "max_seq_length", Got: strconv.Itoa(n), Want: fmt.Sprintf("2 to %d, the positions of the model", e.maxTokens)}
	} else if n > 0 {
		e.maxTokens = min(n, e.maxTokens)
	}
	return e, nil
}

// longest returns the most tokens that a text may have.
func (s *spec) longest() int { return s.Positions - s.padding - 1 }

// An after is a step that follows the pooling: a linear layer, or the division by the L2 norm.
type after struct {
	dense      *dense
	activation activation
}

// readAfter reads the modules that follow the pooling.
func (e *Encoder) readAfter(o LoadOptions) error {
	e.width = e.model.Width
	normalised := false
	for _, m := range e.modules.After {
		normalised = m.Dense == nil
		if normalised {
			e.after = append(e.after, after{})
			continue
		}
		a, err := e.readDense(m.Dense, o)
		if err != nil {
			return err
		}
		e.after = append(e.after, a)
	}
	if !normalised && (o.Unit || !e.modules.Listed) {
		e.after = append(e.after, after{})
	}
	return nil
}

func (e *Encoder) readDense(d *folder.Dense, o LoadOptions) (after, error) {
	act, ok := ofModules[d.Activation]
	if !ok || d.In != e.width {
		return after{}, &folder.Error{Path: e.dir, Name: d.Folder, Got: fmt.Sprintf("%d inputs and the activation %q", d.In, d.Activation), Want: fmt.Sprintf("%d inputs, and Identity, Tanh, ReLU, GELU or SiLU", e.width)}
	}
	at, err := weights.Resolve(e.dir + "/" + d.Folder)
	if err != nil {
		return after{}, err
	}
	f, err := folder.Open(at)
	if err != nil {
		return after{}, err
	}
	defer f.Close()
	r := &reader{Folder: f, int8: o.Int8}
	l := r.linear(d.Out, d.In, d.Bias, 0, "linear")
	if err := errors.Join(r.err, f.Unused()); err != nil {
		return after{}, err
	}
	e.width = d.Out
	return after{&dense{l, d.Out}, act}, nil
}
