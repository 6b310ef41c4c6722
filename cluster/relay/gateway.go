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

	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/server"
)

// GatewayConfig describes a gateway.
type GatewayConfig struct {
	Name string // what others call it, a token

	// Fingerprint is the workers', see [server.Server.SystemFingerprint]. "" means the first found
	// worker's.
	Fingerprint string

	// Patience is how long a connected worker may be silent, and how long an answer that has begun
	// waits for another worker to continue it. 0 means [DefaultPatience].
	Patience time.Duration

	// Tries is how many workers are asked for an answer: a request may crash its worker. 0 means 3.
	Tries int

	// PerWorker is the most requests of this gateway that a worker has at a time, so that a slow
	// worker holds up few. 0 means any number. If all workers have so many, the error is
	// [server.ErrUnavailable].
	PerWorker int

	Log *slog.Logger // nil for none
}

// A Gateway hands requests on. It is the [server.Backend] of server.NewGateway.
type Gateway struct {
	config GatewayConfig
	conn   *hub.Conn
	mail   *mailbox
	ctx    context.Context
	cancel context.CancelFunc
	search sync.WaitGroup

	affinity *affinity

	mu          sync.Mutex
	fingerprint string // "" before a worker is found
	presence    micro.Service
	calls       map[string]*attempt
}

// searchEvery is the time between searches for a first worker.
const searchEvery = 250 * time.Millisecond

// NewGateway returns a gateway on a connection that stays the caller's. Close ends it. The error
// comes from NATS.
func NewGateway(conn *hub.Conn, c GatewayConfig) (*Gateway, error) {
	c.Patience = cmp.Or(c.Patience, DefaultPatience)
	c.Tries = cmp.Or(c.Tries, 3)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	g := &Gateway{config: c, conn: conn, calls: map[string]*attempt{}, affinity: newAffinity()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	var err error
	if g.mail, err = openMailbox(conn, c.Patience, c.Log, g.take, nil); err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	if err = g.adopt(c.Fingerprint); err != nil {
		g.Close()
		return nil, err
	}
	if c.Fingerprint == "" {
		g.search.Go(g.find)
	}
	return g, nil
}

// adopt makes a fingerprint the workers'; "" says that none has been found yet.
func (g *Gateway) adopt(fingerprint string) error {
	presence, err := appear(g.conn, "gateway", g.config.Name, fingerprint)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.presence != nil {
		g.presence.Stop()
	}
	g.fingerprint, g.presence = fingerprint, presence
	return nil
}

// find adopts the fingerprint of the first worker that is found.
func (g *Gateway) find() {
	for g.ctx.Err() == nil {
		there, err := g.conn.Services(g.ctx, service)
		for _, i := range there {
			if i.Metadata[fingerprintKey] == "" {
				continue
			}
			if err = hub.ParseVersion(i.Metadata[hub.VersionHeader]).Check(peerName(i)); err != nil {
				continue
			}
			if err = g.adopt(i.Metadata[fingerprintKey]); err == nil {
				g.config.Log.Info("found", "peer", peerName(i), "system_fingerprint", i.Metadata[fingerprintKey])
				return
			}
		}
		if err != nil && g.ctx.Err() == nil {
			g.config.Log.Warn("no worker", "error", err)
		}
		hub.Pause(g.ctx, searchEvery)
	}
}

// Close ends the gateway. Requests that are open end with an error; server.Server.Close waits for
// them.
func (g *Gateway) Close() {
	g.cancel()
	g.search.Wait()
	g.mail.close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.presence != nil {
		g.presence.Stop()
	}
}

// subject returns the subject of requests, or "" before a worker is found.
func (g *Gateway) subject() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fingerprint == "" {
		return ""
	}
	return askSubject(g.conn, g.fingerprint)
}

// Ready implements [server.Backend]: it returns an error if no worker answers.
func (g *Gateway) Ready() error {
	subject := g.subject()
	if subject == "" {
		return errors.New("relay: no worker has been found yet")
	}
	if err := g.mail.ping(g.ctx, subject, time.Second); err != nil {
		return fmt.Errorf("relay: no worker answers: %w", err)
	}
	return nil
}

// take hands what a worker says to its attempt.
func (g *Gateway) take(h *header, data []byte) {
	if h.Kind != kindData {
		return
	}
	g.mu.Lock()
	a := g.calls[h.Call]
	g.mu.Unlock()
	if a == nil { // one that was given up
		_ = g.mail.send(h.From, &header{Kind: kindCancel, Call: h.Call}, nil)
		return
	}
	a.add(part{h.At, data, h.Status, h.Fields, h.End, h.GaveUp, h.Tally})
}

// Answer implements [server.Backend]. A worker that is lost is replaced by another one. A
// conversation is answered by the worker that has answered what was said before, if it takes the
// request.
func (g *Gateway) Answer(ctx context.Context, w http.ResponseWriter, r *server.Call) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	c := &call{g: g, w: w, r: r, log: g.config.Log.With("id", r.Origin.RequestID), conversation: g.affinity.conversation(r)}
	c.prefer = g.affinity.worker(c.conversation)
	var since time.Time // when the last worker was lost
	for lost, ended := 0, 0; ; {
		reconnects := g.conn.Stats().Reconnects
		c.taken = false
		err := c.try(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errElsewhere), errors.Is(err, errBusy) && c.status == 0 && c.busy < g.config.Tries:
			continue
		case errors.Is(err, server.ErrUnavailable), errors.Is(err, errBusy):
			// Another worker may come, for a client who has had a part, or has waited for one.
			if since.IsZero() || time.Since(since) > g.config.Patience {
				return server.ErrUnavailable
			}
			if err := hub.Pause(ctx, pingEvery); err != nil {
				return err
			}
			continue
		case !isEndOfAttempt(err):
			return err
		}
		c.log.Warn("another worker goes on", "worker", c.name, "error", err, "sent", c.sent)
		since = time.Now()
		if c.taken && g.conn.IsConnected() && g.conn.Stats().Reconnects == reconnects {
			ended++ // otherwise the server was away, or nobody may have the request: that is no fault of it
		}
		if lost++; lost < g.config.Tries {
			continue
		}
		if ended < lost {
			return fmt.Errorf("%w: %d tries, the last one: %w", server.ErrUnavailable, lost, err)
		}
		return fmt.Errorf("%w: %d workers, the last one: %w", server.ErrBackend, lost, err)
	}
}

// isEndOfAttempt tells whether another worker may be asked.
func isEndOfAttempt(err error) bool {
	return errors.Is(err, errLost) || errors.Is(err, errGap) || errors.Is(err, errGaveUp)
}
