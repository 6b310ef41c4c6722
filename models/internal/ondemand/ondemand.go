// Package ondemand keeps values that take much memory, of which not all fit at once: each is loaded
// when it is asked for, and the one that was used least recently goes when another one needs its
// room. What is in use stays.
package ondemand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/attn-go/attn/kernel"
)

// ErrClosed is the error of what is asked for after the end.
var ErrClosed = errors.New("ondemand: closed")

// A Pool has a number of bytes for its items. It is for any number of goroutines.
type Pool[T any] struct {
	most int64

	mu      sync.Mutex
	bytes   int64         // of items that are loaded or being loaded
	order   []*Item[T]    // that are loaded, the one that was used least recently first
	wanting bool          // an item is being loaded, or waits for room
	changed chan struct{} // closed when something that others wait for is different
	closed  bool
}

// An Item is a value that can be loaded.
type Item[T any] struct {
	pool   *Pool[T]
	bytes  int64
	load   func() (T, error)
	unload func(T)

	value  T
	loaded bool
	leaves bool // as soon as nobody uses it: another item waits for its room
	users  int
}

// New returns a pool of so many bytes.
func New[T any](most int64) *Pool[T] {
	return &Pool[T]{most: most, changed: make(chan struct{})}
}

// Add adds an item that takes so many bytes once it is loaded. One that could never be loaded is a
// [*kernel.Error]. load and unload are never called at the same time, for any items.
func (p *Pool[T]) Add(bytes int64, load func() (T, error), unload func(T)) (*Item[T], error) {
	if bytes > p.most {
		return nil, &kernel.Error{Where: "ondemand: item", Got: fmt.Sprintf("%d bytes", bytes), Want: fmt.Sprintf("at most %d", p.most)}
	}
	return &Item[T]{pool: p, bytes: bytes, load: load, unload: unload}, nil
}

// change wakes all who wait. The caller has the lock.
func (p *Pool[T]) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits for a change, without the lock that the caller has.
func (p *Pool[T]) wait(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Loaded returns the value, if it is loaded now. It may be unloaded at any time.
func (i *Item[T]) Loaded() (value T, ok bool) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	return i.value, i.loaded
}

// Use returns the value, which stays until release is called, once. It loads it if it is not there,
// once for all who ask. The error comes from loading, or is [ErrClosed] or ctx.Err().
func (i *Item[T]) Use(ctx context.Context) (value T, release func(), err error) {
	p := i.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.closed:
			return value, nil, ErrClosed
		case i.loaded && !i.leaves:
			i.users++
			p.used(i)
			return i.value, sync.OnceFunc(i.release), nil
		case !i.loaded && !p.wanting:
			err = i.enter(ctx)
		default:
			err = p.wait(ctx)
		}
		if err != nil {
			return value, nil, err
		}
	}
}

// used moves an item to the end of the order.
func (p *Pool[T]) used(i *Item[T]) {
	p.order = append(slices.DeleteFunc(p.order, func(o *Item[T]) bool { return o == i }), i)
}

func (i *Item[T]) release() {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	i.users--
	i.pool.change()
}

// enter makes room for an item and loads it. The caller has the lock.
func (i *Item[T]) enter(ctx context.Context) (err error) {
	p := i.pool
	p.wanting = true
	defer func() {
		p.wanting = false
		for _, o := range p.order {
			o.leaves = false
		}
		p.change()
	}()
	for p.bytes+i.bytes > p.most {
		if p.closed {
			return ErrClosed
		}
		if p.makeRoom(p.bytes + i.bytes - p.most) {
			continue
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	p.bytes += i.bytes
	defer func() {
		if !i.loaded {
			p.bytes -= i.bytes // also after a panic
		}
	}()
	value, err := i.loadUnlocked()
	if err != nil {
		return err
	}
	i.value, i.loaded = value, true
	p.used(i)
	return nil
}

// loadUnlocked loads an item without the lock, which the caller has again even after a panic.
func (i *Item[T]) loadUnlocked() (T, error) {
	i.pool.mu.Unlock()
	defer i.pool.mu.Lock()
	return i.load()
}

// makeRoom unloads an item that nobody uses, and tells whether there was one. Otherwise those that
// were used least recently are to leave, as many as take some bytes.
func (p *Pool[T]) makeRoom(bytes int64) bool {
	for _, o := range p.order {
		if o.users == 0 {
			p.remove(o)
			return true
		}
	}
	for _, o := range p.order {
		if bytes > 0 {
			o.leaves = true
			bytes -= o.bytes
		}
	}
	return false
}

// remove unloads an item that nobody uses. The caller has the lock.
func (p *Pool[T]) remove(i *Item[T]) {
	value := i.value
	var none T
	i.value, i.loaded, i.leaves = none, false, false
	p.order = slices.DeleteFunc(p.order, func(o *Item[T]) bool { return o == i })
	p.mu.Unlock()
	i.unload(value)
	p.mu.Lock()
	p.bytes -= i.bytes
	p.change()
}

// Close lets nothing be used any more, waits until nobody uses or loads anything, and unloads all.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.change()
	for p.wanting || len(p.order) > 0 {
		if !p.wanting && p.makeRoom(0) {
			continue
		}
		_ = p.wait(context.Background()) // which has no end
	}
}
