package server

import (
	"context"
	"errors"
	"slices"
	"strings"

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
	vectors *batch.Pool[text, vectors]
}

// A text is what an embedder makes vectors of.
type text struct {
	ids []int32
	manner
}

// vectors are what is made of a text, as its form says.
type vectors struct {
	one     []float32
	tokens  embedding.TokenVectors
	weights embedding.Sparse
}

// A form says what is made.
type form int

const (
	ofText form = iota
	ofQuery
	ofDocument
	asWeights
)

// A manner says how they are made.
type manner struct {
	form       form
	dimensions int
	prompt     string // its name, "" for the default of the model
	encoded    bool   // the tokens are encoded texts, with the prompt
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
	e.vectors = batch.NewPool(batch.PoolOptions[text, vectors]{
		Work: e.compute, Cost: func(t text) int { return len(t.ids) }, Most: batchTokens,
		Waiting: h.s.Waiting, PerKey: h.s.WaitingPerKey, Turn: turns.Join(),
	})
	return e
}

func (e *embedder) kind() models.Kind                        { return models.KindEmbedder }
func (e *embedder) tokenizer() (*tokenizer.Tokenizer, error) { return e.m.Tokenizer(), nil }
func (e *embedder) run(ctx context.Context)                  { e.vectors.Run(ctx) }

// compute makes vectors, one call for each manner.
func (e *embedder) compute(ctx context.Context, items []text) ([]vectors, error) {
	outs := make([]vectors, len(items))
	places := map[manner][]int{} // of items
	for i, t := range items {
		places[t.manner] = append(places[t.manner], i)
	}
	for how, list := range places {
		ids := make([][]int32, len(list))
		for i, at := range list {
			ids[i] = items[at].ids
		}
		put, err := e.embed(ctx, how, ids)
		if err != nil {
			return nil, err
		}
		for i, at := range list {
			put(&outs[at], i)
		}
	}
	return outs, nil
}

// embed computes texts in a manner. put gives a result what is made of a text.
func (e *embedder) embed(ctx context.Context, how manner, ids [][]int32) (put func(to *vectors, i int), err error) {
	with := e.with(how)
	if how.form == asWeights {
		all, err := with.SparseTokens(ctx, ids)
		return func(to *vectors, i int) { to.weights = all[i] }, err
	}
	if how.form != ofText {
		of := with.DocumentVectors
		if how.form == ofQuery {
			of = with.QueryVectors
		}
		all, err := of(ctx, ids)
		return func(to *vectors, i int) { to.tokens = all[i] }, err
	}
	of := with.EmbedTokens
	if how.encoded {
		of = with.EmbedEncoded
	}
	all, err := of(ctx, ids)
	return func(to *vectors, i int) { to.one = all[i] }, err
}

// with returns the model with vectors of a manner.
func (e *embedder) with(how manner) *embedding.Embedder {
	o := e.m.Options()
	o.Dimensions, o.Prompt = how.dimensions, how.prompt
	return e.m.With(o)
}

// mannerOf returns how a request wants the vectors of its texts.
func (e *embedder) mannerOf(w *request.Embed) manner {
	how := manner{ofText, e.m.Options().Dimensions, w.Prompt, len(w.Tokens) == 0}
	if w.Dimensions != nil && w.Vector(e.m.HasVector()) {
		how.dimensions = *w.Dimensions
	}
	return how
}

// mannersOf returns how all that a request wants is made.
func (e *embedder) mannersOf(w *request.Embed) (all []manner) {
	add := func(wanted bool, how manner) {
		if wanted {
			all = append(all, how)
		}
	}
	tokens := ofDocument
	if w.Query {
		tokens = ofQuery
	}
	add(w.Vector(e.m.HasVector()), e.mannerOf(w))
	add(w.Multi, manner{form: tokens})
	add(w.Sparse, manner{form: asWeights})
	return all
}

// lacks reports that the model does not make what a request wants.
func (e *embedder) lacks(w *request.Embed) (err error) {
	switch {
	case w.Multi && !e.m.HasTokenVectors():
		err = embedding.ErrNoTokenVectors
	case w.Sparse && !e.m.HasSparse():
		err = embedding.ErrNotSparse
	case w.Vector(e.m.HasVector()):
		_, err = e.m.EmbedTokens(context.Background(), nil)
	}
	if err != nil {
		return badParam("model", "%q: %s", e.name, strings.TrimPrefix(err.Error(), "embedding: "))
	}
	return nil
}

// role sets whether texts are queries, of a model that has two kinds of texts.
func (e *embedder) role(w *request.Embed) error {
	names := append([]string{w.Prompt}, w.PromptNames...)
	if w.Query = slices.Contains(names, "query"); !w.Query && w.Prompt != "" && !slices.Contains(names, "document") {
		return badParam(w.PromptField, "%s: got %.60q, want query or document", w.PromptField, w.Prompt)
	}
	w.Prompt = ""
	return nil
}

// promptOf returns the name of the prompt that a request asks for. Clients ask by the names of
// several APIs.
func (e *embedder) promptOf(w *request.Embed) error {
	if w.Multi && !e.m.HasVector() {
		return e.role(w)
	}
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
	if err := e.lacks(w); err != nil {
		return err
	}
	if err := e.dimensions(w); err != nil {
		return err
	}
	if err := e.wantReceipt(r); err != nil {
		return err
	}
	switch {
	case r.Receipt && len(w.Tokens) > 0:
		return badParam("receipt", "receipt: got true with tokens as the input, want texts")
	case r.Receipt && (w.Multi || w.Sparse):
		return badParam("receipt", "receipt: got true with vectors or weights of tokens, which have none")
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
	if w.Multi {
		rows := r.Prompt
		if w.Query {
			rows = len(w.IDs) * e.m.QueryLength() // as mask tokens may fill up each
		}
		if most := mostNumbers / e.m.TokenWidth(); rows > most {
			return badParam("input", "input: got texts with %d vectors of tokens, want at most %d", rows, most)
		}
	}
	return nil
}

// mostNumbers bounds the vectors of tokens of an answer, which take many times the memory of its
// texts: a text of bge-m3 has 1024 numbers for each of up to 8192 tokens.
const mostNumbers = 1 << 23

// dimensions checks how many numbers of a vector are wanted. Vectors of tokens are not cut.
func (e *embedder) dimensions(w *request.Embed) error {
	least, most := 1, e.m.Width()
	if w.Multi {
		least, most = e.m.TokenWidth(), e.m.TokenWidth()
	}
	switch d := w.Dimensions; {
	case d == nil:
	case !w.Multi && !w.Vector(e.m.HasVector()):
		return badParam("dimensions", "dimensions: got %d, want none, as weights of tokens have no dimensions", *d)
	case *d < least || *d > most:
		return badParam("dimensions", "dimensions: got %d, want %d to %d", *d, least, most)
	}
	return nil
}

// encode makes tokens of the texts, no more than the model sees.
func (e *embedder) encode(w *request.Embed) error {
	with, most := e.with(e.mannerOf(w)), e.m.MaxTokens()
	of, fits := with.Tokens, with.Fits
	if w.Multi && !e.m.HasVector() {
		count := with.CountDocument
		if of, most = with.DocumentTokens, with.DocumentLength(); w.Query {
			of, count, most = with.QueryTokens, with.CountQuery, with.QueryLength()
		}
		fits = func(s string) bool { return count(s) <= most }
	}
	for _, s := range w.Texts {
		ids := of(s)
		if len(ids) >= most && !w.Truncate && !fits(s) {
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

// do implements served.
func (e *embedder) do(r *request.Request, _ func(*request.Event) error) (err error) {
	w := r.Work.(*request.Embed)
	if err := e.prepare(r, w); err != nil {
		return err
	}
	var items []text
	for _, how := range e.mannersOf(w) {
		for _, ids := range w.IDs {
			items = append(items, text{ids, how})
		}
	}
	all, err := e.vectors.Do(r.Ctx, r.Key, items)
	if err != nil {
		return err
	}
	for i, one := range all {
		switch items[i].form {
		case ofText:
			w.Vectors = append(w.Vectors, one.one)
		case asWeights:
			w.Weights = append(w.Weights, one.weights)
		default:
			w.Lists = append(w.Lists, one.tokens)
		}
	}
	if !r.Receipt {
		return nil
	}
	record, err := receipt.RecordEmbeddings(e.named(), e.load, e.with(items[0].manner), w.Texts, w.Vectors)
	if err != nil {
		return badParam("receipt", "%v", err)
	}
	return e.receipts(r, record)
}

// facts implements served.
func (e *embedder) facts(f *request.Facts) {
	f.Tasks, f.Context, f.Dimensions, f.Vocabulary = e.tasks(), e.m.MaxTokens(), e.m.Width(), e.m.Vocab()
	if e.m.Prompt() == "" { // otherwise each text has one, and would get a second
		f.Prompts = e.m.Prompts()
	}
}

// tasks returns what is made of texts.
func (e *embedder) tasks() (all []string) {
	for _, x := range []struct {
		name string
		has  bool
	}{{"embedding", e.m.HasVector()}, {"multivector", e.m.HasTokenVectors()}, {"sparse", e.m.HasSparse()}} {
		if x.has {
			all = append(all, x.name)
		}
	}
	return all
}

// can implements served.
func (e *embedder) can(w request.Work) error {
	if w, ok := w.(*request.Embed); ok {
		return e.lacks(w)
	}
	return ofKind(e, w)
}

// stats implements served.
func (e *embedder) stats(show func(s *stat, n float64, labels ...string)) {
	showPool(e.vectors.Stats(), show)
}
