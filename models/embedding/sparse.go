package embedding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A Sparse gives tokens weights in a text, as bge-m3 does, or SPLADE, also to words that do not
// stand in it. Its Tokens are ids in ascending order, each once, and Weights[i] is the positive
// weight of Tokens[i].
type Sparse struct {
	Tokens  []int32
	Weights []float32
}

// [Embedder.Sparse] returns ErrNotSparse for a model without weights of tokens. The other methods
// return ErrSparseOnly for a model that has nothing else.
var (
	ErrNotSparse  = errors.New("embedding: the model has no weights of tokens, as SPLADE and bge-m3 with its sparse_linear.pt have them")
	ErrSparseOnly = errors.New("embedding: the model has weights of tokens alone, and no vector")
)

// Dot returns the scalar product of two texts' weights, which FlagEmbedding calls their lexical
// matching score: the sum of the products of the weights that both have, in float64 and in the
// order of the tokens.
func (s Sparse) Dot(t Sparse) float64 {
	sum, at := 0.0, 0
	for i, id := range s.Tokens {
		for at < len(t.Tokens) && t.Tokens[at] < id {
			at++
		}
		if at == len(t.Tokens) {
			break
		}
		if t.Tokens[at] == id {
			sum += float64(float64(s.Weights[i]) * float64(t.Weights[at]))
		}
	}
	return sum
}

// A SparseHead makes weights of states, without which a text has no [Sparse]: a token has the
// weight max(0, w·state + b), or, with [NewWordHead], words that need not stand in the text have
// weights.
type SparseHead struct {
	layer *linear.Linear
	not   []int32
	words *wordHead // or nil
}

// NewSparseHead returns the head of weights w, one for each number of a state, and the bias. Tokens
// with the ids of not get no weight. The error comes from [linear.New].
func NewSparseHead(w []float32, bias float32, not []int32) (*SparseHead, error) {
	l, err := linear.New(linear.DenseMatrix(w, 1, len(w)), []float32{bias}, kernel.Exec{})
	return &SparseHead{layer: l, not: not}, err
}

// HasSparse tells whether the model has weights of tokens, see [Embedder.Sparse].
func (e *Embedder) HasSparse() bool { return e.p.Sparse != nil }

// Sparse returns the weights of the tokens of texts. A token that occurs more than once has the
// largest of its weights. It leaves out tokens around a text, tokens of unknown words, and tokens
// without a positive weight. The model sees as much of a text as in [Embedder.Embed], and with
// Options.Split all of it. A weight has the same bits on every CPU and beside any other texts.
//
// A model without weights of tokens is [ErrNotSparse]; other errors come from Embed.
func (e *Embedder) Sparse(ctx context.Context, texts []string) ([]Sparse, error) {
	if !e.HasSparse() {
		return nil, ErrNotSparse
	}
	all, err := e.cut(ctx, texts)
	if err != nil {
		return nil, err
	}
	return e.sparse(ctx, all)
}

// SparseTokens is [Embedder.Sparse] for texts that are tokens already, as [Embedder.EmbedTokens]
// takes them.
func (e *Embedder) SparseTokens(ctx context.Context, ids [][]int32) ([]Sparse, error) {
	if !e.HasSparse() {
		return nil, ErrNotSparse
	}
	if err := e.checkOptions(); err != nil {
		return nil, err
	}
	all := &pieces{}
	for _, text := range ids {
		all.add(0, text)
	}
	return e.sparse(ctx, all)
}

// sparse returns the weights of the tokens of texts.
func (e *Embedder) sparse(ctx context.Context, all *pieces) ([]Sparse, error) {
	pieces, err := e.tokenWeights(ctx, all.ids)
	if err != nil {
		return nil, err
	}
	out, at := make([]Sparse, len(all.counts)), 0
	for i, n := range all.counts {
		out[i] = e.p.Sparse.collect(pieces[at : at+n])
		at += n
	}
	return out, nil
}

// tokenWeights computes weights of each piece, of tokens in any order and perhaps several times.
func (e *Embedder) tokenWeights(ctx context.Context, ids [][]int32) ([]Sparse, error) {
	if bad := e.checkAll(ids); bad != nil {
		return nil, bad
	}
	pieces, h := make([]Sparse, len(ids)), e.p.Sparse
	err := e.p.Model.States(ctx, ids, nil, &e.opts, "", func(text int, states []float32) (err error) {
		rows := len(ids[text])
		if len(states) != rows*e.p.Width {
			return fmt.Errorf("embedding: %d numbers of states for %d tokens", len(states), rows)
		}
		if h.words != nil {
			pieces[text], err = h.words.weights(states, rows, e.opts.Exec)
			return err
		}
		pieces[text] = Sparse{ids[text], make([]float32, rows)}
		return h.layer.Apply(linear.DenseMatrix(pieces[text].Weights, rows, 1), linear.DenseMatrix(states, rows, e.p.Width), linear.Options{Exec: e.opts.Exec})
	})
	return pieces, err
}

// collect returns the weights of a text of some pieces.
func (h *SparseHead) collect(pieces []Sparse) (s Sparse) {
	best := map[int32]float32{}
	for _, piece := range pieces {
		for j, id := range piece.Tokens {
			if w := piece.Weights[j]; w > best[id] && !slices.Contains(h.not, id) {
				best[id] = w
			}
		}
	}
	for id := range best {
		s.Tokens = append(s.Tokens, id)
	}
	slices.SortFunc(s.Tokens, cmp.Compare[int32])
	for _, id := range s.Tokens {
		s.Weights = append(s.Weights, best[id])
	}
	return s
}
