package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A ring is the ring buffer in which the blocks of split tiles wait to be merged in
// order.
type ring struct {
	memory  []ringSlot
	slots   []ringSlot   // those that the call uses
	next    atomic.Int64 // number of the block to be merged next
	merging sync.Mutex   // held by the thread that merges
	merged  tile         // all blocks of a tile so far

	// There is room for this: calls repeat, and there are many slots.
	fitted int // slots
	shape  shape
	epoch  uint32

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

// fit makes room for the tasks of j on so many threads.
func (r *ring) fit(j *Job, threads int) {
	n := slotsPerThread * threads
	if r.fitted == n && r.shape == j.shape && r.epoch == j.memory.Epoch() {
		return
	}
	r.fitted, r.shape, r.epoch = n, j.shape, j.memory.Epoch()
	if more := n - len(r.memory); more > 0 {
		r.memory = append(r.memory, make([]ringSlot, more)...)
	}
	for i := range r.memory[:n] {
		r.memory[i].tile[0].fit(j, &j.memory, j.lanes)
	}
	r.merged.fit(j, &j.memory, j.lanes)
}

// begin prepares the ring for the tasks of a call on so many threads. fit has made room for
// them.
func (r *ring) begin(threads int) {
	r.slots = r.memory[:slotsPerThread*threads]
	for i := range r.slots {
		r.slots[i].tile[0].n = 0 // not a tile of this call
	}
	r.next.Store(0)
}

// end ends a call. The tiles forget the scratch memory of its threads.
func (r *ring) end() {
	for i := range r.slots {
		r.slots[i].tile[0].scratch = nil
	}
	r.slots, r.merged.scratch = nil, nil
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
