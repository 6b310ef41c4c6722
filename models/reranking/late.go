package reranking

import (
	"context"
	"slices"

	"github.com/attn-go/attn/models/embedding"
)

// Late returns a Reranker that scores passages by the vectors of their tokens, see
// [embedding.MaxSim]. Pairs have the tokens of passages, and the score is the one that the model
// prints.
func Late(e *embedding.Embedder) *Reranker {
	return &Reranker{p: &Parts{
		Prompt: late{e}, Late: e, Head: &Head{Labels: numbered(1), Identity: true},
		Vocab: e.Vocab(), MaxTokens: e.DocumentLength(), Positions: e.MaxTokens(),
	}}
}

// late is the prompt of models that read a passage without the query.
type late struct{ *embedding.Embedder }

func (late) instructed() bool { return false }

func (p late) pairs(context.Context, string, string, int) (func(string) ([]int32, []int32, error), error) {
	return func(passage string) ([]int32, []int32, error) { return p.DocumentTokens(passage), nil, nil }, nil
}

// lateScores scores pairs by the vectors of their tokens: a query's are computed once.
func (r *Reranker) lateScores(ctx context.Context, pairs []Pair) ([]float32, error) {
	e := r.p.Late.With(*r.computing())
	var queries, passages [][]int32
	of := make([]int, len(pairs)) // queries
	for i, p := range pairs {
		if of[i] = slices.IndexFunc(queries, func(q []int32) bool { return slices.Equal(q, p.query) }); of[i] < 0 {
			of[i], queries = len(queries), append(queries, p.query)
		}
		passages = append(passages, p.ids)
	}
	asked, err := e.QueryVectors(ctx, queries)
	if err != nil {
		return nil, err
	}
	vectors, err := e.DocumentVectors(ctx, passages)
	if err != nil {
		return nil, err
	}
	scores := make([]float32, len(pairs))
	for i, q := range asked {
		var some []embedding.TokenVectors
		var at []int
		for j := range pairs {
			if of[j] == i {
				some, at = append(some, vectors[j]), append(at, j)
			}
		}
		got, err := embedding.MaxSim(q, some, r.opts.Exec)
		if err != nil {
			return nil, err
		}
		for j, x := range got {
			scores[at[j]] = x
		}
	}
	return scores, nil
}
