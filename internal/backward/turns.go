package backward

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/attn-go/attn/internal/parallel"
)

// turns has the order in which segments add to a block of keys: each waits until those before it,
// of the same KV head, have added. A waiting goroutine yields for a while and then parks, as the one
// that it waits for may need its processor.
type turns struct {
	segments int  // of a KV head
	isAlone  bool // one goroutine does all tasks, in their order
	parks    bool

	// done[kv·segments + x] is the number of blocks to which segment x and all before it have
	// added.
	done  []atomic.Int64
	usage parallel.Usage

	mu      sync.Mutex
	moved   sync.Cond // a segment has added to a block
	waiters atomic.Int64
	stopped atomic.Bool // a task has failed: nobody waits any more
}

// allBlocks is a number of blocks that no call has.
const allBlocks = math.MaxInt64

// yields is how often a goroutine yields before it parks: for some 100 µs, in which a segment adds
// to one or two blocks.
const yields = 200

func (t *turns) init() { t.moved.L = &t.mu }

// begin prepares a call. Goroutines park unless some may be in a bubble of testing/synctest and
// others not, because sync.Cond cannot wake across bubbles.
func (t *turns) begin(m *parallel.Memory, kvHeads, segments int, isAlone, parks bool) {
	t.segments, t.isAlone, t.parks = segments, isAlone, parks
	parallel.Fit(m, &t.usage, &t.done, kvHeads*segments, parallel.Make[atomic.Int64])
	for i := range t.done[:kvHeads*segments] {
		t.done[i].Store(0)
	}
	t.stopped.Store(false)
}

// stop wakes all that wait, for a call of which a task has failed.
func (t *turns) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped.Store(true)
	t.moved.Broadcast()
}

// await waits until all segments of KV head kv before x have added to a block. It reports false if
// the call has failed.
func (t *turns) await(kv, x int, block int64) bool {
	if t.isAlone || x == 0 {
		return true
	}
	before := &t.done[kv*t.segments+x-1]
	for n := 0; before.Load() <= block; n++ {
		if t.stopped.Load() {
			return false
		}
		if n >= yields && t.parks {
			return t.park(before, block)
		}
		runtime.Gosched()
	}
	return true
}

func (t *turns) park(before *atomic.Int64, block int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters.Add(1)
	defer t.waiters.Add(-1)
	for before.Load() <= block {
		if t.stopped.Load() {
			return false
		}
		t.moved.Wait()
	}
	return true
}

// pass reports that segment x, and with it all before, have added to so many blocks. It reports
// false if the call has failed.
func (t *turns) pass(kv, x int, blocks int64) bool {
	if t.isAlone {
		return true
	}
	if !t.await(kv, x, blocks-1) {
		return false
	}
	t.done[kv*t.segments+x].Swap(blocks) // not Store, see parallel.job.park
	if t.waiters.Load() > 0 {
		t.mu.Lock()
		t.moved.Broadcast()
		t.mu.Unlock()
	}
	return true
}
