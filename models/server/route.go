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

	"github.com/attn-go/attn/models/server/internal/batch"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/page"
)

// routes sets what answers which path.
func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n"))
	})
	s.mux.Handle("GET /metrics", s.guarded(s.metrics.handler()))
	for path, h := range map[string]handler{
		"GET /v1/models":            (*exchange).models,
		"GET /v1/models/{name...}":  (*exchange).model,
		"POST /v1/chat/completions": (*exchange).chat,
		"POST /v1/completions":      (*exchange).completions,
		"POST /v1/embeddings":       (*exchange).embeddings,
		"POST /v1/rerank":           (*exchange).rerank,
		"POST /v2/rerank":           (*exchange).rerank,
		"POST /rerank":              (*exchange).rerank,
		"POST /tokenize":            (*exchange).tokenize,
		"POST /detokenize":          (*exchange).detokenize,
	} {
		if s.backend != nil {
			h = (*exchange).forward
		}
		s.mux.Handle(path, s.answering(path, h))
	}
	s.mux.Handle("GET /{$}", page.Handler()) // without a key, as it holds nothing: it asks for one
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(http.StatusNotFound, "invalid_request_error", "", "there is no %s %s", r.Method, r.URL.Path).write(w, 0)
	})
	if s.s.Pprof {
		s.mux.Handle("/debug/pprof/", s.guarded(http.HandlerFunc(pprof.Index)))
		s.mux.Handle("/debug/pprof/cmdline", s.guarded(http.HandlerFunc(pprof.Cmdline)))
		s.mux.Handle("/debug/pprof/profile", s.guarded(http.HandlerFunc(pprof.Profile)))
		s.mux.Handle("/debug/pprof/symbol", s.guarded(http.HandlerFunc(pprof.Symbol)))
		s.mux.Handle("/debug/pprof/trace", s.guarded(http.HandlerFunc(pprof.Trace)))
	}
}

// guarded lets requests through that have a key.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.who(r); err != nil {
			failureOf(err).write(w, 0)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A handler answers a request. If it returns an error, it has not written anything.
type handler func(*exchange) error

// An exchange is a request and its response.
type exchange struct {
	*Server
	w       *recorder
	r       *http.Request
	control *http.ResponseController
	ctx     context.Context
	id      string
	key     string
	served  string // the model, for the log
	size    int    // of the body
	prompt  int    // tokens
	made    int    // tokens of answers
}

// A recorder notes what is written.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write is that of the writer below.
func (w *recorder) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap is for [http.ResponseController].
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// idForm is the form of an id that a client may give its request.
var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// serve gives a request an id, answers it, and survives panics.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if o := originOf(r.Context()); o != nil {
		id = o.RequestID
	} else if !idForm.MatchString(id) {
		id = s.s.NewID()
	}
	w.Header().Set("X-Request-Id", id)
	rec := &recorder{ResponseWriter: w}
	if r.ContentLength != 0 { // also that of a request whose body nobody reads, before the connection goes on
		s.limitRead(http.NewResponseController(w))
	}
	defer func() {
		if x := recover(); x != nil {
			if x == http.ErrAbortHandler {
				panic(x)
			}
			s.panicked(id, x, debug.Stack())
			if rec.status == 0 {
				failureOf(errors.New("panic")).write(rec, 0)
			}
		}
	}()
	if err := s.foreign(r); err != nil {
		failureOf(err).write(rec, 0)
		return
	}
	s.mux.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), idKey{}, id)))
}

// idKey is the key of a request's id in its context.
type idKey struct{}

// panicked reports a panic.
func (s *Server) panicked(id string, value any, stack []byte) {
	s.metrics.panics.Inc()
	s.s.Logger.Error("panic", "id", id, "value", value, "stack", string(stack))
}

// answering returns what answers requests for a path, within limits.
func (s *Server) answering(path string, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x := &exchange{Server: s, w: w.(*recorder), r: r, control: http.NewResponseController(w)}
		x.id, _ = r.Context().Value(idKey{}).(string)
		err := x.limited(h)
		begun := x.w.status != 0
		if err != nil {
			x.failed(err)
		}
		s.finished(path, x, err, time.Since(begin))
		if err != nil && s.backend != nil && begun {
			x.broken(err)
		}
	})
}

// limited answers a request if it may come and there is room for it.
func (x *exchange) limited(h handler) (err error) {
	if x.key, err = x.who(x.r); err != nil {
		return err
	}
	if !x.enter() {
		return batch.ErrClosed
	}
	defer x.leave()
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	default:
		return busy(http.StatusServiceUnavailable, "too many requests are being answered")
	}
	size := x.bodySize()
	defer x.bytes.Add(size)
	if x.bytes.Add(-size) < 0 {
		return busy(http.StatusServiceUnavailable, "the requests that are being answered are too large together")
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), x.s.Timeout)
	defer cancel()
	defer context.AfterFunc(x.Server.ctx, cancel)()
	x.ctx = ctx
	if err = h(x); errors.Is(err, context.Canceled) && x.Server.ctx.Err() != nil {
		return batch.ErrClosed
	}
	return err
}

// bodySize returns the most bytes that the body will have.
func (x *exchange) bodySize() int64 {
	if n := x.r.ContentLength; n >= 0 && n < x.s.BodyBytes {
		return n
	}
	return x.s.BodyBytes
}

// failed writes an error, if nothing has been written.
func (x *exchange) failed(err error) {
	var panicked *batch.PanicError
	if errors.As(err, &panicked) {
		x.panicked(x.id, panicked.Value, panicked.Stack)
	}
	f := failureOf(err)
	if f.status == http.StatusInternalServerError && panicked == nil {
		x.s.Logger.Error("request failed", "id", x.id, "error", err)
	}
	if x.w.status == 0 {
		x.deadline()
		f.write(x.w, int(x.s.RetryAfter/time.Second))
	}
}

// finished logs and counts a request.
func (s *Server) finished(path string, x *exchange, err error, took time.Duration) {
	status := x.w.status
	if err != nil {
		status = failureOf(err).status
	}
	s.metrics.count(path, x.served, status, took, x.prompt, x.made)
	level := slog.LevelInfo
	if status >= 500 {
		level = slog.LevelWarn
	}
	if s.s.Logger.Enabled(x.r.Context(), level) {
		s.s.Logger.Log(x.r.Context(), level, "request", "id", x.id, "key", x.key, "path", path, "model", x.served, "status", status,
			"duration", took, "prompt_tokens", x.prompt, "completion_tokens", x.made)
	}
}

// limitRead gives a client time for the body of a request.
func (s *Server) limitRead(c *http.ResponseController) {
	_ = c.SetReadDeadline(time.Now().Add(s.s.BodyTimeout)) // a connection without deadlines is one of a test
}

// read reads the JSON object of the request. After an error the client has no more time than before for what
// is left of the body.
func (x *exchange) read(to any) error {
	data, err := x.body()
	if err != nil {
		return err
	}
	x.size = len(data)
	_ = x.control.SetReadDeadline(time.Time{})
	return fields.Decode(data, to, x.unknown)
}

// body reads the body of the request.
func (x *exchange) body() ([]byte, error) {
	x.limitRead(x.control)
	return fields.Read(http.MaxBytesReader(x.w, x.r.Body, x.s.BodyBytes), x.r.ContentLength)
}

// deadline gives the client time for what is written next.
func (x *exchange) deadline() { _ = x.control.SetWriteDeadline(time.Now().Add(x.s.WriteTimeout)) }

// reply writes a JSON object.
func (x *exchange) reply(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.deadline()
	_, _ = x.w.Write(append(data, '\n')) // a client that is gone needs no error
	return nil
}

// host returns what runs the model that a request names.
func (x *exchange) host(name string) (*host, error) {
	if name == "" && len(x.hosts) == 1 {
		x.served = x.hosts[0].name
		return x.hosts[0], nil
	}
	h := x.find(name)
	if h == nil {
		f := fail(http.StatusNotFound, "invalid_request_error", "model_not_found", "there is no model %.100q", name)
		param := "model"
		f.Param = &param
		return nil, f
	}
	x.served = name
	return h, nil
}
