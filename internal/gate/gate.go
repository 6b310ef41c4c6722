// Package gate lets goroutines of a call wait for what others do.
package gate

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Gate is where goroutines wait. One that waits yields for a while and then parks, as
// the one that it waits for may need its processor.
type Gate struct {
	mu      sync.Mutex
	moved   sync.Cond
	waiters atomic.Int64
	stopped atomic.Bool
}

// Init sets up a new Gate, once.
func (g *Gate) Init() { g.moved.L = &g.mu }

// Await returns when ready does: true, or false if the call has failed. It yields so many
// times. Then it parks, or goes on yielding if some of the goroutines may be in a bubble
// of testing/synctest and others not, because sync.Cond cannot wake across bubbles.
func (g *Gate) Await(ready func() bool, yields int, parks bool) bool {
	for n := 0; !ready(); n++ {
		if g.stopped.Load() {
			return false
		}
		if n >= yields && parks {
			return g.park(ready)
		}
		runtime.Gosched()
	}
	return true
}

func (g *Gate) park(ready func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiters.Add(1)
	defer g.waiters.Add(-1)
	for !ready() {
		if g.stopped.Load() {
			return false
		}
		g.moved.Wait()
	}
	return true
}

// Wake lets those who wait look again. What they wait for is an atomic that the caller
// has changed by Swap and not by Store, see parallel.job.park.
func (g *Gate) Wake() {
	if g.waiters.Load() > 0 {
		g.mu.Lock()
		g.moved.Broadcast()
		g.mu.Unlock()
	}
}

// Stop makes all return that wait, for a call of which a task has failed.
func (g *Gate) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped.Store(true)
	g.moved.Broadcast()
}
