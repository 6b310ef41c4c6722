package decoder

import (
	"cmp"
	"context"
	"sync"

	"github.com/attn-go/attn/models/embedding"
)

// LoadEmbedder reads a decoder as a model of embeddings, such as Qwen3-Embedding, or one that sees
// both ways, as gte-Qwen2 (is_causal false in config.json, attention.causal false in a GGUF file)
// and EmbeddingGemma do: from a folder with modules.json, see [embedding.Modules], or from a GGUF
// file whose pooling_type says how the states of tokens become a vector, which is divided by its L2
// norm. The tokenizer adds the tokens around a text, such as the last one, whose state stands for
// the text in Qwen3-Embedding. The path is found as with [Load], and the errors are the same.
func LoadEmbedder(model string, o embedding.LoadOptions) (*embedding.Embedder, error) {
	x, m, err := load(model, embeds, optionsOf(o))
	if err != nil {
		return nil, err
	}
	p, err := m.parts(x.modules)
	if err == nil && x.file != nil {
		p.Steps = append(x.steps, embedding.Unit)
	} else if err == nil {
		p.Steps, err = embedding.ReadSteps(x.path, x.modules, p.Width, embedding.LoadOptions{Unit: o.Unit})
	}
	if err != nil {
		return nil, naming(x.path, err)
	}
	return embedding.New(*p), nil
}

// optionsOf returns the options of a model that makes vectors or scores.
func optionsOf(o embedding.LoadOptions) Options {
	return Options{Precision: o.Precision, Context: o.Context, LoRA: o.LoRA, KeepPacked: o.KeepPacked, Progress: o.Progress}
}

// parts returns what an embedder of the model has, without the steps after the pooling.
func (m *Model) parts(modules *embedding.Modules) (*embedding.Parts, error) {
	t, err := m.Tokenizer()
	if err == nil && modules.Lower {
		t, err = t.Lower()
	}
	if err != nil {
		return nil, err
	}
	p := &embedding.Parts{
		Model: &embedder{model: m}, Tokenizer: t, Drop: -1, Modules: modules,
		Vocab: m.config.Vocab, Width: m.config.Width, MaxTokens: min(m.options.Context, m.config.Context), Positions: m.options.Context,
	}
	if n := cmp.Or(modules.MaxTokens, modules.TokenizerMax); n > 0 {
		p.MaxTokens = min(n, p.MaxTokens)
	}
	return p, nil
}

// An embedder computes states of texts, each in a session of its own or beside others.
type embedder struct {
	model *Model
	free  sync.Pool // of *Session
}

// States computes the states after the last norm, of the last token alone if only that
// counts. See [embedding.Model].
func (e *embedder) States(ctx context.Context, ids, _ [][]int32, o *embedding.Options, how embedding.Pooling, each func(text int, states []float32) error) error {
	m := *e.model
	m.options.Exec = o.Exec
	rows := LogitsAll
	if how == embedding.PoolLast {
		rows = LogitsLast
	}
	for batch := range embedding.Batches(ids, o.Tokens()) {
		if err := e.batch(ctx, &m, batch, ids, rows, each); err != nil {
			return err
		}
	}
	return nil
}

// batch computes the states of the texts of a batch.
func (e *embedder) batch(ctx context.Context, m *Model, batch []int, ids [][]int32, rows Rows, each func(text int, states []float32) error) error {
	pages, tokens := 0, 0
	for _, text := range batch {
		tokens += len(ids[text])
		pages += m.Pages(len(ids[text]))
	}
	s, err := e.session(m, pages)
	if err != nil {
		return err
	}
	defer e.free.Put(s)
	if s.chunk = chunk; m.config.Bidirectional { // a token sees those after it: all are computed at once
		s.chunk = max(tokens, chunk)
	}
	steps := make([]Step, len(batch))
	for i, text := range batch {
		steps[i] = Step{Text: s.NewText(), Tokens: ids[text], Logits: rows}
		defer steps[i].Text.Free()
	}
	states, err := s.Hidden(ctx, steps...)
	if err != nil {
		return err
	}
	for i, text := range batch {
		if err := each(text, states[i]); err != nil {
			return err
		}
	}
	return nil
}

// session returns a session without texts whose cache has so many pages.
func (e *embedder) session(m *Model, pages int) (*Session, error) {
	if s, ok := e.free.Get().(*Session); ok && s.FreePages() >= pages {
		s.model = m
		return s, nil
	}
	return m.newSession(pages)
}
