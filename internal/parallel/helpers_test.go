package parallel

import (
	"sync"
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
func waitParked() { waitFor(func() bool { return spinning.Load() == 0 }) }

// waitFor waits until something is the case. It has no limit, as a busy machine may take minutes
// for what takes a millisecond: go test ends a test that hangs, with this goroutine's stack.
func waitFor(is func() bool) {
	for !is() {
		time.Sleep(100 * time.Microsecond)
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
