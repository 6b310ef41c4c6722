package server

import (
	"context"
	"errors"
	"net/http"
)

// A Backend answers requests for a gateway, such as by servers on other machines.
type Backend interface {
	// Answer writes the answer to a request, as an [http.Handler] does: as a gateway hands it on
	// at once, what is written cannot be taken back. An error before the first byte is one for
	// the client: with status 503 if it is [ErrUnavailable], 502 if it is [ErrBackend]. After it, the
	// answer ends with the error. ctx ends when the client goes away.
	Answer(ctx context.Context, w http.ResponseWriter, r *Call) error

	// Ready returns nil if requests can be answered, and otherwise why not.
	Ready() error
}

// A Call is a request that a gateway hands on. Its client may ask, and its body has an accepted size.
type Call struct {
	Method, Path string // Path as in a request line
	Body         []byte
	Origin       Origin
}

// Errors of a [Backend].
var (
	ErrUnavailable = errors.New("server: nobody can answer now")
	ErrBackend     = errors.New("server: those who could answer have failed")
)

// NewGateway returns a server that has no models and hands requests on. It checks keys, and has the
// limits of s that are not those of models. The error is a [*kernel.Error].
func NewGateway(s Settings, b Backend) (*Server, error) {
	srv, err := newBare(s)
	if err != nil {
		return nil, err
	}
	srv.backend = b
	srv.metrics = newMetrics(nil)
	srv.routes()
	return srv, nil
}

// forward hands a request on.
func (x *exchange) forward() error {
	body, err := x.body()
	if err != nil {
		return err
	}
	created := x.s.Now()
	if x.r.Method == http.MethodGet {
		created = x.created
	}
	return x.backend.Answer(x.ctx, &forwarded{x}, &Call{
		Method: x.r.Method, Path: x.r.URL.EscapedPath(), Body: body,
		Origin: Origin{Key: x.key, RequestID: x.id, AnswerID: x.s.NewID(), Created: created},
	})
}

// forwarded is where a backend writes: each part has the time that a client is given.
type forwarded struct{ x *exchange }

func (w *forwarded) Header() http.Header { return w.x.w.Header() }

func (w *forwarded) WriteHeader(status int) {
	w.x.deadline()
	w.x.w.WriteHeader(status)
}

func (w *forwarded) Write(data []byte) (int, error) {
	w.x.deadline()
	return w.x.w.Write(data)
}

// Flush is that of [http.Flusher].
func (w *forwarded) Flush() { _ = w.x.control.Flush() } // a connection that cannot is one of a test

// broken ends an answer of a backend that has begun and cannot go on: a stream of events with one that
// says so, everything else by an end of the connection that a client notices.
func (x *exchange) broken(err error) {
	if x.w.Header().Get("Content-Type") != eventStream {
		panic(http.ErrAbortHandler)
	}
	x.deadline()
	_, _ = x.w.Write(errorEvent(err)) // it ends anyway
}
