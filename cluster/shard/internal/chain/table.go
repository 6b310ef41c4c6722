// Package chain has the states of chains on their way: each link of a chain waits on a worker for the
// state of the link before. The state may come first, a message may come twice, and a client or a worker
// may be gone, so everything has an end.
package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// Key names a link.
type Key struct {
	Chain  wire.ChainID
	Number int
}

// What can be wrong with a link.
var (
	ErrTwice   = errors.New("shard: the link was asked for already")
	ErrFull    = errors.New("shard: the worker has no memory left for chains")
	ErrGivenUp = errors.New("shard: the client has given up the chain")
	ErrUnknown = errors.New("shard: the worker does not work on the link")
)

// Table has the links of a worker. It is for any number of goroutines.
type Table struct {
	keep time.Duration
	most int // links

	mu    sync.Mutex
	left  int64 // bytes
	links map[Key]*link
}

// link is a link that was asked for or whose state has come.
type link struct {
	state    chan []byte // one, or closed if there will be none
	has      bool        // a state was put there, or it is closed
	bytes    int64       // of the table that it takes
	begun    bool
	finished bool // it stays for a while, so that a message that comes again is noticed
}

// New returns a table for links that take so many bytes together. It keeps states that nobody has asked for, and the names
// of links that are finished, for keep.
func New(bytes int64, keep time.Duration) *Table {
	return &Table{keep: keep, most: mostLinks, left: bytes, links: map[Key]*link{}}
}

// mostLinks is the most links of a table, those included that are finished: some 100 MB, if nothing but their names comes.
const mostLinks = 1 << 18

// get returns a link, which it makes if it is not there, or nil if the table has no place for another one. t.mu is held.
func (t *Table) get(k Key) *link {
	l := t.links[k]
	if l == nil && len(t.links) < t.most {
		l = &link{state: make(chan []byte, 1)}
		t.links[k] = l
	}
	return l
}

// take takes bytes of the table for a link. t.mu is held.
func (t *Table) take(l *link, bytes int64) bool {
	if bytes > t.left {
		return false
	}
	t.left -= bytes
	l.bytes += bytes
	return true
}

// forget removes a link. t.mu is held.
func (t *Table) forget(k Key, l *link) {
	if t.links[k] == l {
		t.left += l.bytes
		l.bytes = 0
		delete(t.links, k)
	}
}

// Begin begins a link that takes so many bytes until the function that it returns is called. The error is ErrTwice
// or ErrFull.
func (t *Table) Begin(k Key, bytes int64) (end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.get(k)
	if l == nil {
		return nil, ErrFull
	}
	if l.begun {
		return nil, ErrTwice
	}
	if !t.take(l, bytes) {
		t.forget(k, l)
		return nil, ErrFull
	}
	l.begun = true
	return func() { t.end(k, l) }, nil
}

// end notes that a link is finished.
func (t *Table) end(k Key, l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left += l.bytes
	l.bytes, l.finished = 0, true
	t.expire(k, l)
}

// expire removes a link after a while. t.mu is held.
func (t *Table) expire(k Key, l *link) {
	time.AfterFunc(t.keep, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !l.begun || l.finished {
			t.forget(k, l)
		}
	})
}

// Wait returns the state of a link that has begun. The error is ErrGivenUp, ErrUnknown if it has not begun, or that of ctx.
func (t *Table) Wait(ctx context.Context, k Key) ([]byte, error) {
	t.mu.Lock()
	l := t.links[k]
	t.mu.Unlock()
	if l == nil {
		return nil, ErrUnknown
	}
	select {
	case state, ok := <-l.state:
		if !ok {
			return nil, ErrGivenUp
		}
		return state, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Put gives a link its state, which the table keeps; nil says that there will be none. What comes after the first time counts
// for nothing. The error is ErrFull.
func (t *Table) Put(k Key, state []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.get(k)
	if l == nil {
		return ErrFull
	}
	if l.has || l.finished {
		return nil
	}
	if !t.take(l, int64(len(state))) {
		if !l.begun {
			t.forget(k, l)
		}
		return ErrFull
	}
	l.has = true
	if state == nil {
		close(l.state)
	} else {
		l.state <- state
	}
	if !l.begun {
		t.expire(k, l)
	}
	return nil
}

// Works returns ErrUnknown unless a link has begun and is not finished.
func (t *Table) Works(k Key) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.links[k]; l == nil || !l.begun || l.finished {
		return ErrUnknown
	}
	return nil
}

// Left returns how many bytes of the table are free, and how many links it has.
func (t *Table) Left() (bytes int64, links int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left, len(t.links)
}
