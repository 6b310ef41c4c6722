package parallel

import (
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/testutil"
)

// repeats is how often a test repeats what fails rarely: n times, and a few times where
// the tests may run on an emulator.
func repeats(n int) int {
	if testutil.Quick() {
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
