package engine

import (
	"sync"
	"sync/atomic"

	"github.com/attn-go/attn/internal/engine/lanes"
	"github.com/attn-go/attn/internal/engine/tasks"
	"github.com/attn-go/attn/internal/gate"
	"github.com/attn-go/attn/internal/ints"
)

// Split-KV: each key block of a tile is a task, see tasks.Split. The result of a block does not
// depend on the blocks before it; only the merging must happen in order. So threads leave the
// results of blocks in a ring buffer, and whoever finds a tile's next block there merges it: the
// bits are as on one thread, and the memory does not grow with the number of blocks.

// splitTask computes task i, one block of a split tile. Then it merges the blocks of that
// tile that are ready, unless another thread does. The last merge finishes the tile.
func (j *Job) splitTask(s *scratch, i int) {
	r := &j.ring
	if !r.waitFree(i) {
		return
	}
	tile, block := j.plan.PartOf(i)
	slot := r.slot(i)
	t := &slot.tile[0]
	if b, h, row := j.splitRows(tile); t.N == 0 || t.Head != h || t.First != j.firstRow(h)+row {
		t.reset(s, h, row, j.plan.work.Width, j.plan.how.of(b))
	}
	t.scratch = s
	t.started = false
	s.computeBlock(slot.tile[:], ints.AddSat(blockStart(t.visible.Lo), block*BlockKeys))
	slot.setReady(i)
	for c := &r.tiles[tile]; j.nextIsReady(tile) && c.merging.TryLock(); c.merging.Unlock() {
		j.mergeReady(s, tile)
	}
}

// splitRows returns the bucket, the KV head and the first row of a split tile.
func (j *Job) splitRows(tile int) (b *tasks.Bucket, h lanes.Head, row int) {
	b, n := j.plan.SplitBucket(tile)
	return b, j.kvHead(b.First + n/b.Tiles), n % b.Tiles * j.plan.work.Width
}

// nextIsReady tells whether the block of a split tile that is to be merged next is
// computed.
func (j *Job) nextIsReady(tile int) bool {
	block := int(j.ring.tiles[tile].next.Load())
	if b, _ := j.plan.SplitBucket(tile); block == b.BlocksPerTile {
		return false
	}
	i := j.plan.TaskOf(tile, block)
	return j.ring.slot(i).isReady(i)
}

// mergeReady merges the blocks of a split tile that are there, up to the first one that
// is not.
func (j *Job) mergeReady(s *scratch, tile int) {
	c := &j.ring.tiles[tile]
	b, h, row := j.splitRows(tile)
	c.merged.scratch = s
	for j.nextIsReady(tile) {
		block := int(c.next.Load())
		i := j.plan.TaskOf(tile, block)
		if block == 0 {
			c.merged.begin(s, h, row, j.plan.work.Width, j.plan.how.of(b))
		}
		if part := &j.ring.slot(i).tile[0]; part.started {
			c.merged.merge(part)
		}
		if block == b.BlocksPerTile-1 {
			c.merged.finish()
		}
		c.next.Add(1)
		j.ring.release(i)
	}
}

// merge merges tile x, the result of one block of the same rows, into t. It may swap their
// memory.
func (t *tile) merge(x *tile) {
	if !t.started {
		copy(t.max, x.max)
		copy(t.sum, x.sum)
		t.o, x.o, t.oUsage, x.oUsage = x.o, t.o, x.oUsage, t.oUsage
		t.started = true
		return
	}
	t.kern.MergeStats(t.max, t.sum, x.max, x.sum, t.block.alpha, t.block.beta)
	t.strategy.merge(t, x.o)
}

// A ring is the ring buffer in which the blocks of split tiles wait to be merged. Task i
// has slot i modulo their number.
type ring struct {
	memory []ringSlot
	slots  []ringSlot // those that the call uses

	tilesMemory []splitTile
	tiles       []splitTile // the call's

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

// A splitTile merges the blocks of one split tile, in their order. Blocks of different tiles are
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

// ringSlots returns the number of slots for so many threads and split tiles. While all
// tiles have blocks left, a slot has blocks of one tile alone, whose queries it packs
// once.
func ringSlots(threads, tiles int) int {
	n := slotsPerThread * threads
	return ints.RoundUp(n, tiles)
}

// mostSlots is the most slots for up to so many threads and split tiles. ringSlots itself does not
// grow with each of them: 3 threads and 12 tiles have 12 slots, 2 threads and 7 tiles have 14.
func mostSlots(threads, tiles int) int {
	n := slotsPerThread * threads
	return max(tiles, n+min(n, tiles)-1)
}

// prepare makes room for the split tiles of a call and of those to come, and begins the
// call.
func (r *ring) prepare(j *Job) {
	p := &j.plan
	if p.Ring.Tiles > 0 {
		r.fit(j, p.Ring.Threads, p.Ring.Tiles)
	}
	if p.Split.Tiles > 0 {
		r.begin(p.Threads, p.Split.Tiles)
	}
}

// fit makes room for calls with up to so many split tiles on up to so many threads.
func (r *ring) fit(j *Job, threads, tiles int) {
	fitted := struct{ slots, tiles int }{mostSlots(threads, tiles), tiles}
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

// setReady says that the slot holds the result of task i. The caller then looks whether
// it is to merge it. So the state is swapped and not stored: see parallel.job.park.
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
