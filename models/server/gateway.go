package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/request"
)

// A Backend answers requests for a gateway, such as by servers on other machines.
type Backend interface {
	// Answer writes the answer to a request, as an [http.Handler] does: as a gateway hands it on at
	// once, what is written cannot be taken back. An error before the first byte is one for the
	// client: with status 503 if it is [ErrUnavailable], 502 if it is [ErrBackend]. After it, the
	// answer ends with the error. ctx ends when the client goes away.
	Answer(ctx context.Context, w http.ResponseWriter, r *Call) error

	// Ready returns nil if requests can be answered, and otherwise why not.
	Ready() error
}

// A Call is a request that a gateway hands on. Its client may ask, and its body has an accepted
// size.
type Call struct {
	Method, Path string // Path as in a request line, with a query
	Body         []byte
	Origin       Origin

	// Tally is set by the backend, as far as it knows it.
	Tally Tally

	// Conversation is what the prompt is written from, turn by turn, nil for a request that is
	// none: a server that has answered one with the same first turns has their keys and values.
	Conversation [][]byte
}

// A Tally is what the log and the metrics say of an answer.
type Tally struct {
	Model              string
	Prompt, Completion int // tokens
}

// Errors of a [Backend].
var (
	ErrUnavailable = errors.New("server: nobody can answer now")
	ErrBackend     = errors.New("server: those who could answer have failed")
)

// NewGateway returns a server that has no models and hands requests on. It checks keys, and has the
// limits of s that concern no models. The error is a [*kernel.Error].
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
func (s *Server) forward(x *exchange, body []byte, conversation [][]byte) error {
	created := s.s.Now()
	if x.r.Method == http.MethodGet {
		created = s.created
	}
	path := x.r.URL.EscapedPath()
	if query := x.r.URL.RawQuery; query != "" {
		path += "?" + query
	}
	call := &Call{
		Method: x.r.Method, Path: path, Body: body, Conversation: conversation,
		Origin: Origin{Key: x.key, RequestID: x.id, AnswerID: s.s.NewID(), Created: created},
	}
	err := s.backend.Answer(x.ctx, x, call)
	x.asked = request.Request{Model: call.Tally.Model, Prompt: call.Tally.Prompt, Made: call.Tally.Completion}
	return err
}

// broken ends an answer of a backend that has begun and cannot go on: a stream with what says so,
// everything else by an end of the connection that a client notices.
func (x *exchange) broken(d dialect.Dialect, err error) {
	streamer, ok := d.(dialect.Streamer)
	if !ok || x.Header().Get("Content-Type") != streamer.Stream() {
		panic(http.ErrAbortHandler)
	}
	_, _ = x.Write(streamer.Break(failureOf(err))) // it ends anyway
}
