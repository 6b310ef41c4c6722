package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A ring is the ring buffer in which the blocks of split tiles wait to be merged in
// order.
type ring struct {
	slots   []ringSlot
	next    atomic.Int64 // number of the block to be merged next
	merging sync.Mutex   // held by the thread that merges
	merged  tile         // all blocks of a tile so far

	// Threads that wait for a slot yield a few times and then park: the one that they
	// wait for may need their processor.
	mu      sync.Mutex
	moved   sync.Cond // next has been raised
	waiters atomic.Int64
	stopped atomic.Bool // a task has failed: waitFree returns false
}

// A ringSlot holds one block at a time, of those whose numbers are equal modulo the
// number of slots.
type ringSlot struct {
	tile  [1]tile
	ready atomic.Bool // the block is computed and not yet merged
}

const (
	// slotsPerThread is how many blocks a thread may be ahead.
	slotsPerThread = 4

	// yields is how often a thread yields before it parks.
	yields = 20
)

func (r *ring) init() { r.moved.L = &r.mu }

// fit prepares the ring for the tasks of j.
func (r *ring) fit(j *Job) {
	n := slotsPerThread * j.threads
	if len(r.slots) < n {
		r.slots = make([]ringSlot, n)
	}
	for i := range r.slots {
		t := &r.slots[i].tile[0]
		t.fit(j, j.width)
		t.n = 0 // not a tile of this call
	}
	r.merged.fit(j, j.width)
	r.next.Store(0)
}

// slot returns the slot of a block.
func (r *ring) slot(block int) *ringSlot { return &r.slots[block%len(r.slots)] }

// nextReady tells whether the block to be merged next is computed.
func (r *ring) nextReady() bool { return r.slot(int(r.next.Load())).ready.Load() }

// stop wakes all that wait, for a call of which a task has failed.
func (r *ring) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped.Store(true)
	r.moved.Broadcast()
}

// waitFree returns when block i may have its slot: true, or false if the call has been
// stopped.
func (r *ring) waitFree(i int) bool {
	for range yields {
		if r.isFree(i) {
			return true
		}
		runtime.Gosched()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters.Add(1)
	defer r.waiters.Add(-1)
	for !r.isFree(i) {
		if r.stopped.Load() {
			return false
		}
		r.moved.Wait()
	}
	return true
}

// isFree tells whether the previous block of the same slot has been merged.
func (r *ring) isFree(i int) bool { return i-int(r.next.Load()) < len(r.slots) }

// advance goes on to the next block.
func (r *ring) advance() {
	r.next.Add(1)
	if r.waiters.Load() > 0 {
		r.mu.Lock()
		r.moved.Broadcast()
		r.mu.Unlock()
	}
}
