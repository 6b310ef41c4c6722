package encoder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Reranker is a cross-encoder: a model that reads a query and a passage together and says how well
// they fit. It is immutable: any number of goroutines may use it at once.
type Reranker struct {
	net        *network
	tokenizer  *tokenizer.Tokenizer
	maxTokens  int
	opts       Options
	dense, out matrix // [Width, Width], [1, Width]
	activation activations.Function
	types      bool // a passage has tokens of another type than the query
}

// LoadReranker reads a cross-encoder with one label: from a folder as Hugging Face has it
// BertForSequenceClassification, and the same of DistilBERT, RoBERTa, XLM-RoBERTa, MPNet and gte's new; from a GGUF
// file the architecture bert with pooling_type 4. Everything else is as with [Load]; LoadOptions.Unit has no effect.
func LoadReranker(model string, o LoadOptions) (*Reranker, error) {
	x, err := open(model)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if len(x.spec.heads) == 0 {
		return nil, &folder.Error{Path: x.path, Name: "the architecture", Got: "one without a known classifier", Want: "a folder of bert, distilbert, roberta, xlm-roberta, mpnet or new"}
	}
	m, err := x.read(o)
	if err != nil {
		return nil, err
	}
	r := &Reranker{net: &network{model: m}, tokenizer: x.tokenizer, maxTokens: x.maxTokens}
	if err := r.readHead(x); err != nil {
		return nil, err
	}
	return r, x.Unused()
}

// readHead reads the classifier.
func (r *Reranker) readHead(x *origin) error {
	w, h := r.net.Width, x.spec.heads[0]
	from := &reader{source: x.source, path: x.path}
	r.dense, r.activation = from.matrix(h.dense, w, w), h.activation
	r.out = from.matrix(h.out, 1, w)
	if from.err != nil {
		return from.err
	}
	if _, ok := x.source.(*ggufSource); ok {
		r.types = r.net.Types > 1 // which the tokenizer of BERT gives, and those of others have no second one
		return nil
	}
	return r.readTypes(folder.Transformer(x.path))
}

// readTypes tells whether the model is given types of tokens: transformers takes them from the
// tokenizer if its model_input_names have them, as they do unless the tokenizer is of no model's own class.
func (r *Reranker) readTypes(dir string) error {
	var c struct {
		Class  string   `json:"tokenizer_class"`
		Inputs []string `json:"model_input_names"`
	}
	if err := folder.ReadJSON(filepath.Join(dir, "tokenizer_config.json"), &c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.types = r.net.Types > 1 && c.Class != "TokenizersBackend"
	if c.Inputs != nil {
		r.types = r.net.Types > 1 && slices.Contains(c.Inputs, "token_type_ids")
	}
	return nil
}

// A matrix is a linear layer of which one row is computed for every text, with sums of float64: a
// score is one number, whose error nothing averages.
type matrix struct{ weight, bias []float32 }

func (r *reader) matrix(name string, n, k int) matrix {
	return matrix{r.floats(name+".weight", n, k), r.floats(name+".bias", n)}
}

// apply returns the outputs for one row, summed up in float64 from the bias and the first input on.
func (m matrix) apply(x []float32) []float32 {
	y := make([]float32, len(m.bias))
	for i := range y {
		sum := float64(m.bias[i])
		for j, w := range m.weight[i*len(x):][:len(x)] {
			sum += float64(float64(w) * float64(x[j]))
		}
		y[i] = float32(sum)
	}
	return y
}

// With returns a Reranker with other settings that shares the weights. Options.RefuseLong has no effect.
func (r *Reranker) With(opts Options) *Reranker {
	s := *r
	s.opts = opts
	return &s
}

// MaxTokens returns the number of tokens to which a query and a passage together are cut.
func (r *Reranker) MaxTokens() int { return r.maxTokens }

// CountTokens returns how many tokens a query and a passage have together. If these are more than
// [Reranker.MaxTokens], tokens at the end of the longer one are left out.
func (r *Reranker) CountTokens(query, passage string) int {
	ids, _ := r.tokenizer.EncodePair(query, passage, tokenizer.Options{})
	return len(ids)
}

// Score returns a number for every passage: the higher, the better it answers the query. It is the
// output of the classifier; 1/(1+e^-score) is what sentence-transformers' CrossEncoder prints. A
// score has the same bits whatever other passages are in the call. Errors are those of [embedding.Embedder.Embed].
func (r *Reranker) Score(ctx context.Context, query string, passages []string) ([]float32, error) {
	pairs, err := r.Pairs(ctx, query, passages)
	if err != nil {
		return nil, err
	}
	return r.ScorePairs(ctx, pairs)
}

// A Pair is a query and a passage as tokens of a [Reranker].
type Pair struct{ ids, types []int32 }

// Len returns the number of tokens, at most [Reranker.MaxTokens].
func (p Pair) Len() int { return len(p.ids) }

// Tokens returns the ids, those around the texts included. Do not change them.
func (p Pair) Tokens() []int32 { return p.ids }

// Pairs returns the tokens of a query with every passage, for which it encodes the query once. If ctx
// ends, it returns its error.
func (r *Reranker) Pairs(ctx context.Context, query string, passages []string) ([]Pair, error) {
	with := r.tokenizer.PairsOf(query, tokenizer.Options{Limit: r.maxTokens})
	pairs := make([]Pair, len(passages))
	for i, p := range passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pairs[i].ids, pairs[i].types = with(p)
	}
	return pairs, nil
}

// ScorePairs is [Reranker.Score] for pairs that [Reranker.Pairs] has made, of any queries.
func (r *Reranker) ScorePairs(ctx context.Context, pairs []Pair) ([]float32, error) {
	ids, types := make([][]int32, len(pairs)), make([][]int32, len(pairs))
	for i, p := range pairs {
		ids[i], types[i] = p.ids, p.types
	}
	return r.scoreTokens(ctx, ids, types)
}

// scoreTokens is Score for pairs that are tokens. Types do not count if the model is given none.
func (r *Reranker) scoreTokens(ctx context.Context, ids, types [][]int32) ([]float32, error) {
	if err := r.opts.Check(); err != nil {
		return nil, err
	}
	for i := range ids {
		if bad := embedding.CheckTokens(ids[i], r.net.Vocab, r.net.longest(), false); bad != nil {
			bad.Arg = fmt.Sprintf("pair %d", i) + bad.Arg
			return nil, bad
		}
	}
	out := make([]float32, len(ids))
	if !r.types {
		types = nil
	}
	err := r.net.batches(ctx, ids, types, &r.opts, func(batch []int, x []float32, starts []int) error {
		scores, err := r.classify(x, starts)
		for i, pair := range batch[:len(scores)] {
			out[pair] = scores[i]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// classify returns the scores of the texts of a batch from the states of their first tokens.
func (r *Reranker) classify(x []float32, starts []int) ([]float32, error) {
	w := r.net.Width
	var scores []float32
	for _, at := range starts[:len(starts)-1] {
		y := r.dense.apply(x[at*w:][:w])
		if err := r.activation.After(y, kernel.Exec{Threads: 1}); err != nil {
			return nil, err
		}
		scores = append(scores, r.out.apply(y)[0])
	}
	return scores, nil
}
