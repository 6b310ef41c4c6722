package decoder

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/folder"
	"github.com/attn-go/attn/models/gguf"
)

// LoadEmbedder reads a decoder as a model of embeddings, such as Qwen3-Embedding, or one that sees both ways, as
// gte-Qwen2 (is_causal false in config.json, attention.causal false in a GGUF file) and EmbeddingGemma do: from a
// folder with modules.json, see [folder.Modules], or from a GGUF file whose pooling_type says how the
// states of tokens become a vector, which is divided by its L2 norm. The tokens around a text, such as the last
// one, whose state is that of the text for Qwen3-Embedding, are those of the tokenizer. The path is found as with
// [Load], and the errors are the same.
func LoadEmbedder(model string, o embedding.LoadOptions) (*embedding.Embedder, error) {
	p, err := loadParts(model, o, embedderOfFile, embedderOfFolder)
	if err != nil {
		return nil, err
	}
	return embedding.New(*p), nil
}

// loadParts finds a model that makes vectors or scores, and reads it as a file or as a folder.
func loadParts[P any](model string, o embedding.LoadOptions, ofFile, ofFolder func(path string, options Options, o embedding.LoadOptions) (*P, error)) (*P, error) {
	options := Options{DynamicInt8: o.Int8, Context: o.Context, Progress: o.Progress}
	if err := options.Check(); err != nil {
		return nil, err
	}
	path, isFolder, err := find(model)
	if err != nil {
		return nil, err
	}
	load := ofFile
	if isFolder {
		load = ofFolder
	}
	p, err := load(path, options, o)
	return p, naming(path, err)
}

func embedderOfFolder(dir string, options Options, o embedding.LoadOptions) (*embedding.Parts, error) {
	modules, err := folder.ReadModules(dir)
	if err != nil {
		return nil, err
	}
	if !modules.Listed {
		return nil, &kernel.Error{Where: "modules.json: the pooling", Got: "no such file", Want: "the modules of a model of embeddings; this is a model that generates text"}
	}
	m, err := loadFolder(folder.Transformer(dir), options, true)
	if err != nil {
		return nil, err
	}
	p, err := m.parts(modules)
	if err != nil {
		return nil, err
	}
	p.Steps, err = embedding.ReadSteps(dir, modules, p.Width, embedding.LoadOptions{Unit: o.Unit})
	return p, err
}

// poolings are the values of pooling_type in GGUF files.
var poolings = map[int64]folder.Pooling{1: folder.Mean, 2: folder.First, 3: folder.Last}

func embedderOfFile(path string, options Options, _ embedding.LoadOptions) (*embedding.Parts, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var key string
	var n int64
	var missing error
	m, dense, err := newModel(f, path, options, true, func() {
		arch, _ := f.String("general.architecture") // which has been read
		key = arch + ".pooling_type"
		n, missing = f.Int(key)
		f.DropMetadata()
	})
	if err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	how, ok := poolings[n]
	if !ok {
		return nil, gguf.KeyError(key, fmt.Sprint(n), "1 (mean), 2 (cls) or 3 (last token)")
	}
	p, err := m.parts(&folder.Modules{Poolings: []folder.Pooling{how}})
	if err != nil {
		return nil, err
	}
	p.Steps = append(dense, embedding.Unit)
	return p, nil
}

// dense loads the layers that follow the pooling in GGUF files of EmbeddingGemma, if they are there:
// dense_2 and dense_3, without bias and activation.
func (l *loader) dense(c *Config) (steps []embedding.Step, err error) {
	width := c.Width
	for _, name := range []string{"dense_2.weight", "dense_3.weight"} {
		info, ok := l.Info(name)
		if !ok {
			continue
		}
		if len(info.Shape) != 2 || info.Shape[0] < 1 || info.Shape[0] > most {
			return nil, l.Bad(name, fmt.Sprintf("[outputs, %d]", width))
		}
		n := info.Shape[0]
		w := l.Floats(name, n, width)
		if l.Err() != nil {
			return nil, l.Err()
		}
		if l.Dry == nil {
			s, err := embedding.Dense(w, n, width)
			if err != nil {
				return nil, fmt.Errorf("decoder: %s: %w", l.Where(name), err)
			}
			steps = append(steps, s)
		}
		width = n
	}
	return steps, nil
}

// parts returns what an embedder of the model has, without the steps after the pooling.
func (m *Model) parts(modules *folder.Modules) (*embedding.Parts, error) {
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

// States computes the states after the last norm, of the last token alone if only that counts. See [embedding.Model].
func (e *embedder) States(ctx context.Context, ids, _ [][]int32, o *embedding.Options, how folder.Pooling, each func(text int, states []float32) error) error {
	m := *e.model
	m.options.Exec = o.Exec
	rows := All
	if how == folder.Last {
		rows = Last
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
		pages += m.pages(len(ids[text]))
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
	if s, ok := e.free.Get().(*Session); ok && s.cache.FreePages() >= pages {
		s.model = m
		return s, nil
	}
	return m.newSession(pages)
}
