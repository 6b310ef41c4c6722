package server

import (
	"context"
	"errors"

	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/batch"
)

// A host runs a model for all requests.
type host struct {
	*Model
	fingerprint string

	texts    *batch.Scheduler                     // of a language model
	vectors  *batch.Pool[text, []float32]         // of an encoder
	passages *batch.Pool[reranking.Pair, float32] // of a cross-encoder
}

// A text is what an embedder makes a vector of so many numbers of.
type text struct {
	ids        []int32
	dimensions int
}

// batchTokens is how many tokens encoders compute at once.
const batchTokens = 512

// newHost makes what runs a model. It begins with run.
func newHost(m *Model, s *Settings, turns *batch.Turns) (*host, error) {
	h := &host{Model: m, fingerprint: m.fingerprint(s)}
	switch {
	case m.generate != nil:
		o, err := chatOptions(m.generate, s)
		if err != nil {
			return nil, err
		}
		o.Turn = turns.Join()
		h.texts, err = batch.New(o)
		return h, err
	case m.embed != nil:
		h.vectors = batch.NewPool(batch.PoolOptions[text, []float32]{
			Work: h.vector, Cost: func(t text) int { return len(t.ids) }, Most: batchTokens,
			Waiting: s.Waiting, PerKey: s.WaitingPerKey, Turn: turns.Join(),
		})
	case m.rerank != nil:
		h.passages = batch.NewPool(batch.PoolOptions[reranking.Pair, float32]{
			Work: m.rerank.ScorePairs, Cost: reranking.Pair.Len, Most: batchTokens,
			Waiting: s.Waiting, PerKey: s.WaitingPerKey, Turn: turns.Join(),
		})
	}
	return h, nil
}

// chatOptions returns the settings of a language model's scheduler.
func chatOptions(m *decoder.Model, s *Settings) (batch.Options, error) {
	o, c := m.Options(), m.Config()
	page, err := kvcache.Config{
		Layers: c.Layers, Heads: c.KVHeads, HeadSize: c.HeadSize, Type: o.CacheType, ValueType: o.CacheValueType, PageSize: o.PageSize,
	}.PageBytes()
	if err != nil {
		return batch.Options{}, err
	}
	// A text of the whole context, and a page for a copy of one that is shared.
	least := int64((o.Context+o.PageSize-1)/o.PageSize + 1)
	pages := max(least, s.CacheBytes/int64(page))
	return batch.Options{
		Open:  func() (batch.Session, error) { return m.NewSession(int(pages), o.PageSize) },
		Pages: int(pages), Page: o.PageSize, Running: s.Running, Step: s.StepTokens, Chunk: s.ChunkTokens, Waiting: s.Waiting, PerKey: s.WaitingPerKey,
	}, nil
}

// run computes until ctx ends.
func (h *host) run(ctx context.Context) {
	switch {
	case h.texts != nil:
		h.texts.Run(ctx)
	case h.vectors != nil:
		h.vectors.Run(ctx)
	case h.passages != nil:
		h.passages.Run(ctx)
	}
}

// vector makes vectors, those of as many dimensions in one call.
func (h *host) vector(ctx context.Context, items []text) ([][]float32, error) {
	outs := make([][]float32, len(items))
	places := map[int][]int{} // of items, by their dimensions
	for i, t := range items {
		places[t.dimensions] = append(places[t.dimensions], i)
	}
	for dimensions, list := range places {
		ids := make([][]int32, len(list))
		for i, at := range list {
			ids[i] = items[at].ids
		}
		o := h.embed.Options()
		o.Dimensions = dimensions
		vectors, err := h.embed.With(o).EmbedTokens(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, at := range list {
			outs[at] = vectors[i]
		}
	}
	return outs, nil
}

// record lets o and the recorder it returns make the receipt of a text.
func (h *host) record(prompt []int32, o *decoder.GenerateOptions) (*receipt.Recorder, error) {
	r, err := receipt.Record(h.named(), h.generate, prompt, o)
	if err == nil {
		o.Logits = func(_ int, logits []float32) { r.Logits(logits) }
	}
	return r, err
}

// start lets a text wait for its turn. r, if not nil, records it. scores, if not nil, has room for the tokens of the
// prompt, which get their logarithms before the answer has its first token.
func (h *host) start(ctx context.Context, key string, prompt []int32, o decoder.GenerateOptions, r *receipt.Recorder, scores []decoder.Token) (*answer, error) {
	c, err := h.generate.Continue(o)
	if err != nil {
		return nil, err
	}
	var read func(at int, logits []float32) error
	if scores != nil {
		read = func(at int, logits []float32) (err error) {
			scores[at+1], err = c.Score(logits, prompt[at+1])
			return err
		}
	}
	a := newAnswer()
	return a, h.texts.Submit(&batch.Task{
		Read:    read,
		Context: ctx, Key: key, Prompt: prompt, Most: len(prompt) + min(o.MaxTokens, h.generate.Options().Context+1-len(prompt)),
		Next: func(logits []float32, tokens []int32) (int32, bool, error) {
			t, err := c.Next(tokens, logits)
			if err != nil {
				return 0, false, err
			}
			if r != nil {
				r.Add(t)
			}
			a.add(t)
			return t.ID, t.End != decoder.Going, nil
		},
		Done: a.finish,
	})
}

// errEnds says that a text has ended although no token says so.
var errEnds = errors.New("server: the text has ended without a reason")

// poolStats returns the numbers of a model that does not continue texts.
func (h *host) poolStats() batch.PoolStats {
	if h.vectors != nil {
		return h.vectors.Stats()
	}
	return h.passages.Stats()
}
