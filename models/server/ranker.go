package server

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/request"
	"github.com/attn-go/attn/models/tokenizer"
)

// A ranker scores passages for a query.
type ranker struct {
	hosted
	m        *reranking.Reranker
	passages *batch.Pool[reranking.Pair, float32]
	tokens   *embedder // of a model that scores by vectors of tokens, which it makes for who asks, too; or nil
}

func newRanker(h hosted, m *reranking.Reranker, turns *batch.Turns) *ranker {
	if h.exec != nil {
		m = m.With(reranking.Options{Exec: *h.exec})
	}
	k := &ranker{h, m, batch.NewPool(batch.PoolOptions[reranking.Pair, float32]{
		Work: m.ScorePairs, Cost: reranking.Pair.Len, Most: batchTokens,
		Waiting: h.s.Waiting, PerKey: h.s.WaitingPerKey, Turn: turns.Join(),
	}), nil}
	if late := m.TokenVectors(); late != nil {
		k.tokens = newEmbedder(h, late, turns)
	}
	return k
}

func (k *ranker) kind() models.Kind { return models.KindReranker }

// run implements served.
func (k *ranker) run(ctx context.Context) {
	var other sync.WaitGroup
	if k.tokens != nil {
		other.Go(func() { k.tokens.run(ctx) })
	}
	k.passages.Run(ctx)
	other.Wait()
}

// can implements served.
func (k *ranker) can(w request.Work) error {
	if _, ok := w.(*request.Embed); ok && k.tokens != nil {
		return k.tokens.can(w)
	}
	return ofKind(k, w)
}

func (k *ranker) tokenizer() (*tokenizer.Tokenizer, error) {
	if k.tokens != nil {
		return k.tokens.tokenizer()
	}
	return nil, badParam("model", "%q is a reranker, whose tokens are those of pairs", k.name)
}

// with returns the model with the settings of a request.
func (k *ranker) with(w *request.Rank) *reranking.Reranker {
	o := k.m.Options()
	o.Instruction, o.Label = w.Instruction, w.Label
	return k.m.With(o)
}

// prepare checks a request, and makes tokens of its texts.
func (k *ranker) prepare(r *request.Request, w *request.Rank) error {
	if n := len(w.Texts); n < 1 || n > k.s.Texts {
		return badParam(w.Field, "%s: got %d, want 1 to %d", w.Field, n, k.s.Texts)
	}
	if err := k.wantReceipt(r); err != nil {
		return err
	}
	with := k.with(w)
	var bad *kernel.Error
	if err := with.Check(); errors.As(err, &bad) {
		param := strings.ToLower(strings.TrimPrefix(bad.Arg(), "Options."))
		return badParam(param, "%s: got %s, want %s", param, bad.Got, bad.Want)
	}
	release, err := k.encoding(r)
	if err != nil {
		return err
	}
	defer release()
	w.Pairs, err = with.Pairs(r.Ctx, w.Query, w.Texts)
	switch {
	case errors.As(err, &bad):
		return badParam(bad.Arg(), "%s: got %s, want %s", bad.Arg(), bad.Got, bad.Want)
	case err != nil && r.Ctx.Err() == nil:
		return badParam("query", "%v", err)
	case err != nil:
		return err
	}
	if k.tokens != nil && !w.Truncate {
		if most := k.tokens.m.QueryLength(); k.tokens.m.CountQuery(w.Query) > most {
			return tooLong("query", most)
		}
	}
	most := with.MaxTokens()
	for i, p := range w.Pairs {
		if r.Prompt += p.Len(); !w.Truncate && p.Len() >= most && with.CountTokens(w.Query, w.Texts[i]) > most {
			return tooLong(w.Field, most)
		}
	}
	return nil
}

// do implements served.
func (k *ranker) do(r *request.Request, _ func(*request.Event) error) (err error) {
	w, ok := r.Work.(*request.Rank)
	if !ok {
		return k.tokens.do(r, nil)
	}
	w.Raw = k.tokens != nil
	if err := k.prepare(r, w); err != nil {
		return err
	}
	if w.Scores, err = k.passages.Do(r.Ctx, r.Key, w.Pairs); err != nil || !r.Receipt {
		return err
	}
	record, err := receipt.RecordRanking(r.Ctx, k.named(), k.load, k.with(w), w.Query, w.Texts, w.Scores)
	if err != nil {
		return badParam("receipt", "%v", err)
	}
	return k.receipts(r, record)
}

// facts implements served.
func (k *ranker) facts(f *request.Facts) {
	f.Tasks, f.Context = []string{"rerank"}, k.m.MaxTokens()
	if k.tokens != nil {
		f.Tasks, f.Dimensions = append(f.Tasks, k.tokens.tasks()...), k.tokens.m.TokenWidth()
	}
}

// stats implements served.
func (k *ranker) stats(show func(s *stat, n float64, labels ...string)) {
	all := k.passages.Stats()
	if k.tokens != nil {
		more := k.tokens.vectors.Stats()
		all.Waiting, all.Batches, all.Costs = all.Waiting+more.Waiting, all.Batches+more.Batches, all.Costs+more.Costs
	}
	showPool(all, show)
}
