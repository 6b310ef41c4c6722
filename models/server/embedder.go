package server

import (
	"context"
	"errors"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/request"
	"github.com/attn-go/attn/models/tokenizer"
)

// An embedder makes vectors of texts.
type embedder struct {
	hosted
	m       *embedding.Embedder
	vectors *batch.Pool[text, []float32]
}

// A text is what an embedder makes a vector of.
type text struct {
	ids []int32
	manner
}

// A manner says what vectors are made.
type manner struct {
	dimensions int
	prompt     string // its name, "" for the default of the model
	encoded    bool   // the tokens are those of texts, with the prompt
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

// compute makes vectors, those of one manner in one call.
func (e *embedder) compute(ctx context.Context, items []text) ([][]float32, error) {
	outs := make([][]float32, len(items))
	places := map[manner][]int{} // of items
	for i, t := range items {
		places[t.manner] = append(places[t.manner], i)
	}
	for how, list := range places {
		ids := make([][]int32, len(list))
		for i, at := range list {
			ids[i] = items[at].ids
		}
		with := e.with(how)
		embed := with.EmbedTokens
		if how.encoded {
			embed = with.EmbedEncoded
		}
		vectors, err := embed(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, at := range list {
			outs[at] = vectors[i]
		}
	}
	return outs, nil
}

// with returns the model with vectors of a manner.
func (e *embedder) with(how manner) *embedding.Embedder {
	o := e.m.Options()
	o.Dimensions, o.Prompt = how.dimensions, how.prompt
	return e.m.With(o)
}

// mannerOf returns what vectors a request wants.
func (e *embedder) mannerOf(w *request.Embed) manner {
	how := manner{e.m.Options().Dimensions, w.Prompt, len(w.Tokens) == 0}
	if w.Dimensions != nil {
		how.dimensions = *w.Dimensions
	}
	return how
}

// promptOf returns the name of the prompt that a request asks for. Clients ask by the names of several APIs.
func (e *embedder) promptOf(w *request.Embed) error {
	if w.Prompt == "" {
		return nil
	}
	if len(w.Tokens) > 0 {
		return badParam(w.PromptField, "%s: got one with tokens as the input, want texts", w.PromptField)
	}
	for _, name := range append([]string{w.Prompt}, w.PromptNames...) {
		if _, ok := e.m.Prompts()[name]; ok {
			w.Prompt = name
			return nil
		}
	}
	var bad *kernel.Error
	if _, err := e.with(e.mannerOf(w)).EmbedTokens(context.Background(), nil); !errors.As(err, &bad) {
		return err
	}
	return badParam(w.PromptField, "%s: got %.60s, want %s", w.PromptField, bad.Got, bad.Want)
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
	if err := e.promptOf(w); err != nil {
		return err
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
	most, with := e.m.MaxTokens(), e.with(e.mannerOf(w))
	for _, s := range w.Texts {
		ids := with.Tokens(s)
		if len(ids) >= most && !w.Truncate && !with.Fits(s) {
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
	how := e.mannerOf(w)
	items := make([]text, len(w.IDs))
	for i, ids := range w.IDs {
		items[i] = text{ids, how}
	}
	if w.Vectors, err = e.vectors.Do(r.Ctx, r.Key, items); err != nil || !r.Receipt {
		return err
	}
	record, err := receipt.RecordEmbeddings(e.named(), e.load, e.with(how), w.Texts, w.Vectors)
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
