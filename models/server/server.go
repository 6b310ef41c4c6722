package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/internal/ondemand"
	"github.com/attn-go/attn/models/server/internal/kept"
)

// A Server answers requests. It is an [http.Handler].
type Server struct {
	s       Settings
	models  []served
	backend Backend // in place of models; nil for none
	keys    keys
	origins http.CrossOriginProtection
	slots   chan struct{} // a token for each request
	bytes   atomic.Int64  // of bodies that may still come

	limits
	awake   *ondemand.Pool[*awake] // models that are loaded on demand
	noted   noted                  // fields of requests
	kept    *kept.Shelf            // answers, nil for none
	metrics *metrics
	mux     *http.ServeMux
	created time.Time

	ctx  context.Context // ends all work
	stop context.CancelCauseFunc
	run  sync.WaitGroup // of models

	mu      sync.Mutex
	open    int           // requests that are being answered
	closing bool          // no more are taken
	empty   chan struct{} // closed when closing and none is open
}

// New returns a server of models, whose caches it allocates. Close ends it. The error is a
// [*kernel.Error], a kernel.Error about an option, or says that a cache does not fit memory.
func New(s Settings, models ...*Model) (*Server, error) {
	srv, err := newBare(s)
	if err != nil {
		return nil, err
	}
	if len(models) == 0 {
		return nil, &kernel.Error{Where: "server: models", Got: "none", Want: "at least one"}
	}
	turns := &batch.Turns{}
	for i, m := range models {
		if srv.find(m.name) != nil {
			return nil, &kernel.Error{Where: "server: " + fmt.Sprintf("models[%d]", i), Got: fmt.Sprintf("a second one of the name %q", m.name), Want: "names that differ"}
		}
		one, err := srv.served(m, turns)
		if err != nil {
			return nil, err
		}
		srv.models = append(srv.models, one)
	}
	srv.metrics = newMetrics(srv.models)
	srv.routes()
	for _, m := range srv.models {
		srv.run.Go(func() { m.run(srv.ctx) })
	}
	return srv, nil
}

// served returns what serves a model.
func (srv *Server) served(m *Model, turns *batch.Turns) (served, error) {
	if m.later == nil {
		return serve(m, &srv.s, &srv.limits, turns)
	}
	return srv.newLazy(hosted{Model: m, s: &srv.s, limits: &srv.limits}, turns)
}

// newBare returns a server without models, whose settings are complete.
func newBare(s Settings) (*Server, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	srv := &Server{s: s, keys: newKeys(s.Keys), slots: make(chan struct{}, s.Requests), created: s.Now(), empty: make(chan struct{})}
	if srv.s.KeptBytes > 0 {
		srv.kept = kept.New(srv.s.KeptBytes)
	}
	if err := srv.trust(); err != nil {
		return nil, err
	}
	srv.bytes.Store(srv.s.BodiesBytes)
	srv.limits = limits{newShare(s.BodyBytes), make(chan struct{}, s.Grammars)}
	srv.awake = ondemand.New[*awake](srv.s.ModelsBytes)
	srv.ctx, srv.stop = context.WithCancelCause(context.Background())
	return srv, nil
}

// find returns the model of a name, or nil.
func (s *Server) find(name string) served {
	for _, m := range s.models {
		if m.about().name == name {
			return m
		}
	}
	return nil
}

// Fingerprint returns the system_fingerprint of a model, or "" if there is none of that name.
func (s *Server) Fingerprint(model string) string {
	if m := s.find(model); m != nil {
		return m.about().fingerprint
	}
	return ""
}

// SystemFingerprint returns a hash of the names and fingerprints of all models, in their order: two
// servers that share it give the same bytes to every request with the same [Origin].
func (s *Server) SystemFingerprint() string {
	h := sha256.New()
	for _, m := range s.models {
		fmt.Fprintf(h, "%q %s\n", m.about().name, m.about().fingerprint)
	}
	return "fp_" + hex.EncodeToString(h.Sum(nil)[:8])
}

// enter counts a request in, or reports that the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.open++
	return true
}

// leave counts a request out.
func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 && s.closing {
		close(s.empty)
	}
}

// Close takes no more requests, waits until those that are open are answered, and ends. If ctx ends
// before that, it gives them up, and they end with an error. Then the error of ctx is returned. A
// response that a client does not read ends when the caller closes its connection.
func (s *Server) Close(ctx context.Context) (err error) {
	s.mu.Lock()
	if !s.closing {
		if s.closing = true; s.open == 0 {
			close(s.empty)
		}
	}
	s.mu.Unlock()
	select {
	case <-s.empty:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.stop(batch.ErrClosed)
	s.awake.Close()
	s.run.Wait()
	return err
}

// ready reports whether requests are taken, by the server and by every model.
func (s *Server) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errors.New("closing")
	}
	if s.backend != nil {
		return s.backend.Ready()
	}
	for _, m := range s.models {
		if err := m.ready(); err != nil {
			return fmt.Errorf("%s: %w", m.about().name, err)
		}
	}
	return nil
}
