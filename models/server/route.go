package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/page"
	"github.com/attn-go/attn/models/server/internal/request"
)

// routes sets what answers which path.
func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n"))
	})
	s.mux.Handle("GET /metrics", s.guarded(s.metrics.handler()))
	for _, p := range dialect.Paths {
		s.mux.Handle(p.Pattern, s.answering(p))
	}
	s.mux.Handle("GET /{$}", page.Handler()) // without a key, as it holds nothing: it asks for one
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, dialect.ErrorsOf(r.URL.Path), dialect.Fail(http.StatusNotFound, "", "there is no %s %s", r.Method, r.URL.Path), 0)
	})
	if s.s.Pprof {
		for name, h := range map[string]http.HandlerFunc{"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace} {
			s.mux.Handle("/debug/pprof/"+name, s.guarded(h))
		}
	}
}

// health answers as llama.cpp's server does.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := s.ready(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 503, "message": err.Error(), "type": "unavailable_error"}})
		return
	}
	w.Write([]byte(`{"status":"ok"}` + "\n"))
}

// guarded lets requests through that have a key.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := s.who(r); err != nil {
			refuse(w, dialect.OpenAI{}, failureOf(err), 0)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// idForm is the form of an id that a client may give its request.
var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ServeHTTP gives a request an id, answers it, and survives panics.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if o := originOf(r.Context()); o != nil {
		id = o.RequestID
	} else if !idForm.MatchString(id) {
		id = s.s.NewID()
	}
	x := newExchange(w, r, id, s.s.WriteTimeout)
	if r.ContentLength != 0 { // also a body that nobody reads, before the connection goes on
		x.limitRead(s.s.BodyTimeout)
	}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.panicked(id, p, debug.Stack())
			if x.status == 0 {
				refuse(x, dialect.ErrorsOf(r.URL.Path), failureOf(errors.New("panic")), 0)
			}
		}
	}()
	if s.shared(x, r) {
		return
	}
	if err := s.foreign(r); err != nil {
		refuse(x, dialect.ErrorsOf(r.URL.Path), failureOf(err), 0)
		return
	}
	s.mux.ServeHTTP(x, r)
}

// panicked reports a panic.
func (s *Server) panicked(id string, value any, stack []byte) {
	s.metrics.panics.Inc()
	s.s.Logger.Error("panic", "id", id, "value", value, "stack", string(stack))
}

// answering returns what answers requests of a dialect, within limits.
func (s *Server) answering(p dialect.Path) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x, d := w.(*exchange), p.New()
		err := s.gate(x, p, d)
		begun := x.status != 0
		if err != nil {
			s.failed(x, d, err)
		}
		s.finished(p.Pattern, x, err, time.Since(begin))
		if err != nil && s.backend != nil && begun {
			x.broken(d, err)
		}
	})
}

// gate answers a request if it may come and there is room for it.
func (s *Server) gate(x *exchange, p dialect.Path, d dialect.Dialect) (err error) {
	if x.key, x.shelf, err = s.who(x.r); err != nil {
		return err
	}
	if !s.enter() {
		return batch.ErrClosed
	}
	defer s.leave()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return dialect.Fail(http.StatusServiceUnavailable, "", "too many requests are being answered")
	}
	size := s.s.BodyBytes // the most that the body will have
	if n := x.r.ContentLength; n >= 0 && n < size {
		size = n
	}
	defer s.bytes.Add(size)
	if s.bytes.Add(-size) < 0 {
		return dialect.Fail(http.StatusServiceUnavailable, "", "the requests that are being answered are too large together")
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), s.s.Timeout)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	x.ctx = ctx
	body, err := x.body(s.s.BodyBytes, s.s.BodyTimeout)
	if err != nil {
		return err
	}
	if s.backend != nil {
		err = s.forward(x, body, p.Conversation(body))
	} else {
		err = s.answer(x, d, body)
	}
	if errors.Is(err, context.Canceled) && s.ctx.Err() != nil {
		return batch.ErrClosed
	}
	return err
}

// answer lets a model do what a request asks for, and writes it as its dialect does.
func (s *Server) answer(x *exchange, d dialect.Dialect, body []byte) error {
	_ = x.control.SetReadDeadline(time.Time{})
	in := &dialect.Input{
		Body: body, Name: x.r.PathValue("name"), Unknown: func(name string) { s.unknown(x, name) }, Query: x.r.URL.Query(), Shelf: x.shelf,
		Messages: s.s.Messages, MaxTokens: s.s.MaxTokens, Sampler: *s.s.Sampler, Date: s.s.Date,
	}
	if originOf(x.ctx) == nil {
		in.Now, in.Kept = s.s.Now, s.kept
	}
	r, err := d.Read(in)
	if err != nil {
		return err
	}
	defer func() {
		r.Close()
		x.asked = request.Request{Model: r.Model, Prompt: r.Prompt, Made: r.Made}
		if o := originOf(x.ctx); o != nil && o.Done != nil {
			o.Done(Tally{r.Model, r.Prompt, r.Made})
		}
	}()
	r.Ctx, r.Key, r.Size = x.ctx, x.key, len(body)
	r.ID, r.Created = s.stamp(x, r)
	if !r.Stream {
		if err := s.work(r, r.Collect); err != nil {
			return err
		}
		return x.reply(d.Whole(r))
	}
	out := &stream{x: x, r: r, Streamer: d.(dialect.Streamer)}
	return out.end(s.work(r, out.event))
}

// failed writes an error, if nothing has been written.
func (s *Server) failed(x *exchange, d dialect.Errors, err error) {
	var panicked *kernel.TaskPanic
	if errors.As(err, &panicked) {
		s.panicked(x.id, panicked.Value, panicked.Stack)
	}
	f := failureOf(err)
	if f.Status == http.StatusInternalServerError && panicked == nil {
		s.s.Logger.Error("request failed", "id", x.id, "error", err)
	}
	if x.status == 0 {
		refuse(x, d, f, s.s.RetryAfter)
	}
}

// finished logs and counts a request.
func (s *Server) finished(path string, x *exchange, err error, took time.Duration) {
	status := x.status
	if err != nil {
		status = failureOf(err).Status
	}
	q := &x.asked
	s.metrics.count(path, q, status, took)
	level := slog.LevelInfo
	if status >= 500 {
		level = slog.LevelWarn
	}
	if s.s.Logger.Enabled(x.r.Context(), level) {
		s.s.Logger.Log(x.r.Context(), level, "request", "id", x.id, "key", x.key, "path", path, "model", q.Model, "status", status,
			"duration", took, "prompt_tokens", q.Prompt, "completion_tokens", q.Made)
	}
}
