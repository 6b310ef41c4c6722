package kernel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Where there are fewer panels than threads, or panels that take much longer than others, as
// where a few queries meet a long cache, a panel's blocks of keys are tasks of their own.
// What a block contributes does not depend on those before it; what must come in
// order is the folding. So threads leave their blocks in the slots of a ring, and
// whoever finds the next one there folds it in: the bits are those of one thread, and
// the memory does not grow with the number of blocks.
//
// The blocks of all split panels are numbered through, as the first tasks of the
// schedule. Tasks are taken in order, so that the block that all wait for is always one
// that a thread is at work on: nobody waits for ever, even if all tasks are done one after
// the other.

// A relay is what folds the blocks of split panels.
type relay struct {
	slots   []relaySlot
	next    atomic.Int64 // block to be folded
	folding sync.Mutex   // held by the one who folds
	panel   panel        // what all blocks of a panel are folded into

	// Those who wait for a slot. They give way a few times and then sleep: the one that
	// they wait for may need their processor.
	mu       sync.Mutex
	moved    sync.Cond // next has been raised
	sleepers atomic.Int64
}

// A relaySlot is for one block at a time, of those whose numbers are the same modulo the number
// of slots.
type relaySlot struct {
	panel [1]panel
	ready atomic.Bool // the block is there, to be folded
}

const (
	// slotsPerThread is how many blocks a thread may be ahead.
	slotsPerThread = 4

	// patience is how often a thread gives way before it sleeps.
	patience = 20
)

// split makes tasks of the blocks of a stretch's panels, if there are several.
func (j *job) split(y *stretch) {
	if y.keys <= blockKeys || j.window != everything {
		return
	}
	// Wherever the first block begins; a window moves with the queries.
	queries := min(y.rows, j.width)/j.group + 1
	blocks := ceilDiv(addSat(y.keys, queries+blockKeys-1), blockKeys)
	if n := mulSat(y.units*y.panels, blocks); n <= math.MaxInt32 {
		y.blocks, y.tasks = blocks, n
	}
}

// fit makes the relay ready for the tasks of j.
func (r *relay) fit(j *job) {
	n := slotsPerThread * j.threads
	if len(r.slots) < n {
		r.slots = make([]relaySlot, n)
	}
	for i := range r.slots {
		p := &r.slots[i].panel[0]
		p.fit(j, j.width)
		p.n = 0 // it is no panel of this call
	}
	r.panel.fit(j, j.width)
	r.next.Store(0)
}

// slot returns the slot of a block.
func (r *relay) slot(block int) *relaySlot { return &r.slots[block%len(r.slots)] }

// splitTask does one block of a split panel, of stretch y.
func (w *workspace) splitTask(j *job, y *stretch, i int) {
	r := &j.relay
	r.wait(i)
	s := r.slot(i)
	p := &s.panel[0]
	u, row, n := j.splitPart(y, i)
	if p.n == 0 || p.unit != u || p.row != row {
		p.few = j.few(y.rows)
		w.place(j, p, u, row, j.width)
	}
	p.started = false
	w.block(j, s.panel[:], addSat(p.seen.lo&^(blockKeys-1), n*blockKeys))
	s.ready.Store(true)
	for r.slot(int(r.next.Load())).ready.Load() && r.folding.TryLock() {
		w.foldReady(j)
		r.folding.Unlock()
	}
}

// splitPart returns the unit and first row of the panel that task i of y is about,
// and the number of the block in it.
func (j *job) splitPart(y *stretch, i int) (u unit, row, block int) {
	i -= y.task
	panel := i / y.blocks
	return j.unit(y.unit + panel/y.panels), panel % y.panels * j.width, i % y.blocks
}

// foldReady folds the blocks that are there, up to the first one that is not.
func (w *workspace) foldReady(j *job) {
	r := &j.relay
	for {
		i := int(r.next.Load())
		s := r.slot(i)
		if !s.ready.Load() {
			return
		}
		y := j.stretch(i)
		u, row, n := j.splitPart(y, i)
		if n == 0 {
			r.panel.few = j.few(y.rows)
			w.begin(j, &r.panel, u, row, j.width)
		}
		if s.panel[0].started {
			r.panel.fold(j, &s.panel[0])
		}
		if n == y.blocks-1 {
			w.finish(j, &r.panel)
		}
		s.ready.Store(false)
		r.advance()
	}
}

// wait returns when block i may have its slot.
func (r *relay) wait(i int) {
	for range patience {
		if r.free(i) {
			return
		}
		runtime.Gosched()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sleepers.Add(1)
	for !r.free(i) {
		r.moved.Wait()
	}
	r.sleepers.Add(-1)
}

// free tells whether the block before i that has the same slot is folded.
func (r *relay) free(i int) bool { return i-int(r.next.Load()) < len(r.slots) }

// advance goes on to the next block.
func (r *relay) advance() {
	r.next.Add(1)
	if r.sleepers.Load() > 0 {
		r.mu.Lock()
		r.moved.Broadcast()
		r.mu.Unlock()
	}
}

// fold folds in what one block, b, has come to by itself, whose memory it may keep.
func (p *panel) fold(j *job, b *panel) {
	if !p.started {
		copy(p.max, b.max)
		copy(p.sum, b.sum)
		p.o, b.o = b.o, p.o
		p.started = true
		return
	}
	p.kern.fold(p.max, p.sum, b.max, b.sum, p.alpha, p.beta)
	lanes, dv := p.kern.lanes, j.dv()
	if p.few {
		p.kern.fewFold(p.o, dv, b.o, dv, p.n, dv, p.alpha, p.beta)
		return
	}
	for e := range dv {
		p.kern.tileFold(p.o[e*lanes:], lanes, ones[:1], 1, 1, b.o[e*lanes:], lanes, 1, 1, p.alpha, p.beta)
	}
}
