package testutil

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
)

// CheckNoMallocs fails the test if n calls allocate, after n calls to warm up.
func CheckNoMallocs(t testing.TB, what string, n int, call func()) {
	t.Helper()
	CheckNone(t, fmt.Sprintf("%s: allocations in %d calls", what, n), func() uint64 { return CountMallocs(n, call) })
}

// CheckNone fails the test if count, which calls CountMallocs, returns more than 0 each time. On a
// busy machine the runtime itself allocates now and then, for a thread that was not there before: a
// call that allocates does so every time. The race detector allocates too: under it nothing is
// counted.
func CheckNone(t testing.TB, what string, count func() uint64) {
	t.Helper()
	var got uint64
	for range 5 {
		if got = count(); got == 0 || Race {
			return
		}
	}
	t.Errorf("%s: %d, five times", what, got)
}

// CountMallocs returns the exact number of heap allocations of the whole program during n
// calls, after n calls to warm up. The garbage collector is off: it would empty lists of
// the runtime that primeRuntime fills.
func CountMallocs(n int, call func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	primeRuntime()
	for range n {
		call()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		call()
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// primeRuntime makes the runtime allocate all goroutines, records of blocked goroutines
// and threads that it will need. The runtime recycles these. But each processor has lists
// of its own for up to 64 goroutines and 128 records, and where these and the global lists
// are empty, it allocates. So there must be more than the lists of all processors hold.
func primeRuntime() {
	processors := runtime.GOMAXPROCS(0)
	var there, done sync.WaitGroup
	release := make(chan bool)
	for range 1000 * processors {
		there.Add(1)
		done.Go(func() {
			there.Done()
			<-release
		})
	}
	there.Wait()
	close(release)
	done.Wait()
	all := NewBarrier(processors + 4)
	for range processors + 4 {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Wait()
		})
	}
	done.Wait()
}
