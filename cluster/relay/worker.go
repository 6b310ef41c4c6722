package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
)

// DefaultPatience is how long a connected gateway or worker may be silent.
const DefaultPatience = 5 * time.Second

// An Answerer answers requests, and says by a hash what the bytes of its answers depend on.
type Answerer interface {
	http.Handler
	SystemFingerprint() string
}

// A Worker answers requests of gateways. The fields are set before [Worker.Run].
type Worker struct {
	Conn   *hub.Conn
	Name   string   // what others call it, a token
	Server Answerer // mostly a [*server.Server], whose keys do not count, as gateways check them

	// Patience is how long a gateway may be silent before its requests end; 0 means
	// [DefaultPatience].
	Patience time.Duration

	// Shutdown is how long open requests may take after the ctx of Run has ended. Then another
	// worker continues them.
	Shutdown time.Duration

	// Observe, if not nil, is called after each request with the status of its answer, [StatusGone]
	// if its client was gone. Several goroutines call it at once.
	Observe func(status int, took time.Duration)

	Ready func()       // if not nil, is called when the worker takes requests
	Log   *slog.Logger // nil for none

	mail  *mailbox
	ask   *nats.Subscription
	mu    sync.Mutex
	calls map[string]*reply
	ends  bool // it takes no more requests
	open  sync.WaitGroup
}

// Run answers requests until ctx ends. It does not close Server. The error is of the kind
// [ErrFingerprint] or [hub.ErrVersion], or comes from NATS or ctx.
func (w *Worker) Run(ctx context.Context) error {
	w.Patience = cmp.Or(w.Patience, DefaultPatience)
	w.Log = cmp.Or(w.Log, slog.New(slog.DiscardHandler))
	w.calls, w.ends = map[string]*reply{}, false
	fingerprint := w.Server.SystemFingerprint()
	there, err := w.Conn.Services(ctx, service)
	if err != nil {
		return err
	}
	if err := fits(there, fingerprint); err != nil {
		return err
	}
	if w.mail, err = openMailbox(w.Conn, w.Patience, w.Log, w.take, w.asked); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	defer w.mail.close()
	if w.ask, err = w.Conn.QueueSubscribe(askSubject(w.Conn, fingerprint), "workers", w.asked); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	presence, err := appear(w.Conn, "worker", w.Name, fingerprint)
	if err != nil {
		w.ask.Unsubscribe()
		return err
	}
	switch err := w.Conn.Flush(); {
	case errors.Is(err, hub.ErrPermission):
		presence.Stop()
		w.ask.Unsubscribe()
		return err
	case err == nil && w.Ready != nil:
		w.Ready()
	}
	<-ctx.Done()
	presence.Stop()
	w.end()
	return ctx.Err()
}

func askSubject(conn *hub.Conn, fingerprint string) string {
	return conn.Subject("relay", "ask", fingerprint)
}

// end takes no more requests and waits for those that are open. What is left after w.Shutdown is
// given up.
func (w *Worker) end() {
	w.mu.Lock()
	w.ends = true
	w.mu.Unlock()
	w.ask.Unsubscribe()
	_ = w.Conn.FlushTimeout(time.Second) // a server that is away sends no requests
	done := make(chan struct{})
	go func() {
		w.open.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(w.Shutdown):
	}
	w.mu.Lock()
	for _, r := range w.calls {
		r.giveUp(true)
	}
	w.mu.Unlock()
	<-done
}

// asked takes a request.
func (w *Worker) asked(msg *nats.Msg) {
	h, err := unpack(msg)
	if err == nil && h.Kind != kindPing && (h.Kind != kindAsk || h.From == "" || h.Call == "") {
		err = errMessage
	}
	if err != nil {
		w.Log.Warn("refused a request", "error", err)
		return
	}
	if h.Kind == kindPing {
		w.mail.reply(msg, w.progress(h))
		return
	}
	r := newReply(w, h)
	w.mu.Lock()
	_, twice := w.calls[h.Call]
	ends := w.ends && msg.Subject == w.mail.id || h.Most > 0 && w.has(h.From) >= h.Most // others go to another worker by themselves
	if !twice && !ends {
		w.calls[h.Call] = r
		w.open.Add(1)
	}
	w.mu.Unlock()
	if ends {
		w.mail.reply(msg, &header{Kind: kindElse, From: w.mail.id})
	}
	if twice || ends {
		return
	}
	r.body.add(0, msg.Data, r.size)
	w.mail.reply(msg, &header{Kind: kindTaken, From: w.mail.id, Call: h.Call, Name: w.Name})
	go func() {
		defer w.open.Done()
		r.serve(h)
		w.mu.Lock()
		delete(w.calls, h.Call)
		w.mu.Unlock()
	}()
}

// has counts the requests of a gateway. w.mu is held.
func (w *Worker) has(gateway string) (n int) {
	for _, r := range w.calls {
		if r.gateway == gateway {
			n++
		}
	}
	return n
}

// progress answers whether the worker is there, and how far the answer of the call is that the
// gateway names.
func (w *Worker) progress(h *header) *header {
	answer := &header{Kind: kindPing, From: w.mail.id}
	if h.Call == "" {
		return answer
	}
	w.mu.Lock()
	r := w.calls[h.Call]
	w.mu.Unlock()
	if answer.End = r == nil || r.gateway != h.From; !answer.End {
		r.read(h.At)
		answer.At = r.sentBytes()
	}
	return answer
}

// take reads what a gateway has to say about a request.
func (w *Worker) take(h *header, data []byte) {
	w.mu.Lock()
	r := w.calls[h.Call]
	w.mu.Unlock()
	if r == nil || r.gateway != h.From {
		return // it has ended
	}
	switch h.Kind {
	case kindPart:
		r.body.add(h.At, data, r.size)
	case kindRead:
		r.read(h.At)
	case kindCancel:
		r.giveUp(false)
	}
}

// StatusGone is the status that [Worker.Observe] gets for a request whose client is gone.
const StatusGone = 499

// errGone is the cause of a request's end.
var errGone = errors.New("relay: nobody waits for the answer here")
