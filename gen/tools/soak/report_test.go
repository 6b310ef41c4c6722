package soak

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/attn-go/attn/kernel"
)

// A state is what calls might leave behind.
type state struct {
	goroutines int
	heap       uint64 // bytes of reachable objects
}

// slack is how much more memory may be reachable at the end: the tally, the runtime's own
// lists.
const slack = 256 << 10

// measure returns the state after a garbage collection.
func measure() state {
	kernel.ReleaseMemory()
	runtime.GC()
	runtime.GC() // what had a cleanup
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return state{runtime.NumGoroutine(), m.HeapAlloc}
}

// compare adds a finding if more is left than there was before. Workers need a moment to
// exit, or minutes on a busy machine.
func (t *tally) compare(before state) {
	var after state
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		after = measure()
		if after.goroutines <= before.goroutines && after.heap <= before.heap+slack {
			return
		}
	}
	t.find("left behind: %d goroutines and %d KiB of memory, before: %d and %d", after.goroutines, after.heap>>10, before.goroutines, before.heap>>10)
}

// tell prints how far the run is, once in a while, until the context ends.
func (t *tally) tell(ctx context.Context, start time.Time, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.mu.Lock()
		calls := 0
		for _, s := range scenarios {
			calls += t.done[s.name]
		}
		fmt.Fprintf(t.out, "%v: %d results compared, %d findings\n", time.Since(start).Round(time.Second), calls, t.done["findings"])
		t.mu.Unlock()
	}
}

// report prints what was done, and returns the number of findings.
func (t *tally) report(elapsed time.Duration) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	findings := t.done["findings"]
	delete(t.done, "findings")
	fmt.Fprintf(t.out, "%v\n", elapsed.Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(t.done)) {
		fmt.Fprintf(t.out, "%8d  %s\n", t.done[name], name)
	}
	fmt.Fprintf(t.out, "%8d  findings\n", findings)
	return findings
}
