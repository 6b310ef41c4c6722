package batch

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Errors of work that does not come in, or that waits in the end.
var (
	ErrFull    = errors.New("batch: too many requests wait")
	ErrKeyFull = errors.New("batch: too many requests of this key wait")
	ErrClosed  = errors.New("batch: closed")
)

// An entrance is where work waits for its turn.
type entrance[T any] struct {
	mu      sync.Mutex
	waiting fair[T]
	closed  bool
	wake    chan struct{}
	yield   func() // in place of runtime.Gosched, or nil
}

// submit lets an item wait if there is room: for so many of all keys, and of its own.
func (e *entrance[T]) submit(key string, item T, most, perKey int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return ErrClosed
	case e.waiting.count >= most:
		return ErrFull
	}
	l := e.waiting.line(key)
	if len(l.items) >= perKey {
		return ErrKeyFull
	}
	l.items = append(l.items, item)
	e.waiting.count++
	e.rouse()
	return nil
}

// rouse ends the wait for something to do.
func (e *entrance[T]) rouse() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Ready returns nil if requests are taken, and ErrClosed otherwise.
func (e *entrance[T]) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	return nil
}

// close lets nothing in any more.
func (e *entrance[T]) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
}

// let lets others run after a step: on one core, who writes what it has made would wait until the
// next steps are interrupted.
func (e *entrance[T]) let() {
	if e.yield != nil { // of a test
		e.yield()
		return
	}
	runtime.Gosched()
}

// run calls step until ctx ends, and waits if there was nothing to do. Then it closes.
func (e *entrance[T]) run(ctx context.Context, turn *Turn, step func(context.Context) (worked bool)) {
	for ctx.Err() == nil {
		if step(ctx) {
			e.let()
			continue
		}
		turn.Rest()
		select {
		case <-ctx.Done():
		case <-e.wake:
		}
	}
	turn.Rest()
	e.close()
}
