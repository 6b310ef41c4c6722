package gate

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestAwait: goroutines pass a number on to each other, each by one more, whether they
// park or not.
func TestAwait(t *testing.T) {
	const goroutines, rounds = 4, 50
	for _, parks := range []bool{false, true} {
		var g Gate
		g.Init()
		var at atomic.Int64
		var group sync.WaitGroup
		for i := range int64(goroutines) {
			group.Go(func() {
				for r := range int64(rounds) {
					turn := r*goroutines + i
					if !g.Await(func() bool { return at.Load() >= turn }, 0, parks) || !at.CompareAndSwap(turn, turn+1) {
						t.Errorf("parks: %v: goroutine %d passes in round %d at %d", parks, i, r, at.Load())
						g.Stop()
						return
					}
					g.Wake()
				}
			})
		}
		group.Wait()
		if n := at.Load(); n != goroutines*rounds {
			t.Errorf("parks: %v: the number is %d in the end, want %d", parks, n, goroutines*rounds)
		}
	}
}

// TestStop: nobody waits for a call that has failed, neither those who wait already nor
// others.
func TestStop(t *testing.T) {
	for _, parks := range []bool{false, true} {
		var g Gate
		g.Init()
		never := func() bool { return false }
		var waiting atomic.Bool
		done := make(chan bool)
		go func() {
			done <- g.Await(func() bool { waiting.Store(true); return false }, 0, parks)
		}()
		for !waiting.Load() {
			runtime.Gosched()
		}
		g.Stop()
		if <-done || g.Await(never, 0, parks) {
			t.Errorf("parks: %v: Await returns true after Stop", parks)
		}
	}
}
