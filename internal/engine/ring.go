package engine

import (
	"sync"
	"sync/atomic"

	"github.com/attn-go/attn/internal/gate"
)

// A ring is the ring buffer in which the blocks of split tiles wait to be merged. Task i has
// slot i modulo their number.
type ring struct {
	memory []ringSlot
	slots  []ringSlot // those that the call uses

	tilesMemory []splitTile
	tiles       []splitTile // those of the call

	// What fit has made room for: a call that needs the same skips the loop over all slots.
	fitted struct{ slots, tiles int }
	shape  shape
	epoch  uint32

	gate gate.Gate // where threads wait for a slot
}

// A ringSlot holds the result of one task at a time.
type ringSlot struct {
	tile  [1]tile
	state atomic.Int64 // 2i: free for task i; 2i+1: task i is computed and not yet merged
	_     [64]byte     // other threads write to the neighbours
}

// A splitTile merges the blocks of one split tile, in their order. Those of different tiles are
// merged at the same time.
type splitTile struct {
	next    atomic.Int64 // block to be merged next
	merging sync.Mutex   // held by the thread that merges
	merged  tile         // all blocks so far
	_       [64]byte     // other threads write to the neighbours
}

const (
	// slotsPerThread is how many tasks a thread may be ahead.
	slotsPerThread = 4

	// yields is how often a thread yields before it parks.
	yields = 20
)

// ringSlots returns the number of slots for so many threads and split tiles. While all tiles
// have blocks left, a slot has blocks of one tile alone, whose queries it packs once.
func ringSlots(threads, tiles int) int {
	n := slotsPerThread * threads
	return (n + tiles - 1) / tiles * tiles
}

// prepare makes room for the split tiles of a call and of those to come, and begins the call.
func (r *ring) prepare(j *Job) {
	p := &j.plan
	if p.ring.tiles > 0 {
		r.fit(j, p.ring.threads, p.ring.tiles)
	}
	if p.split.tiles > 0 {
		r.begin(p.threads, p.split.tiles)
	}
}

// fit makes room for the split tiles of a call on so many threads.
func (r *ring) fit(j *Job, threads, tiles int) {
	fitted := struct{ slots, tiles int }{ringSlots(threads, tiles), tiles}
	if r.fitted == fitted && r.shape == j.plan.shape && r.epoch == j.memory.Epoch() {
		return
	}
	r.fitted, r.shape, r.epoch = fitted, j.plan.shape, j.memory.Epoch()
	r.memory = grown(r.memory, fitted.slots)
	for i := range r.memory[:fitted.slots] {
		r.memory[i].tile[0].fit(j, &j.memory, j.plan.lanes)
	}
	r.tilesMemory = grown(r.tilesMemory, fitted.tiles)
	for i := range r.tilesMemory[:fitted.tiles] {
		r.tilesMemory[i].merged.fit(j, &j.memory, j.plan.lanes)
	}
}

// grown returns s, or a copy of it with n elements if it has fewer.
func grown[E any](s []E, n int) []E {
	if more := n - len(s); more > 0 {
		return append(s, make([]E, more)...)
	}
	return s
}

// begin prepares the ring for a call. fit has made room for it.
func (r *ring) begin(threads, tiles int) {
	r.slots = r.memory[:ringSlots(threads, tiles)]
	for i := range r.slots {
		r.slots[i].tile[0].N = 0 // not a tile of this call
		r.slots[i].state.Store(2 * int64(i))
	}
	r.tiles = r.tilesMemory[:tiles]
	for i := range r.tiles {
		r.tiles[i].next.Store(0)
	}
}

// end ends a call. The tiles forget the scratch memory of its threads.
func (r *ring) end() {
	for i := range r.slots {
		r.slots[i].tile[0].scratch = nil
	}
	for i := range r.tiles {
		r.tiles[i].merged.scratch = nil
	}
	r.slots, r.tiles = nil, nil
}

// free makes the ring hold no memory.
func (r *ring) free() {
	r.memory, r.slots, r.tilesMemory, r.tiles = nil, nil, nil, nil
}

// slot returns the slot of task i.
func (r *ring) slot(i int) *ringSlot { return &r.slots[i%len(r.slots)] }

// isReady tells whether the slot holds the result of task i.
func (s *ringSlot) isReady(i int) bool { return s.state.Load() == 2*int64(i)+1 }

// isFree tells whether task i may use the slot: the task before it has been merged.
func (s *ringSlot) isFree(i int) bool { return s.state.Load() == 2*int64(i) }

// setReady says that the slot holds the result of task i. The caller then looks whether it is to merge
// it. So the state is swapped and not stored: see parallel.job.park.
func (s *ringSlot) setReady(i int) { s.state.Swap(2*int64(i) + 1) }

// release gives the slot of task i to the task that has it next.
func (r *ring) release(i int) {
	r.slot(i).state.Swap(2 * int64(i+len(r.slots))) // not Store, see parallel.job.park
	r.gate.Wake()
}

// waitFree returns when task i may use its slot: true, or false if the call has been
// stopped.
func (r *ring) waitFree(i int) bool {
	slot := r.slot(i)
	return slot.isFree(i) || r.gate.Await(func() bool { return slot.isFree(i) }, yields, true)
}
