package relay

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/attn-go/attn/models/server"
)

// A reply is a request at a worker, and where the server writes its answer.
type reply struct {
	w       *Worker
	gateway string
	call    string
	body    *body
	size    int64 // of it
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stop    context.CancelFunc // of the time that the request may take
	fields  http.Header
	buf     bytes.Buffer // of the answer, not yet sent
	chunk   int

	mu     sync.Mutex
	room   sync.Cond // sent or handed changes, or over is set
	status int
	begun  bool  // status and fields were sent
	sent   int64 // bytes
	handed int64 // bytes that the client has
	over   bool  // nobody waits for the answer here
	tell   bool  // the gateway does not know that

	tally *server.Tally // nil before the server is done
}

func newReply(w *Worker, h *header) *reply {
	r := &reply{w: w, gateway: h.From, call: h.Call, size: h.Size, body: &body{inbox: newInbox(), left: h.Size, patience: w.Patience}, fields: http.Header{}, chunk: chunkOf(w.Conn)}
	r.room.L = &r.mu
	ctx := server.WithOrigin(context.Background(), server.Origin{Key: h.Key, RequestID: h.RequestID, AnswerID: h.AnswerID, Created: time.Unix(h.Created, 0),
		Done: func(t server.Tally) { r.tally = &t }})
	ctx, r.stop = context.WithTimeout(ctx, time.Duration(h.Within)*time.Millisecond)
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// serve answers the request.
func (r *reply) serve(h *header) {
	begin := time.Now()
	stop := r.w.mail.watch(r.gateway, func() { r.giveUp(false) })
	defer func() {
		if x := recover(); x != nil { // the server survives panics of requests but for those that end a connection
			r.w.Log.Error("panic", "value", x, "stack", string(debug.Stack()))
			r.giveUp(true)
		}
		stop()
		r.finish()
		r.cancel(nil)
		r.stop()
		if r.w.Observe != nil {
			r.w.Observe(r.outcome(), time.Since(begin))
		}
	}()
	path, err := url.ParseRequestURI(h.Path)
	if err != nil {
		r.giveUp(true)
		return
	}
	request := (&http.Request{
		Method: h.Method, URL: path, RequestURI: h.Path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: r.body, ContentLength: h.Size, RemoteAddr: r.gateway,
	}).WithContext(r.ctx)
	r.w.Server.ServeHTTP(r, request)
	if r.body.ended() == errGap { // a part has not come
		r.giveUp(true)
	}
}

// giveUp ends the request here. tell says that the gateway does not know it.
func (r *reply) giveUp(tell bool) {
	r.mu.Lock()
	if !r.over {
		r.over, r.tell = true, tell
	}
	r.room.Broadcast()
	r.mu.Unlock()
	r.body.end(errGone)
	r.cancel(errGone)
}

// read counts what the gateway has handed on.
func (r *reply) read(at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handed = max(r.handed, min(at, r.sent))
	r.room.Broadcast()
}

// sentBytes returns how much of the answer was sent.
func (r *reply) sentBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// Header implements [http.ResponseWriter].
func (r *reply) Header() http.Header { return r.fields }

// WriteHeader implements [http.ResponseWriter].
func (r *reply) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.status = status
	}
}

// Write implements [http.ResponseWriter]. It waits while the window is full.
func (r *reply) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	n := len(data)
	for len(data) > 0 {
		part := data[:min(len(data), r.chunk-r.buf.Len())]
		r.buf.Write(part)
		data = data[len(part):]
		if r.buf.Len() == r.chunk {
			if err := r.send(false); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// FlushError is what [http.ResponseController] calls.
func (r *reply) FlushError() error { return r.send(false) }

// send sends what was written.
func (r *reply) send(end bool) error {
	h := &header{Kind: kindData, Call: r.call, End: end}
	if end {
		h.Tally = r.tally
	}
	r.mu.Lock()
	for !r.over && r.sent-r.handed > 0 && r.sent-r.handed+int64(r.buf.Len()) > window {
		r.room.Wait()
	}
	if r.over {
		if !end || !r.tell {
			r.mu.Unlock()
			return errGone
		}
		h.GaveUp = true
		r.buf.Reset()
	}
	if !r.begun {
		r.begun = true
		h.Status, h.Fields = r.status, r.fields
	}
	h.At = r.sent
	r.sent += int64(r.buf.Len())
	r.mu.Unlock()
	err := r.w.mail.send(r.gateway, h, r.buf.Bytes())
	r.buf.Reset()
	return err
}

// finish ends the answer.
func (r *reply) finish() {
	r.WriteHeader(http.StatusOK)
	_ = r.send(true) // whoever is not reached notices
}

func (r *reply) outcome() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return StatusGone
	}
	return r.status
}

// A body is the body of a request, whose parts come one after the other.
type body struct {
	*inbox
	left     int64         // bytes that were not read
	patience time.Duration // between parts
	part     []byte        // the rest of the one that is read
}

// add adds a part, but none beyond the end.
func (b *body) add(at int64, data []byte, size int64) {
	if at+int64(len(data)) > size {
		b.end(errGap)
		return
	}
	b.inbox.add(part{at: at, data: data})
}

// Read waits for a part. One goroutine reads.
func (b *body) Read(to []byte) (int, error) {
	for len(b.part) == 0 && len(to) > 0 {
		if b.left == 0 {
			return 0, io.EOF
		}
		p, err := b.next(context.Background(), b.patience, func() error { return errGap })
		if err != nil {
			b.end(err)
			return 0, err
		}
		b.part = p.data
	}
	n := copy(to, b.part)
	b.part, b.left = b.part[n:], b.left-int64(n)
	return n, nil
}

// Close implements [io.Closer].
func (b *body) Close() error { return nil }
