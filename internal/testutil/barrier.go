package testutil

import (
	"runtime"
	"sync"
)

// A Barrier lets a number of goroutines wait until all of them are there. It may be used
// again.
type Barrier struct {
	mu           sync.Mutex
	n            int
	there, round int
}

// NewBarrier returns a Barrier for n goroutines.
func NewBarrier(n int) *Barrier { return &Barrier{n: n} }

// Wait waits until n goroutines have called it.
func (b *Barrier) Wait() {
	b.mu.Lock()
	round := b.round
	if b.there++; b.there == b.n {
		b.there = 0
		b.round++
	}
	for round == b.round {
		b.mu.Unlock()
		runtime.Gosched()
		b.mu.Lock()
	}
	b.mu.Unlock()
}
