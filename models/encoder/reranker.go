package encoder

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/tokenizer"
)

// LoadReranker reads a cross-encoder: from a folder as Hugging Face has it
// BertForSequenceClassification, and the same of the other encoders but T5; from a GGUF file the
// architecture bert with pooling_type 4. So is a model with a vector for each token in PyLate's
// form, which reads queries and passages apart, see [reranking.Late]. It has one label or several,
// see [reranking.Options]. Everything else is as with [Load]; LoadOptions.Unit has no effect.
func LoadReranker(model string, o LoadOptions) (*reranking.Reranker, error) {
	x, err := open(model, o)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if x.modules.Late != nil {
		e, err := x.load(o)
		if err != nil {
			return nil, err
		}
		return reranking.Late(e.Embedder), nil
	}
	p, err := x.reranker(o)
	if err != nil {
		return nil, err
	}
	return reranking.New(*p), x.Unused()
}

// reranker reads the parts of a reranker.
func (x *origin) reranker(o LoadOptions) (*reranking.Parts, error) {
	h, err := x.head(&tensors.Reader{Store: x.Store})
	if err != nil {
		return nil, err
	}
	m, err := x.read(o)
	if err != nil {
		return nil, err
	}
	typed, err := x.typed()
	if err != nil {
		return nil, err
	}
	return &reranking.Parts{
		Model: &runner{model: m}, Head: h, Typed: typed,
		Prompt: &reranking.TwoTexts{Tokenizer: x.tokenizer, Before: x.modules.Prompts[x.modules.DefaultPrompt]},
		Vocab:  m.Vocab, MaxTokens: x.maxTokens, Positions: x.longest(),
	}, nil
}

// head reads the classifier, or checks it if the reader reads nothing.
func (x *origin) head(r *tensors.Reader) (*reranking.Head, error) {
	w, h := x.model.Width, x.model.Head
	if h == nil {
		return nil, &kernel.Error{Where: x.path + ": the architecture", Got: "one without a known classifier", Want: "a folder of an encoder of transformers with a head for sequence classification"}
	}
	ends, _ := x.tokenizer.EncodePair("", "", tokenizer.Options{Limit: 1})
	if err := x.checkEnds(len(ends)); err != nil {
		return nil, err
	}
	out := &reranking.Head{Pooling: h.Pooling, Late: h.Late, Padding: -1, Activation: h.Activation.Alone}
	if h.Dense != "" {
		m := matrix(r, h.Dense, w, w, h.Bias)
		out.Dense = &m
	}
	if h.Norm != "" {
		a := network.ReadNorm(x.model.Layers[0].Norm, r, h.Norm, w)
		out.Norm = &reranking.Norm{Weight: a.Weight, Bias: a.Bias, Epsilon: a.Epsilon}
	}
	labels := 1
	if info, _ := x.Info(h.Out + ".weight"); len(info.Shape) == 2 && info.Shape[0] > 0 {
		labels = info.Shape[0]
	}
	if out.Out = matrix(r, h.Out, labels, w, true); r.Err() != nil {
		return nil, r.Err()
	}
	names := x.labels
	if x.folder {
		c, err := reranking.ReadConfig(x.path)
		if err != nil {
			return nil, err
		}
		names, out.Identity = c.Labels, c.Identity
	}
	return out, out.SetLabels(x.path, names, labels)
}

// typed tells whether the model is given types of tokens: transformers takes them from the
// tokenizer if its model_input_names have them, as they do unless the tokenizer is of no model's
// own class.
func (x *origin) typed() (bool, error) {
	if types := x.model.Embed.Types; types < 2 || !x.folder {
		return types > 1, nil // in GGUF files only BERT's tokenizer gives them
	}
	var c struct {
		Class  string   `json:"tokenizer_class"`
		Inputs []string `json:"model_input_names"`
	}
	if err := folder.ReadJSON(filepath.Join(folder.Transformer(x.path), "tokenizer_config.json"), &c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if c.Inputs != nil {
		return slices.Contains(c.Inputs, "token_type_ids"), nil
	}
	return c.Class != "TokenizersBackend", nil
}

// matrix reads a layer of the classifier.
func matrix(r *tensors.Reader, name string, n, k int, biased bool) (m reranking.Matrix) {
	m.Weight = r.Floats(name+".weight", n, k)
	if biased {
		m.Bias = r.Floats(name+".bias", n)
	}
	return m
}
