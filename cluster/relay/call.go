package relay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/server"
)

// A call is a request at a gateway.
type call struct {
	g      *Gateway
	w      http.ResponseWriter
	r      *server.Call
	log    *slog.Logger
	worker string // mailbox of the one that was asked last
	name   string // of that one
	busy   int    // workers that have taken no more
	taken  bool   // a worker is known to have the request

	conversation []uint64 // see affinity
	prefer       string   // mailbox of the worker to be asked next, "" for any

	status int       // that the client has, 0 for none
	sent   int64     // bytes that the client has
	sum    hash.Hash // of them; nil for none
}

// try asks a worker. It returns nil when the client has the whole answer.
func (c *call) try(ctx context.Context) error {
	a := &attempt{id: nuid.Next(), inbox: newInbox()}
	c.g.mu.Lock()
	c.g.calls[a.id] = a
	c.g.mu.Unlock()
	defer func() {
		c.g.mu.Lock()
		delete(c.g.calls, a.id)
		c.g.mu.Unlock()
	}()
	if err := c.ask(ctx, a); err != nil {
		return err
	}
	defer c.g.mail.watch(c.worker, a.lose)()
	err := c.sendBody(a)
	if err == nil {
		err = c.copy(ctx, a)
	}
	if err != nil {
		_ = c.g.mail.send(c.worker, &header{Kind: kindCancel, Call: a.id}, nil)
	}
	return err
}

// ask finds a worker that takes the request.
func (c *call) ask(ctx context.Context, a *attempt) error {
	subject, prefer := c.g.subject(), c.prefer
	if subject == "" {
		return server.ErrUnavailable
	}
	if c.prefer = ""; prefer != "" {
		subject = prefer
	}
	within := 24 * time.Hour
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end)
	}
	o := c.r.Origin
	h := &header{
		Kind: kindAsk, Call: a.id, Method: c.r.Method, Path: c.r.Path, Key: o.Key, RequestID: o.RequestID, AnswerID: o.AnswerID,
		Created: o.Created.Unix(), Size: int64(len(c.r.Body)), Within: max(1, within.Milliseconds()), Most: c.g.config.PerWorker,
	}
	some, cancel := context.WithTimeout(ctx, c.g.config.Patience)
	defer cancel()
	taken, err := c.g.mail.request(some, subject, h, c.r.Body[:min(len(c.r.Body), chunkOf(c.g.conn))])
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case prefer != "" && (err != nil || taken.Kind != kindTaken):
		return errElsewhere
	case errors.Is(err, nats.ErrNoResponders):
		return server.ErrUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return errLost
	case err != nil:
		return err
	case taken.Kind == kindElse:
		c.busy++
		return errBusy
	case taken.Kind != kindTaken || taken.From == "":
		return errMessage
	}
	c.worker, c.name, c.taken = taken.From, taken.Name, true
	c.g.affinity.remember(c.conversation, c.worker)
	return nil
}

// sendBody sends what is left of the body.
func (c *call) sendBody(a *attempt) error {
	size := chunkOf(c.g.conn)
	for at := size; at < len(c.r.Body); at += size {
		part := c.r.Body[at:min(len(c.r.Body), at+size)]
		if err := c.g.mail.send(c.worker, &header{Kind: kindPart, Call: a.id, At: int64(at)}, part); err != nil {
			return err
		}
	}
	return nil
}

// copy hands the answer on. What the client has from an earlier worker is compared.
func (c *call) copy(ctx context.Context, a *attempt) error {
	flush := http.NewResponseController(c.w).Flush
	had, earlier := int64(0), sha256.New()
	told := int64(0)
	for first := true; ; first = false {
		p, err := a.next(ctx, c.g.config.Patience, func() error { return c.gap(ctx, a, had) })
		if err != nil {
			return err
		}
		if first {
			if err := c.begin(p); err != nil {
				return err
			}
		}
		data := p.data
		if n := min(int64(len(data)), c.sent-had); n > 0 {
			earlier.Write(data[:n])
			data, had = data[n:], had+n
			if had == c.sent && !bytes.Equal(earlier.Sum(nil), c.sum.Sum(nil)) {
				return ErrDiffers
			}
		}
		if p.end && p.gaveUp {
			return errGaveUp
		}
		if p.end && had < c.sent {
			return ErrDiffers
		}
		if len(data) > 0 {
			if c.sum == nil {
				c.sum = sha256.New()
			}
			if _, err := c.w.Write(data); err != nil {
				return errors.Join(context.Canceled, err) // the client is gone
			}
			if !p.end {
				_ = flush() // a writer that cannot is one of a test
			}
			c.sum.Write(data)
			c.sent += int64(len(data))
			had = c.sent
		}
		if p.end {
			if p.tally != nil {
				c.r.Tally = *p.tally
			}
			return nil
		}
		if had-told >= window/4 {
			told = had
			if err := c.g.mail.send(c.worker, &header{Kind: kindRead, Call: a.id, At: had}, nil); err != nil {
				return err
			}
		}
	}
}

// gap asks a worker of whom nothing comes how far its answer is, and returns errGap if a part is
// lost: the server was away. It says again how much was handed on, as that may be lost, too.
func (c *call) gap(ctx context.Context, a *attempt, handed int64) error {
	some, cancel := context.WithTimeout(ctx, c.g.config.Patience)
	defer cancel()
	h, err := c.g.mail.request(some, c.worker, &header{Kind: kindPing, Call: a.id, At: handed}, nil)
	if err != nil {
		return ctx.Err() // whether the worker is lost, watch finds out
	}
	hub.Pause(ctx, pingEvery) // what it has sent before it said so may come a little later
	a.mu.Lock()
	defer a.mu.Unlock()
	if (h.End || h.At > a.had) && len(a.parts) == 0 && a.err == nil {
		return errGap
	}
	return ctx.Err()
}

// begin hands the status on, or compares it.
func (c *call) begin(p *part) error {
	switch {
	case p.gaveUp:
		return errGaveUp
	case p.status < 200 || p.status > 599: // the first part is not there
		return errGap
	case c.status == p.status:
		return nil
	case p.status == http.StatusServiceUnavailable && (c.status != 0 || c.busy < c.g.config.Tries-1):
		c.busy++
		return errBusy
	case c.status != 0:
		return ErrDiffers
	}
	maps.Copy(c.w.Header(), p.fields)
	c.w.WriteHeader(p.status)
	c.status = p.status
	return nil
}

// An attempt is what one worker has answered.
type attempt struct {
	*inbox
	id string
}

// lose ends the attempt after what has come.
func (a *attempt) lose() { a.end(errLost) }
