package parallel

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// repeats is how often a test repeats what fails rarely: n times, and a few times where
// the tests may run on an emulator. That is with -short and without the race detector.
func repeats(n int) int {
	if testing.Short() && !raceEnabled {
		return max(n/6, 2)
	}
	return n
}

// waitParked waits until no worker is idle: the workers of earlier tests have parked.
func waitParked(t *testing.T) {
	t.Helper()
	waitFor(t, "all workers are parked", func() bool { return spinning.Load() == 0 })
}

// waitFor waits until something is the case, and fails if that takes very long.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(100 * time.Microsecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("waited for 30 s: %s", what)
		}
	}
}

// A barrier lets n goroutines wait until all of them are there. It may be used again.
type barrier struct {
	mu           sync.Mutex
	n            int
	there, round int
}

func (b *barrier) wait() {
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

// The parallel-fors below are good ones.

func serialFor(n int, task func(i int)) {
	for i := range n {
		task(i)
	}
}

func concurrentFor(n int, task func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { task(i) })
	}
	wg.Wait()
}
