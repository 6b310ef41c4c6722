package embedding

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/retrieval"
)

// TokenVectors are the vectors of the tokens of a text, as ColBERT has them, or bge-m3 beside the
// text's vector: Vectors[i] belongs to Tokens[i] and has [Embedder.TokenWidth] numbers, with the L2
// norm 1.
type TokenVectors struct {
	Tokens  []int32
	Vectors [][]float32
}

// The errors of models that make something else of a text than what is wanted.
var (
	ErrNoTokenVectors = errors.New("embedding: the model has no vectors of tokens, as ColBERT and bge-m3 with its colbert_linear.pt have them")
	ErrTokenVectors   = errors.New("embedding: the model has a vector for each token, and none for a text")
)

// An Expander is a [Model] whose texts may end in tokens that no token sees. All texts have the
// same number of tokens; seen[i] says how many of text i, from its beginning, are seen.
type Expander interface {
	ExpandedStates(ctx context.Context, ids [][]int32, seen []int, o *Options, each func(text int, states []float32) error) error
}

// A late is what makes vectors of tokens.
type late struct {
	*Late
	layers          []*dense
	width           int
	query, document int32 // prefixes, or -1
	mask            int32 // fills up queries, or -1
	skip            map[int32]bool
	first           int // that has a vector, of the tokens of a text
	expander        Expander
}

// besideVectors returns it for a model whose texts have a vector, too. As FlagEmbedding has it, the
// first token has none.
func besideVectors(p *Parts) *late {
	l := &late{Late: &Late{QueryLength: p.MaxTokens, DocumentLength: p.MaxTokens}, query: -1, document: -1, mask: -1, first: 1}
	l.stack(p.Tokens)
	return l
}

// stack adds layers.
func (l *late) stack(steps []Step) {
	for _, s := range steps {
		l.layers, l.width = append(l.layers, s.dense), s.width
	}
}

// newLate returns it for modules that have it, and the layers after the states.
func newLate(p *Parts) (*late, error) {
	l := &late{Late: p.Modules.Late, width: p.Width, query: -1, document: -1, mask: -1, skip: map[int32]bool{}}
	bad := func(key, got, want string) error {
		return &kernel.Error{Where: "config_sentence_transformers.json: " + key, Got: got, Want: want}
	}
	l.stack(p.Steps)
	for _, x := range []struct {
		key, text string
		to        *int32
	}{{"query_prefix", l.QueryPrefix, &l.query}, {"document_prefix", l.DocumentPrefix, &l.document}} {
		id, ok := p.Tokenizer.ID(x.text)
		switch {
		case x.text == "":
		case !ok:
			return nil, bad(x.key, fmt.Sprintf("%q", x.text), "a token of the tokenizer")
		default:
			*x.to = id
		}
	}
	for _, word := range l.Skip {
		if id, ok := p.Tokenizer.ID(word); ok { // PyLate takes the id of unknown words for others
			l.skip[id] = true
		} else if id, ok := p.Tokenizer.Role(tokenizer.RoleUnknown); ok {
			l.skip[id] = true
		}
	}
	if !l.Expand {
		return l, nil
	}
	var ok bool
	if l.mask, ok = p.Tokenizer.Role(tokenizer.RoleMask); !ok {
		return nil, bad("do_query_expansion", "true", "a tokenizer with a mask token")
	}
	if l.expander, ok = p.Model.(Expander); !ok {
		return nil, bad("do_query_expansion", "true", "false; others are not supported for this architecture")
	}
	return l, nil
}

// HasTokenVectors tells whether the model has vectors of tokens, see [Embedder.QueryVectors].
func (e *Embedder) HasTokenVectors() bool { return e.late != nil }

// TokenWidth returns the number of elements of a token's vector; 0 for a model without them.
func (e *Embedder) TokenWidth() int {
	if e.late == nil {
		return 0
	}
	return e.late.width
}

// QueryLength and DocumentLength return the number of tokens to which a query and a document are
// cut; 0 for a model without vectors of tokens.
func (e *Embedder) QueryLength() int {
	if e.late == nil {
		return 0
	}
	return min(e.late.QueryLength, e.p.Positions)
}

// DocumentLength is QueryLength for documents.
func (e *Embedder) DocumentLength() int {
	if e.late == nil {
		return 0
	}
	return min(e.late.DocumentLength, e.p.Positions)
}

// QueryTokens and DocumentTokens return the ids of texts as queries and as documents, for
// [Embedder.QueryVectors] and [Embedder.DocumentVectors]. They are nil for a model without vectors
// of tokens.
func (e *Embedder) QueryTokens(text string) []int32 {
	if e.late == nil {
		return nil
	}
	return e.lateTokens(text, e.late.query, e.QueryLength())
}

// DocumentTokens is QueryTokens for documents.
func (e *Embedder) DocumentTokens(text string) []int32 {
	if e.late == nil {
		return nil
	}
	return e.lateTokens(text, e.late.document, e.DocumentLength())
}

// CountQuery and CountDocument return how many tokens a text has as a query and as a document.
// Tokens beyond [Embedder.QueryLength] and [Embedder.DocumentLength] do not count. The results are
// 0 for a model without vectors of tokens.
func (e *Embedder) CountQuery(text string) int {
	if e.late == nil {
		return 0
	}
	return len(e.lateTokens(text, e.late.query, 0))
}

// CountDocument is CountQuery for documents.
func (e *Embedder) CountDocument(text string) int {
	if e.late == nil {
		return 0
	}
	return len(e.lateTokens(text, e.late.document, 0))
}

// lateTokens returns the ids of a text, at most limit of them if that is not 0.
func (e *Embedder) lateTokens(text string, prefix int32, limit int) []int32 {
	if e.p.Modules.Late == nil { // the vector of the text is made of the same tokens
		return e.encode(text, limit)
	}
	if prefix < 0 {
		return e.p.Tokenizer.Encode(text, tokenizer.Options{Limit: limit})
	}
	ids := e.p.Tokenizer.Encode(text, tokenizer.Options{Limit: max(0, limit-1)})
	return slices.Insert(ids, min(1, len(ids)), prefix)
}

// QueryVectors returns the vectors of the tokens of queries, which [Embedder.QueryTokens] has made.
// Mask tokens may fill up a query, and have vectors, too. DocumentVectors does the same for
// documents, without the tokens that the model leaves out, such as punctuation. A vector has the
// same bits on every CPU and beside any other texts.
//
// A model without vectors of tokens is [ErrNoTokenVectors], and Options of vectors of texts, such
// as Prompt, Dimensions and Split, are a [*kernel.Error]; other errors come from
// [Embedder.EmbedTokens].
func (e *Embedder) QueryVectors(ctx context.Context, ids [][]int32) ([]TokenVectors, error) {
	l := e.late
	if l == nil {
		return nil, ErrNoTokenVectors
	}
	if err := e.checkLate(ids); err != nil {
		return nil, err
	}
	if !l.Expand {
		return e.tokenVectors(ctx, ids, nil, e.states)
	}
	all, seen := make([][]int32, len(ids)), make([]int, len(ids))
	most := e.QueryLength()
	for i, text := range ids {
		if len(text) > most {
			return nil, &kernel.Error{Where: fmt.Sprintf("ids[%d]", i), Got: fmt.Sprintf("%d tokens", len(text)), Want: fmt.Sprintf("at most %d, those of a query", most)}
		}
		all[i] = slices.Clone(text)
		for len(all[i]) < most {
			all[i] = append(all[i], l.mask)
		}
		if seen[i] = len(text); l.Attend {
			seen[i] = len(all[i])
		}
	}
	return e.tokenVectors(ctx, all, nil, func(ctx context.Context, ids [][]int32, each func(int, []float32) error) error {
		return l.expander.ExpandedStates(ctx, ids, seen, &e.opts, each)
	})
}

// DocumentVectors is QueryVectors for documents.
func (e *Embedder) DocumentVectors(ctx context.Context, ids [][]int32) ([]TokenVectors, error) {
	if e.late == nil {
		return nil, ErrNoTokenVectors
	}
	if err := e.checkLate(ids); err != nil {
		return nil, err
	}
	return e.tokenVectors(ctx, ids, e.late.skip, e.states)
}

func (e *Embedder) checkLate(ids [][]int32) error {
	if err := e.checkOptions(); err != nil {
		return err
	}
	o := &e.opts
	for name, set := range map[string]bool{"Prompt": o.Prompt != "", "Dimensions": o.Dimensions != 0, "Split": o.Split, "Overlap": o.Overlap != 0, "RefuseLong": o.RefuseLong} {
		if set {
			return &kernel.Error{Where: "Options." + name, Got: "a setting", Want: "none for vectors of tokens, which do not use it"}
		}
	}
	return e.checkAll(ids)
}

func (e *Embedder) states(ctx context.Context, ids [][]int32, each func(int, []float32) error) error {
	return e.p.Model.States(ctx, ids, nil, &e.opts, "", each)
}

// tokenVectors computes vectors of the tokens that skip does not have.
func (e *Embedder) tokenVectors(ctx context.Context, ids [][]int32, skip map[int32]bool, states func(context.Context, [][]int32, func(int, []float32) error) error) ([]TokenVectors, error) {
	out := make([]TokenVectors, len(ids))
	err := states(ctx, ids, func(text int, x []float32) (err error) {
		rows := len(ids[text])
		if rows == 0 || len(x) != rows*e.p.Width {
			return fmt.Errorf("embedding: %d numbers of states for %d tokens", len(x), rows)
		}
		for _, layer := range e.late.layers {
			if x, err = layer.rows(x, rows, e.opts.Exec); err != nil {
				return err
			}
		}
		v := make([]float64, e.late.width)
		for i, id := range ids[text] {
			if i < e.late.first || skip[id] {
				continue
			}
			widen(v, x[i*len(v):][:len(v)])
			normalise(v)
			vector := make([]float32, len(v))
			for j, y := range v {
				vector[j] = float32(y)
			}
			out[text].Tokens, out[text].Vectors = append(out[text].Tokens, id), append(out[text].Vectors, vector)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// MaxSim returns the score of a query for each document, see [retrieval.MaxSim]. Vectors of other
// lengths than the query's, empty ones and a document without vectors, whose score would be -Inf,
// are a [*kernel.Error]. Without a vector of the query all scores are 0.
func MaxSim(query TokenVectors, documents []TokenVectors, exec kernel.Exec) ([]float32, error) {
	scores := make([]float32, len(documents))
	if len(query.Vectors) == 0 || len(documents) == 0 {
		return scores, nil
	}
	width, starts := len(query.Vectors[0]), make([]int, 1, len(documents)+1)
	var all []float32
	join := func(name string, vectors [][]float32) error {
		if len(vectors) == 0 || width == 0 {
			return &kernel.Error{Where: "embedding.MaxSim: " + name, Got: fmt.Sprintf("%d vectors of %d numbers", len(vectors), width), Want: "1 or more of each"}
		}
		for i, v := range vectors {
			if len(v) != width {
				return &kernel.Error{Where: "embedding.MaxSim: " + name, Got: fmt.Sprintf("vector %d of %d numbers", i, len(v)), Want: fmt.Sprint(width)}
			}
			all = append(all, v...)
		}
		return nil
	}
	if err := join("query", query.Vectors); err != nil {
		return nil, err
	}
	q, n := all, 0
	all = nil
	for i, d := range documents {
		if err := join(fmt.Sprintf("documents[%d]", i), d.Vectors); err != nil {
			return nil, err
		}
		n += len(d.Vectors)
		starts = append(starts, n)
	}
	rows := func(x []float32) kernel.Tensor { return kernel.BLHD(x, 1, len(x)/width, 1, width) }
	return scores, retrieval.MaxSim(scores, rows(q), rows(all).Ragged(starts), exec)
}
