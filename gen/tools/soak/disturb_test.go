package soak

import (
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/attn-go/attn/kernel"
)

// disturb changes the settings of the program all the time until the context ends: threads,
// memory limit, spinning, and what the garbage collector has to do. The returned function
// waits for the end and restores all of them.
func disturb(ctx context.Context, seed uint64, t *tally) (undo func()) {
	threads := runtime.GOMAXPROCS(0)
	limit := debug.SetMemoryLimit(-1)
	spin := kernel.SetSpin(-1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := rand.New(rand.NewPCG(seed, 1<<32))
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			switch r.IntN(6) {
			case 0:
				runtime.GOMAXPROCS(between(r, 1, 2*threads+2))
				t.count("GOMAXPROCS changes")
			case 1:
				debug.SetMemoryLimit(int64(between(r, 16, 256)) << 20)
				t.count("memory limits")
			case 2:
				kernel.SetSpin(time.Duration(r.IntN(200)) * time.Microsecond)
				t.count("spinning changes")
			case 3:
				runtime.GC()
				t.count("garbage collections forced")
			case 4:
				kernel.ReleaseMemory()
				t.count("releases of memory")
			}
		}
	}()
	return func() {
		<-done
		runtime.GOMAXPROCS(threads)
		debug.SetMemoryLimit(limit)
		kernel.SetSpin(spin)
	}
}
