package batch

import (
	"slices"
	"sync"
	"time"
)

// Turns shares the cores between several models: one computes at a time, with as many threads as it
// has. The next one is the model that wants to and has computed the shortest time.
type Turns struct {
	mu      sync.Mutex
	holder  *Turn // that computes, or will soon
	waiting []*Turn
	clock   time.Duration // the largest Turn.used at which a turn began
}

// A Turn is the share of one model. It is for one goroutine at a time. nil means all cores.
type Turn struct {
	of    *Turns
	used  time.Duration
	ready chan struct{}
}

// Join returns a share.
func (t *Turns) Join() *Turn { return &Turn{of: t, ready: make(chan struct{}, 1)} }

// Do calls f when it is its turn. f returns whether Do will be called again soon: if so, and if
// nobody who waits has computed for a shorter time, the turn is kept until then, or until Rest.
func (t *Turn) Do(f func() (more bool)) {
	if t == nil {
		f()
		return
	}
	t.of.enter(t)
	begin, more := time.Now(), false
	defer func() { t.of.leave(t, time.Since(begin), more) }()
	more = f()
}

// Rest gives a turn back that was kept.
func (t *Turn) Rest() {
	if t != nil {
		t.of.leave(t, 0, false)
	}
}

// enter waits for a turn. Who comes after a pause has not saved any time up: its time begins at the
// clock.
func (t *Turns) enter(w *Turn) {
	t.mu.Lock()
	w.used = max(w.used, t.clock)
	if t.holder == nil || t.holder == w {
		t.begin(w)
		t.mu.Unlock()
		return
	}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	<-w.ready
}

// begin gives the turn to w.
func (t *Turns) begin(w *Turn) {
	t.holder = w
	t.clock = max(t.clock, w.used)
}

// leave ends a turn and begins the next one.
func (t *Turns) leave(w *Turn, took time.Duration, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder != w {
		return
	}
	w.used += took
	if len(t.waiting) == 0 {
		if !more {
			t.holder = nil
		}
		return
	}
	next := slices.MinFunc(t.waiting, func(a, b *Turn) int { return int(a.used - b.used) })
	if more && w.used < next.used {
		return
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(u *Turn) bool { return u == next })
	t.begin(next)
	next.ready <- struct{}{}
}
