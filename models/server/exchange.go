package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// An exchange is a request of HTTP and its response, which it writes: each part has the time that a
// client is given.
type exchange struct {
	http.ResponseWriter
	r        *http.Request
	control  *http.ResponseController
	patience time.Duration // for each part that is written
	status   int           // that was written, 0 for none

	ctx   context.Context
	id    string
	key   string
	shelf string
	asked request.Request // or as much as the log says of it
}

// newExchange returns the exchange of a request of an id.
func newExchange(w http.ResponseWriter, r *http.Request, id string, patience time.Duration) *exchange {
	w.Header().Set("X-Request-Id", id)
	return &exchange{ResponseWriter: w, r: r, control: http.NewResponseController(w), patience: patience, ctx: r.Context(), id: id}
}

// begin notes the status and gives the client time.
func (x *exchange) begin(status int) {
	if x.status == 0 {
		x.status = status
	}
	_ = x.control.SetWriteDeadline(time.Now().Add(x.patience)) // only tests have connections without deadlines
}

// WriteHeader implements [http.ResponseWriter].
func (x *exchange) WriteHeader(status int) {
	x.begin(status)
	x.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (x *exchange) Write(data []byte) (int, error) {
	x.begin(http.StatusOK)
	return x.ResponseWriter.Write(data)
}

// Flush implements [http.Flusher].
func (x *exchange) Flush() { _ = x.control.Flush() } // only connections of tests cannot

// Unwrap is for [http.ResponseController].
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// limitRead gives the client time for the body.
func (x *exchange) limitRead(within time.Duration) {
	_ = x.control.SetReadDeadline(time.Now().Add(within))
}

// body reads the body. A client whose body is wrong has no more time for what is left of it.
func (x *exchange) body(most int64, within time.Duration) ([]byte, error) {
	if x.r.Body == nil { // the request does not come from a server
		return nil, nil
	}
	x.limitRead(within)
	return fields.Read(http.MaxBytesReader(x, x.r.Body, most), min(x.r.ContentLength, most))
}

// reply writes a JSON object.
func (x *exchange) reply(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	x.Header().Set("Content-Type", "application/json")
	_, _ = x.Write(append(data, '\n')) // a client that is gone needs no error
	return nil
}

// errGone says that the client of a stream does not read on.
var errGone = errors.New("server: the client is gone")

// A stream writes the events of a request. The status is written with the first one, so that an
// error before it has its own.
type stream struct {
	x *exchange
	r *request.Request
	dialect.Streamer
	part bytes.Buffer // that is written next
}

// event writes what an event adds, or without one what ends the stream, at once.
func (s *stream) event(e *request.Event) (err error) {
	if e != nil {
		err = s.Event(&s.part, s.r, e)
	} else {
		err = s.End(&s.part, s.r)
	}
	if err != nil || s.part.Len() == 0 {
		return err
	}
	defer s.part.Reset()
	if s.x.status == 0 {
		s.x.Header().Set("Content-Type", s.Stream())
		s.x.Header().Set("Cache-Control", "no-cache")
		s.x.Header().Set("X-Accel-Buffering", "no") // of proxies that would wait for more
	}
	if _, err := s.x.Write(s.part.Bytes()); err != nil {
		return errGone
	}
	if err := s.x.control.Flush(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return errGone
	}
	return nil
}

// end ends the stream, with an error if the work has one.
func (s *stream) end(err error) error {
	if err == nil {
		err = s.event(nil)
	}
	if err == errGone {
		return nil
	}
	if err != nil && s.x.status != 0 {
		_, _ = s.x.Write(s.Break(failureOf(err))) // it ends anyway
	}
	return err
}
