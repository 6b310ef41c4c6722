package server

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/internal/ondemand"
	"github.com/attn-go/attn/models/server/internal/request"
)

// OnDemand returns a model that a server loads as [Load] does when a request asks for it, and
// unloads when another one needs its memory, see Settings.ModelsBytes. The files must be a model
// that can be loaded, and there is no draft model, and no MTP.
func OnDemand(model string, o LoadOptions) (*Model, error) {
	if err := o.checkDraft(); err != nil {
		return nil, err
	}
	if o.DraftModel != "" {
		return nil, &kernel.Error{Where: ofDraft, Got: fmt.Sprintf("%q for a model that is loaded on demand", o.DraftModel), Want: "none"}
	}
	if o.MTP {
		return nil, &kernel.Error{Where: ofMTP, Got: "true for a model that is loaded on demand", Want: "false"}
	}
	r, err := models.Inspect(model)
	if err == nil && len(r.Problems) > 0 {
		err = r.Problems[0]
	}
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = gguf.Name(filepath.Clean(model))
	}
	tokens := cmp.Or(o.Context, decoder.DefaultContext)
	return &Model{
		name: o.Name, architecture: r.Architecture,
		later: &later{
			kind: r.Kind, late: r.EmbedsTokens(), tasks: tasksOf(r), weights: r.Memory, text: r.TextMemory(tokens), open: func() (*Model, error) { return Load(model, o) },
		},
	}, nil
}

// later is what is known of a model that is loaded on demand.
type later struct {
	kind    models.Kind
	late    bool // a reranker that makes vectors of tokens
	tasks   []string
	weights int64 // bytes of weights
	text    int64 // bytes of the keys and values of a text of the whole context
	open    func() (*Model, error)
}

// tasksOf returns what a model will do, as [generator.facts] and the other kinds' facts have it.
func tasksOf(r *models.Report) []string {
	switch {
	case r.Kind == models.KindEmbedder:
		return []string{"embedding"}
	case r.EmbedsTokens():
		return []string{"rerank", "multivector"}
	case r.Kind == models.KindReranker:
		return []string{"rerank"}
	case r.Tokenizer != nil:
		return []string{}
	case r.Template != nil:
		return []string{"completion"}
	}
	return []string{"chat", "completion"}
}

// Memory returns how many bytes a model of [OnDemand] takes in a server of these settings: of
// weights, keys and values.
func (m *Model) Memory(s *Settings) int64 {
	bytes := m.later.weights
	if m.later.kind == models.KindGenerator {
		bytes += max(m.later.text, s.CacheBytes)
	}
	return bytes
}

// A lazy model is one that is not always loaded. Its work does the one that it then is.
type lazy struct {
	served // nil
	own    hosted
	item   *ondemand.Item[*awake]
}

// An awake model is loaded, and computes until it is stopped.
type awake struct {
	served
	stop context.CancelCauseFunc
	done chan struct{}
}

// newLazy makes what serves a model of OnDemand.
func (srv *Server) newLazy(h hosted, turns *batch.Turns) (served, error) {
	l := &lazy{own: h}
	var err error
	l.item, err = srv.awake.Add(h.Memory(h.s), func() (*awake, error) { return srv.wake(l, turns) }, func(a *awake) {
		a.stop(batch.ErrClosed)
		<-a.done
		h.s.Logger.Info("unloaded", "model", h.name)
	})
	if err != nil {
		return nil, fmt.Errorf("server: model %s: %w", h.name, err)
	}
	return l, nil
}

// wake loads a model.
func (srv *Server) wake(l *lazy, turns *batch.Turns) (*awake, error) {
	begin := time.Now()
	m, err := l.own.later.open()
	if err != nil {
		return nil, err
	}
	one, err := serve(m, &srv.s, &srv.limits, turns)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(srv.ctx)
	a := &awake{one, stop, make(chan struct{})}
	go func() {
		defer close(a.done)
		a.run(ctx)
	}()
	srv.s.Logger.Info("loaded", "model", m.name, "duration", time.Since(begin), "system_fingerprint", a.about().fingerprint)
	return a, nil
}

// hold returns the model that does the work of a request until that is closed, and loads it if it
// must.
func hold(m served, r *request.Request) (served, error) {
	l, ok := m.(*lazy)
	if !ok {
		return m, nil
	}
	a, release, err := l.item.Use(r.Ctx)
	if err != nil {
		return nil, err
	}
	r.OnClose(release)
	return a.served, nil
}

func (l *lazy) about() *hosted    { return &l.own }
func (l *lazy) kind() models.Kind { return l.own.later.kind }

// can implements served. It says the same of a model that is loaded, whose own answer may be
// another one.
func (l *lazy) can(w request.Work) error {
	if w, ok := w.(*request.Embed); ok && w.Multi && l.own.later.late {
		return nil
	}
	return ofKind(l, w)
}

func (l *lazy) run(context.Context) {} // a loaded one runs by itself
func (l *lazy) ready() error        { return nil }

// facts implements served. Of a model that is not loaded little is known.
func (l *lazy) facts(f *request.Facts) {
	a, loaded := l.item.Loaded()
	if f.Loaded = &loaded; loaded {
		f.Fingerprint, f.Digest = a.about().fingerprint, a.about().digest
		a.facts(f)
		return
	}
	if f.Tasks = l.own.later.tasks; l.kind() == models.KindGenerator {
		f.Defaults = defaultsOf(l.own.s)
	}
}

// stats implements served.
func (l *lazy) stats(show func(s *stat, n float64, labels ...string)) {
	if a, ok := l.item.Loaded(); ok {
		a.stats(show)
	}
}
