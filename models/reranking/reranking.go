// Package reranking scores passages for a query with models that read both together: it has what
// comes before and after a model of states of tokens, the same for encoders and decoders. Before it
// comes the prompt, which makes tokens of a query and a passage; after it the pooling, and a head
// that makes scores of a state.
//
// A [Reranker] is made by package encoder or decoder, or by models.OpenReranker, which finds out
// what a model needs.
package reranking

import (
	"context"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
)

// Parts are what a [Reranker] consists of.
type Parts struct {
	Model     embedding.Model
	Prompt    Prompt
	Head      *Head
	Typed     bool // the model is given the types of tokens
	Vocab     int  // ids that tokens may have
	MaxTokens int  // to which a pair is cut
	Positions int  // the most tokens that the model can take

	Late *embedding.Embedder // of models that read a passage without the query, or nil; see [Late]
}

// Options are the settings of a [Reranker]. None but Label and Instruction changes a bit of a
// score.
type Options struct {
	// Exec says how every call of a kernel is executed: on which tier, with how many threads.
	kernel.Exec

	// BatchTokens is how many tokens are computed together, of several pairs; 0 means 512.
	BatchTokens int

	// Label is the label whose score is wanted, from [Reranker.Labels]. "" means the only label, or
	// the one that stands for a good answer, such as yes. A classifier for natural language
	// inference has several labels, none of which is meant, and needs a Label.
	Label string

	// Instruction tells the model what a good answer is. "" means the instruction in the model's
	// files, if there is one. A model that reads no instruction refuses others, see
	// [Reranker.TakesInstruction].
	Instruction string
}

// A Reranker is a model that reads a query and a passage together and says how well they fit. It is
// immutable: any number of goroutines may use it at once.
type Reranker struct {
	p    *Parts
	opts Options
}

// New returns the Reranker of its parts.
func New(p Parts) *Reranker { return &Reranker{p: &p} }

// With returns a Reranker with other settings that shares the weights.
func (r *Reranker) With(o Options) *Reranker { return &Reranker{r.p, o} }

// Options returns the settings.
func (r *Reranker) Options() Options { return r.opts }

// MaxTokens returns the number of tokens to which a query and a passage together are cut.
func (r *Reranker) MaxTokens() int { return r.p.MaxTokens }

// Labels returns the names of the classifier's outputs, one or more. Do not change them.
func (r *Reranker) Labels() []string { return r.p.Head.Labels }

// TakesInstruction tells whether the model reads Options.Instruction.
func (r *Reranker) TakesInstruction() bool { return r.p.Prompt.instructed() }

// Check returns a [*kernel.Error] for settings that do not fit the model, as [Reranker.Score]
// would.
func (r *Reranker) Check() error {
	_, err := r.label()
	return err
}

// label checks the settings and returns the number of the label whose score is wanted.
func (r *Reranker) label() (int, error) {
	o, h := &r.opts, r.p.Head
	bad := func(arg, got, want string) error {
		return &kernel.Error{Where: "Options." + arg, Got: got, Want: want}
	}
	if err := r.computing().Check(); err != nil {
		return 0, err
	}
	if o.Instruction != "" && !r.TakesInstruction() {
		return 0, bad("Instruction", fmt.Sprintf("%.40q", o.Instruction), "none, as the model takes no instruction")
	}
	if o.Label == "" && h.Default >= 0 {
		return h.Default, nil
	}
	if i := slices.Index(h.Labels, o.Label); i >= 0 {
		return i, nil
	}
	return 0, bad("Label", fmt.Sprintf("%.40q", o.Label), fmt.Sprintf("one of %q", h.Labels))
}

// computing returns the settings of the model's computation.
func (r *Reranker) computing() *embedding.Options {
	return &embedding.Options{Exec: r.opts.Exec, BatchTokens: r.opts.BatchTokens}
}

// TokenVectors returns the model that a [Late] reranker scores by, which makes vectors of tokens,
// and nil for others.
func (r *Reranker) TokenVectors() *embedding.Embedder { return r.p.Late }

// CountTokens returns how many tokens a query and a passage have together, or the passage alone for
// a [Late] model, or 0 if a chat template refuses them. Tokens beyond [Reranker.MaxTokens] are left
// out: a model that takes two texts loses the end of the longer one, and a model that takes both in
// one prompt loses the end of the passage, or with a tokenizer that cuts there the beginning of the
// prompt.
func (r *Reranker) CountTokens(query, passage string) int {
	if late := r.p.Late; late != nil {
		return late.CountDocument(passage)
	}
	with, err := r.p.Prompt.pairs(context.Background(), r.opts.Instruction, query, 0)
	if err != nil {
		return 0
	}
	ids, _, err := with(passage)
	if err != nil {
		return 0
	}
	return len(ids)
}

// Score returns a number for every passage: the higher, the better it answers the query. [Sigmoid]
// of a score is the probability that the model gives the label. With one label the score is the
// output of the classifier. With several labels it is the logarithm of the label's odds by the
// softmax of all outputs, such as the logit of yes less the logit of no. A score has the same bits
// whatever other passages are in the call.
//
// If ctx ends, its error is returned soon. Other errors come from [Reranker.Check], or are a
// [*kernel.Error], the error of a chat template, and a [*kernel.Error] for a query that leaves no
// room in the model's prompt for a passage that does not fit.
func (r *Reranker) Score(ctx context.Context, query string, passages []string) ([]float32, error) {
	pairs, err := r.Pairs(ctx, query, passages)
	if err != nil {
		return nil, err
	}
	return r.ScorePairs(ctx, pairs)
}

// A Pair is a query and a passage as tokens of a [Reranker], and the label whose score is wanted.
type Pair struct {
	ids, types []int32
	query      []int32 // of models that read a passage without it
	label      int
}

// Len returns the number of tokens, at most [Reranker.MaxTokens].
func (p Pair) Len() int { return len(p.ids) }

// Tokens returns the ids, those around the texts included. Do not change them.
func (p Pair) Tokens() []int32 { return p.ids }

// Pairs returns the tokens of a query with every passage. Errors come from [Reranker.Score].
func (r *Reranker) Pairs(ctx context.Context, query string, passages []string) ([]Pair, error) {
	label, err := r.label()
	if err != nil {
		return nil, err
	}
	with, err := r.p.Prompt.pairs(ctx, r.opts.Instruction, query, r.p.MaxTokens)
	if err != nil {
		return nil, err
	}
	pairs := make([]Pair, len(passages))
	var asked []int32
	if r.p.Late != nil {
		asked = r.p.Late.QueryTokens(query)
	}
	for i, p := range passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pairs[i].label, pairs[i].query = label, asked
		if pairs[i].ids, pairs[i].types, err = with(p); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// ScorePairs is [Reranker.Score] for pairs that [Reranker.Pairs] has made, of any queries and
// settings.
func (r *Reranker) ScorePairs(ctx context.Context, pairs []Pair) ([]float32, error) {
	if r.p.Late != nil {
		return r.lateScores(ctx, pairs)
	}
	ids, types := make([][]int32, len(pairs)), make([][]int32, len(pairs))
	for i, p := range pairs {
		ids[i], types[i] = p.ids, p.types
	}
	out := make([]float32, len(pairs))
	err := r.logits(ctx, ids, types, func(pair int, z []float64) { out[pair] = logOdds(z, pairs[pair].label) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ScoreTokens is [Reranker.Score] for pairs that are tokens already. types are the types of the
// tokens; they may be nil, and do not count if the model takes none. An id beyond the vocabulary,
// and a pair without tokens or with more than the model has positions, is a [*kernel.Error].
func (r *Reranker) ScoreTokens(ctx context.Context, ids, types [][]int32) ([]float32, error) {
	label, err := r.label()
	if err != nil {
		return nil, err
	}
	if r.p.Late != nil {
		return nil, &kernel.Error{Where: "reranking: ids", Got: "tokens of pairs", Want: "texts, as the model reads queries and passages apart"}
	}
	out := make([]float32, len(ids))
	if err := r.logits(ctx, ids, types, func(pair int, z []float64) { out[pair] = logOdds(z, label) }); err != nil {
		return nil, err
	}
	return out, nil
}

// logits calls each with the outputs of the classifier for every pair.
func (r *Reranker) logits(ctx context.Context, ids, types [][]int32, each func(pair int, z []float64)) error {
	o, h := r.computing(), r.p.Head
	if err := o.Check(); err != nil {
		return err
	}
	for i := range ids {
		if bad := embedding.CheckTokens(ids[i], r.p.Vocab, r.p.Positions, false); bad != nil {
			bad.Where = fmt.Sprintf("pair %d", i) + bad.Arg()
			return bad
		}
	}
	if !r.p.Typed {
		types = nil
	}
	ids = h.withoutPadding(ids)
	return r.p.Model.States(ctx, ids, types, o, h.Pooling, func(pair int, states []float32) error {
		z, err := h.Logits(states)
		if err == nil {
			each(pair, z)
		}
		return err
	})
}

// Predict returns what sentence-transformers' CrossEncoder.predict prints of a score: the score
// itself or its [Sigmoid], as the model's files say. Of several labels it is the probability that
// their softmax gives the label.
func (r *Reranker) Predict(score float32) float32 {
	if r.p.Head.Identity && len(r.p.Head.Labels) == 1 {
		return score
	}
	return Sigmoid(score)
}
