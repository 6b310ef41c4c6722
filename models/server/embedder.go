package server

import (
	"context"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/batch"
	"github.com/attn-go/attn/models/server/internal/request"
	"github.com/attn-go/attn/models/tokenizer"
)

// An embedder makes vectors of texts.
type embedder struct {
	hosted
	m       *embedding.Embedder
	vectors *batch.Pool[text, []float32]
}

// A text is what an embedder makes a vector of so many numbers of.
type text struct {
	ids        []int32
	dimensions int
}

// batchTokens is how many tokens encoders compute at once.
const batchTokens = 512

func newEmbedder(h hosted, m *embedding.Embedder, turns *batch.Turns) *embedder {
	if h.exec != nil {
		o := m.Options()
		o.Exec = *h.exec
		m = m.With(o)
	}
	e := &embedder{hosted: h, m: m}
	e.vectors = batch.NewPool(batch.PoolOptions[text, []float32]{
		Work: e.compute, Cost: func(t text) int { return len(t.ids) }, Most: batchTokens,
		Waiting: h.s.Waiting, PerKey: h.s.WaitingPerKey, Turn: turns.Join(),
	})
	return e
}

func (e *embedder) kind() models.Kind                        { return models.KindEmbedder }
func (e *embedder) tokenizer() (*tokenizer.Tokenizer, error) { return e.m.Tokenizer(), nil }
func (e *embedder) run(ctx context.Context)                  { e.vectors.Run(ctx) }

// compute makes vectors, those of as many dimensions in one call.
func (e *embedder) compute(ctx context.Context, items []text) ([][]float32, error) {
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
		vectors, err := e.cut(dimensions).EmbedTokens(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, at := range list {
			outs[at] = vectors[i]
		}
	}
	return outs, nil
}

// cut returns the model with vectors of so many dimensions.
func (e *embedder) cut(dimensions int) *embedding.Embedder {
	o := e.m.Options()
	o.Dimensions = dimensions
	return e.m.With(o)
}

// prepare checks a request, and makes tokens of its texts.
func (e *embedder) prepare(r *request.Request, w *request.Embed) error {
	if d := w.Dimensions; d != nil && (*d < 1 || *d > e.m.Width()) {
		return badParam("dimensions", "dimensions: got %d, want 1 to %d", *d, e.m.Width())
	}
	if err := e.wantReceipt(r); err != nil {
		return err
	}
	if r.Receipt && len(w.Tokens) > 0 {
		return badParam("receipt", "receipt: got true with tokens as the input, want texts")
	}
	if n := w.Len(); n < 1 || n > e.s.Texts {
		return badParam("input", "input: got %d texts, want 1 to %d", n, e.s.Texts)
	}
	release, err := e.encoding(r)
	if err != nil {
		return err
	}
	defer release()
	if err := e.encode(w); err != nil {
		return err
	}
	for i, ids := range w.IDs {
		if bad := e.m.CheckTokens(ids); bad != nil {
			return badParam("input", "input[%d]%s: got %s, want %s", i, bad.Arg(), bad.Got, bad.Want)
		}
		r.Prompt += len(ids)
	}
	return nil
}

// encode makes tokens of the texts, no more than the model sees.
func (e *embedder) encode(w *request.Embed) error {
	most := e.m.MaxTokens()
	for _, s := range w.Texts {
		ids := e.m.Tokens(s)
		if len(ids) >= most && !w.Truncate && !e.m.Fits(s) {
			return tooLong("input", most)
		}
		w.IDs = append(w.IDs, ids)
	}
	for _, ids := range w.Tokens {
		if len(ids) > most {
			if !w.Truncate {
				return tooLong("input", most)
			}
			if e.m.Tokenizer().CutsBeginning() {
				ids = ids[len(ids)-most:]
			} else {
				ids = ids[:most]
			}
		}
		w.IDs = append(w.IDs, ids)
	}
	return nil
}

// do is that of served.
func (e *embedder) do(r *request.Request, _ func(*request.Event) error) (err error) {
	w := r.Work.(*request.Embed)
	if err := e.prepare(r, w); err != nil {
		return err
	}
	dimensions := e.m.Options().Dimensions
	if w.Dimensions != nil {
		dimensions = *w.Dimensions
	}
	items := make([]text, len(w.IDs))
	for i, ids := range w.IDs {
		items[i] = text{ids, dimensions}
	}
	if w.Vectors, err = e.vectors.Do(r.Ctx, r.Key, items); err != nil || !r.Receipt {
		return err
	}
	record, err := receipt.RecordEmbeddings(e.named(), e.load, e.cut(dimensions), w.Texts, w.Vectors)
	if err != nil {
		return badParam("receipt", "%v", err)
	}
	return e.receipts(r, record)
}

// facts is that of served.
func (e *embedder) facts(f *request.Facts) {
	f.Tasks, f.Context, f.Dimensions, f.Vocabulary = []string{"embedding"}, e.m.MaxTokens(), e.m.Width(), e.m.Vocab()
	if e.m.Prompt() == "" { // otherwise each text has one, and would get a second
		f.Prompts = e.m.Prompts()
	}
}

// stats is that of served.
func (e *embedder) stats(show func(s *stat, n float64, labels ...string)) {
	showPool(e.vectors.Stats(), show)
}
