package relay

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/attn-go/attn/models/server"
)

// An inbox has the parts of a body or of an answer, which have to come one after the other.
type inbox struct {
	wake chan struct{}

	mu    sync.Mutex
	parts []part
	had   int64 // bytes; 0 before the first part
	begun bool
	err   error // why no more comes
}

// A part is a part of a body or of an answer.
type part struct {
	at          int64 // of its first byte
	data        []byte
	status      int // this and what follows are of an answer
	fields      http.Header
	end, gaveUp bool
	tally       *server.Tally
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// add adds a part. It does not wait: senders have a window. begins tells whether it may be the first one.
func (x *inbox) add(p part, begins bool) {
	x.mu.Lock()
	switch {
	case x.err != nil:
	case p.at != x.had || !x.begun && !begins:
		x.err = errGap
	default:
		x.begun = true
		x.parts = append(x.parts, p)
		x.had += int64(len(p.data))
	}
	x.mu.Unlock()
	x.notify()
}

// end has next return an error after what has come, unless there is one already.
func (x *inbox) end(err error) {
	x.mu.Lock()
	if x.err == nil {
		x.err = err
	}
	x.mu.Unlock()
	x.notify()
}

func (x *inbox) notify() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// ended returns why no more comes, or nil.
func (x *inbox) ended() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// next waits for a part. If none comes for some time, it calls silent, and ends with its error.
func (x *inbox) next(ctx context.Context, some time.Duration, silent func() error) (*part, error) {
	timer := time.NewTimer(some)
	defer timer.Stop()
	for {
		x.mu.Lock()
		if len(x.parts) > 0 {
			p := x.parts[0]
			x.parts[0], x.parts = part{}, x.parts[1:]
			x.mu.Unlock()
			return &p, nil
		}
		err := x.err
		x.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-x.wake:
		case <-timer.C:
			if err := silent(); err != nil {
				return nil, err
			}
			timer.Reset(some)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
