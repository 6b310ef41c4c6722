package server

import (
	"context"
	"time"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/promptcache"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
	"github.com/attn-go/attn/models/tokenizer"
)

// A generator continues texts.
type generator struct {
	hosted
	m       *decoder.Model
	texts   *batch.Scheduler
	format  *answer.Format // of conversations, nil for a model without a template
	markers []int32        // that it needs
}

func newGenerator(h hosted, m *decoder.Model, turns *batch.Turns) (*generator, error) {
	o, err := schedule(m, h.draft, h.s)
	if err != nil {
		return nil, err
	}
	if o.Draft != nil {
		o.Draft.Most = h.guesses
	} else if m.Options().MTP {
		o.Ahead = h.guesses
	}
	if c := h.s.PromptCache; c != nil && h.digest != "" {
		o.Saved = &promptcache.Pages{Cache: c, First: promptcache.First(m.StateFingerprint(h.digest), o.Page), Size: o.Page}
	}
	o.Turn = turns.Join()
	g := &generator{hosted: h, m: m}
	if template, none := m.Template(); none == nil {
		g.format = answer.Of(template)
		if tok, none := m.Tokenizer(); none == nil {
			g.markers = g.format.Markers(tok)
		}
	}
	g.texts, err = batch.New(o)
	return g, err
}

// schedule returns the settings of a language model's scheduler, which a draft model guesses for if
// it is not nil. A layer of the model that guesses has its keys and values beside the others.
func schedule(m, draft *decoder.Model, s *Settings) (batch.Options, error) {
	o, page := m.Options(), 0 // bytes of a page of tokens in all layers
	for _, m := range []*decoder.Model{m, draft} {
		if m == nil {
			continue
		}
		bytes, err := m.PageBytes()
		if err != nil {
			return batch.Options{}, err
		}
		page += bytes * m.Pages(1)
	}
	ahead, err := m.AheadBytes()
	if err != nil {
		return batch.Options{}, err
	}
	// Each running text copies a page of the layer that guesses, and no more run than have a page.
	copies := min(s.Running, int(max(1, s.CacheBytes/int64(page+2*ahead))))
	most := int(max(0, s.CacheBytes-int64(ahead*copies)) / int64(page+ahead)) // texts of a page of tokens
	texts := max(textsOf(m, o.Context), most)
	guessed := max(texts, (o.Context+o.PageSize-1)/o.PageSize) + copies // pages of that layer
	var drafts *batch.Draft
	if draft != nil {
		d := draft.Options()
		texts := max(textsOf(draft, min(o.Context, d.Context)), most)
		drafts = &batch.Draft{Open: func() (*decoder.Session, error) { return draft.NewSession(texts, o.PageSize) }, Page: d.PageSize, Context: d.Context}
	}
	return batch.Options{
		Draft: drafts,
		Open: func() (batch.Session, error) {
			x, err := m.NewSession(texts, o.PageSize)
			if err == nil {
				x.KeepWindows = true // prefixes that nobody uses go first
				if o.MTP {
					err = x.OpenAhead(guessed, o.PageSize)
				}
			}
			return x, err
		},
		Pages: texts * m.Pages(1), Page: o.PageSize, Needs: m.Pages, Running: s.Running, Step: s.StepTokens, Chunk: s.ChunkTokens, Waiting: s.Waiting, PerKey: s.WaitingPerKey,
	}, nil
}

// textsOf returns how many texts of a page of tokens take as many pages as a text of the whole
// context, and a page of each group of layers to copy a shared one.
func textsOf(m *decoder.Model, context int) int {
	groups := m.Pages(1)
	return (m.Pages(context)+groups-1)/groups + 1
}

func (g *generator) kind() models.Kind                        { return models.KindGenerator }
func (g *generator) can(w request.Work) error                 { return ofKind(g, w) }
func (g *generator) tokenizer() (*tokenizer.Tokenizer, error) { return g.m.Tokenizer() }
func (g *generator) run(ctx context.Context)                  { g.texts.Run(ctx) }
func (g *generator) ready() error                             { return g.texts.Ready() }

// do implements served.
func (g *generator) do(r *request.Request, emit func(*request.Event) error) error {
	w := r.Work.(*request.Generate)
	if err := g.prepare(r, w); err != nil || w.Count {
		return err
	}
	ctx, cancel := context.WithCancel(r.Ctx)
	defer cancel() // ends those that have begun, if one cannot
	begin := time.Now()
	var records []*receipt.Recorder
	for i := range len(w.Prompts) * w.Choices {
		task, record, err := g.task(ctx, r, w, i)
		if err == nil {
			err = g.texts.Submit(task)
		}
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	for {
		e, err := r.Next(ctx)
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		if r.First == 0 {
			r.First = time.Since(begin)
		}
		if err := emit(e); err != nil {
			return err
		}
	}
	if !r.Receipt {
		return nil
	}
	all := make([]*receipt.Receipt, len(records))
	for i, record := range records {
		all[i] = record.Receipt()
	}
	return g.receipts(r, all...)
}

// task returns what makes a choice of an answer, and its recorder, nil if no receipt is wanted.
func (g *generator) task(ctx context.Context, r *request.Request, w *request.Generate, choice int) (task *batch.Task, record *receipt.Recorder, err error) {
	at, nth := choice/w.Choices, choice%w.Choices
	prompt, o := w.Prompts[at], w.Options
	o.Sampler.Seed += uint64(nth)
	if r.Receipt {
		if record, err = g.record(w, prompt, &o); err != nil {
			return nil, nil, err
		}
	}
	c, err := g.m.Continue(o)
	if err != nil {
		return nil, nil, err
	}
	answer := r.Begin()
	task = &batch.Task{
		Context: ctx, Key: r.Key, Prompt: prompt, Most: len(prompt) + min(o.MaxTokens, g.m.Options().Context+1-len(prompt)),
		Next: func(logits []float32, tokens []int32) (int32, bool, error) {
			t, err := c.Next(tokens, logits)
			if err != nil {
				return 0, false, err
			}
			if record != nil {
				record.Add(t)
			}
			answer.Add(t)
			return t.ID, t.End != decoder.EndNone, nil
		},
		Done: answer.Finish,
	}
	if nth == 0 && w.Echo && o.Logprobs { // the other choices share the first one's
		scores := w.Echoed[at].Tokens
		task.Read = func(at int, logits []float32) (err error) {
			scores[at+1], err = c.Score(logits, prompt[at+1])
			return err
		}
	}
	return task, record, nil
}

// record lets o and the recorder it returns make the receipt of a text.
func (g *generator) record(w *request.Generate, prompt []int32, o *decoder.GenerateOptions) (*receipt.Recorder, error) {
	r, err := receipt.Record(g.named(), g.m, prompt, o)
	if err != nil {
		return nil, err
	}
	o.Logits = func(_ int, logits []float32) { r.Logits(logits) }
	if w.Conversation == nil {
		return r, nil
	}
	return r, r.Conversation(w.Conversation)
}

// facts implements served. A model without a tokenizer continues tokens alone, which is no task for
// texts.
func (g *generator) facts(f *request.Facts) {
	o, c, s := g.m.Options(), g.m.Config(), g.s
	f.Tasks, f.Context, f.Layers, f.Vocabulary = []string{}, o.Context, c.Layers, c.Vocab
	if f.Architecture == "" {
		f.Architecture = c.Architecture
	}
	if tok, err := g.m.Tokenizer(); err == nil {
		if template, err := g.m.Template(); err == nil {
			f.Tasks, f.Template, f.Abilities = append(f.Tasks, "chat"), template.Source(), []string{"tools"}
			if _, end := g.format.Thinks(); end != "" {
				f.Abilities = append(f.Abilities, "thinking")
			}
		}
		if f.Tasks = append(f.Tasks, "completion"); infillOf(tok) != nil {
			f.Abilities = append(f.Abilities, "insert")
		}
	}
	f.CacheType, f.Activations = o.CacheType.String(), o.Precision.String()
	if o.ValueType() != o.CacheType {
		f.CacheValueType = o.CacheValueType.String()
	}
	if o.DynamicInt12 {
		f.Attention = "integers"
	}
	f.Defaults = defaultsOf(s)
	f.Slots = s.Running
	if g.m.ReadsDate() {
		f.Defaults.Date = s.Date.String()
	}
}

// defaultsOf returns what requests need not say, but for the date.
func defaultsOf(s *Settings) *request.Defaults {
	return &request.Defaults{
		MaxTokens: s.MaxTokens, Temperature: s.Sampler.Temperature, TopK: s.Sampler.TopK, TopP: options.WrittenTopP(s.Sampler.TopP), Seed: s.Sampler.Seed,
	}
}

// stats implements served.
func (g *generator) stats(show func(s *stat, n float64, labels ...string)) {
	s := g.texts.Stats()
	show(waiting, float64(s.Waiting))
	show(running, float64(s.Running))
	show(pages, float64(s.Free), "free")
	show(pages, float64(s.Kept), "kept")
	show(pages, float64(s.Pages), "all")
	show(steps, float64(s.Steps))
	show(computed, float64(s.Read), "prompt")
	show(computed, float64(s.Generated), "answer")
	show(computed, float64(s.Shared), "shared")
	show(computed, float64(s.Loaded), "loaded")
	show(preempted, float64(s.Preempted))
	if g.guesses > 0 {
		show(guessed, float64(s.Right), "right")
		show(guessed, float64(s.Guessed-s.Right), "wrong")
	}
}
