package backward

import (
	"math"
	"sync/atomic"

	"github.com/attn-go/attn/internal/gate"
	"github.com/attn-go/attn/internal/parallel"
)

// turns has the order in which segments add to a block of keys: each waits until those before it,
// of the same KV head, have added.
type turns struct {
	segments int  // of a KV head
	isAlone  bool // one goroutine does all tasks, in their order
	parks    bool

	// done[kv·segments + x] is the number of blocks to which segment x and all before it have
	// added.
	done  []atomic.Int64
	usage parallel.Usage

	gate gate.Gate
}

// allBlocks is a number of blocks that no call has.
const allBlocks = math.MaxInt64

// yields is how often a goroutine yields before it parks: for some 100 µs, in which a segment adds
// to one or two blocks.
const yields = 200

// begin prepares a call. Goroutines park unless some may be in a bubble of testing/synctest and
// others not, because sync.Cond cannot wake across bubbles.
func (t *turns) begin(m *parallel.Memory, kvHeads, segments int, isAlone, parks bool) {
	t.segments, t.isAlone, t.parks = segments, isAlone, parks
	parallel.Fit(m, &t.usage, &t.done, kvHeads*segments, parallel.Make[atomic.Int64])
	for i := range t.done[:kvHeads*segments] {
		t.done[i].Store(0)
	}
}

// await waits until all segments of KV head kv before x have added to a block. It reports false if
// the call has failed.
func (t *turns) await(kv, x int, block int64) bool {
	if t.isAlone || x == 0 {
		return true
	}
	before := &t.done[kv*t.segments+x-1]
	return t.gate.Await(func() bool { return before.Load() > block }, yields, t.parks)
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
	t.done[kv*t.segments+x].Swap(blocks) // not Store, see gate.Wake
	t.gate.Wake()
	return true
}
