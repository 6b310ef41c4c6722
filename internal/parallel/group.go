// Package parallel runs the tasks of a call on several goroutines.
//
//   - A [Group] hands out the tasks of one call to the caller and to workers of the pool.
//   - The pool is shared by all groups. Its workers spin for a short time after a job, so
//     that the next one starts at once, and then park.
//   - [Threads] is the heuristic for the number of threads that a call is worth.
//   - A [FreeList] recycles scratch memory, so that in the steady state a call allocates
//     nothing. [Memory] counts it, so that what no call needs is freed.
//
// A goroutine begins with the same part of the tasks in every call, if they are independent, but
// which ones it does in the end is up to the scheduler. Results must not depend on it.
package parallel

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Group runs the tasks of one call at a time, on the caller and on workers of the pool.
// They take the tasks one by one, each with scratch memory W of its own. A Group is
// meant to be recycled together with the call that it is part of: in the steady state it
// allocates nothing. S says what a call needs of scratch memory: calls with equal S need the
// same.
type Group[W any, S comparable] struct {
	scratch *FreeList[W]
	fit     func(w *W)
	do      func(w *W, task int)

	tasks     int
	scratches []*W   // one for each thread
	parts     []part // likewise, if the tasks of this call are Independent

	reserved   Reserve[S] // of an earlier call
	reservedAt uint32     // garbage collection
	taken      []*worker  // that the job was submitted to

	// All goroutines write these, and so each has a cache line of its own.
	_         [64]byte
	remaining atomic.Int64 // tasks not yet taken; 0 or less while no call runs
	_         [56]byte
	joined    atomic.Int64 // goroutines that have taken a task
	_         [56]byte
	job       job // for workers of the pool
	_         [64]byte

	share   func(i int)     // one goroutine's share of the tasks, for a parallel-for
	helpers *sync.WaitGroup // goroutines of a call in a bubble

	failure atomic.Pointer[failure] // of the first task that has failed on another goroutine

	// OnStop, if not nil, is called when a task has failed. It must make all calls of do
	// return soon that wait for another one.
	OnStop func()

	// Independent says that no task waits for another one. Each thread then begins with a part of
	// the tasks of its own, in ascending order. Otherwise they are taken in the order of their
	// numbers.
	Independent bool

	// OnDrop, if not nil, is called when Run ends with a panic or runtime.Goexit.
	OnDrop func()
}

// Init sets up a new Group, once.
//
//   - scratch recycles scratch memory.
//   - fit prepares scratch memory for the current call. Run calls it once for each thread,
//     before any task starts: which goroutines get to work is up to the scheduler, and
//     what a call allocates must not depend on that.
//   - do does one task. It is called concurrently, each time with a w that no other
//     goroutine uses at that moment.
func (g *Group[W, S]) Init(scratch *FreeList[W], fit func(w *W), do func(w *W, task int)) {
	g.scratch, g.fit, g.do = scratch, fit, do
	// The closures are built once: one per call would be an allocation per call.
	g.job.init(g.join)
	g.share = func(i int) {
		g.job.inside.Add(1)
		defer g.job.leave()
		g.join(max(i, 0))
	}
}

// Run does the tasks 0 to tasks-1 and returns when all are done. The goroutines are
//
//   - the caller and threads-1 workers of the pool, if parallelFor is nil, or
//   - the caller and threads-1 goroutines of its own, in a bubble of testing/synctest, or
//   - the goroutines of parallelFor, which is called once, with n = threads. It should call task(i)
//     for all i < n, concurrently, and return when these calls have returned. The caller
//     then does what tasks are left.
//
// If a task panics or calls runtime.Goexit, no more tasks are started, Run waits until all
// goroutines have left, and then the caller ends in the same way: with the panic itself if
// the task ran on its goroutine, and otherwise with the value that NewPanic makes of it.
// The same holds if parallelFor panics. The Group must not be used again then.
//
// Before any task starts, Run makes scratch memory and workers for as many threads as
// reserve says.
//
// Nothing is lost if parallelFor skips calls or returns early. If it calls task too often,
// or after Run has returned, the call does nothing, or does tasks of the call that is
// running then, with scratch memory of its own.
func (g *Group[W, S]) Run(tasks, threads int, reserve Reserve[S], parallelFor func(n int, task func(i int))) {
	g.tasks = tasks
	g.getScratch(threads)
	g.parts = slices.Grow(g.parts[:0], max(threads, reserve.Threads))
	if reserve.Threads > threads {
		g.reserve(reserve)
	}
	returned := false
	defer func() {
		if !returned { // a panic or Goexit on this goroutine, which continues after this
			g.stop()
			g.cancel()
			g.wait()
			g.drop()
		}
	}()
	if threads == 1 && parallelFor == nil {
		w := g.scratches[0]
		for i := range tasks {
			g.do(w, i)
		}
	} else {
		g.shareOut(threads, parallelFor)
	}
	g.raise() // if a task has failed elsewhere, this does not return either
	returned = true
	g.putScratch(0)
}

// A Reserve is what the same call may need another time, when more workers spin.
type Reserve[S comparable] struct {
	Threads int
	Shape   S
}

// reserve makes scratch memory for more threads than the call has, unless an earlier call
// has done so. As another garbage collection may have freed it, reserve does it again then.
func (g *Group[W, S]) reserve(r Reserve[S]) {
	now := collections.Load()
	if r == g.reserved && now == g.reservedAt {
		return
	}
	g.reserved, g.reservedAt = r, now
	n := len(g.scratches)
	g.getScratch(r.Threads - n)
	g.putScratch(n)
	workers.reserve(r.Threads - 1)
	g.taken = slices.Grow(g.taken, r.Threads-1)
}

// getScratch gets scratch memory for n more threads and fits it.
func (g *Group[W, S]) getScratch(n int) {
	for range n {
		w := g.scratch.Get()
		g.fit(w)
		g.scratches = append(g.scratches, w)
	}
}

// putScratch gives the scratch memory of all threads but the first n back.
func (g *Group[W, S]) putScratch(n int) {
	for _, w := range g.scratches[n:] {
		g.scratch.Put(w)
	}
	clear(g.scratches[n:])
	g.scratches = g.scratches[:n]
}

// drop ends a call that has failed: neither its scratch memory nor the Group is recycled.
func (g *Group[W, S]) drop() {
	for _, w := range g.scratches {
		g.scratch.Drop(w)
	}
	if g.OnDrop != nil {
		g.OnDrop()
	}
}

// shareOut runs the tasks on several goroutines.
func (g *Group[W, S]) shareOut(threads int, parallelFor func(n int, task func(i int))) {
	g.joined.Store(0)
	if g.parts = g.parts[:0]; g.Independent {
		g.makeParts(threads)
	}
	g.remaining.Store(int64(g.tasks)) // last: from here on goroutines take tasks
	switch {
	case parallelFor != nil:
		parallelFor(threads, g.share)
	case InBubble():
		g.help(threads - 1)
	default:
		g.submit(threads - 1)
	}
	g.work(0)
	g.cancel()
	g.wait()
}

// join is work for another goroutine than the caller's: it records how a task fails.
func (g *Group[W, S]) join(part int) {
	returned := false
	defer func() {
		if !returned {
			g.fail(recover())
		}
	}()
	g.work(part)
	returned = true
}

// work takes and does tasks until none remains. If they are independent, it begins with a
// part's tasks. The part is counted modulo the number of parts.
//
// It may be called at any time: a program can keep the task of its parallel-for, against
// the rules, and call it when Run has returned or runs again. So it may read the fields
// that are not atomic only after it has taken a task, because Run does not return before
// that task is done.
func (g *Group[W, S]) work(part int) {
	if n := g.remaining.Add(-1); n >= 0 {
		w := g.scratchOf(int(g.joined.Add(1)) - 1)
		for ; n >= 0; n = g.remaining.Add(-1) {
			i := g.tasks - 1 - int(n)
			if len(g.parts) > 0 {
				i = g.take(part)
			}
			g.do(w, i)
		}
	}
}

// scratchOf returns the scratch memory of the n-th goroutine that has joined. There are
// more goroutines than threads only if a parallel-for calls its task too often.
func (g *Group[W, S]) scratchOf(n int) *W {
	if n < len(g.scratches) {
		return g.scratches[n]
	}
	w := g.scratch.make()
	g.fit(w)
	return w
}

// submit submits the job to n workers.
func (g *Group[W, S]) submit(n int) {
	g.taken = submit(&g.job, n, g.taken)
}

// cancel cancels the job of the workers that have not started it: no task remains.
func (g *Group[W, S]) cancel() {
	for _, w := range g.taken {
		w.cancel(&g.job)
	}
	g.taken = g.taken[:0]
}

// help starts n goroutines, which belong to the bubble of the caller.
func (g *Group[W, S]) help(n int) {
	g.helpers = new(sync.WaitGroup)
	for i := range n {
		g.helpers.Go(func() { g.join(1 + i) })
	}
}

// wait waits until the tasks that others have taken are done.
func (g *Group[W, S]) wait() {
	if g.helpers != nil {
		g.helpers.Wait() // so that a bubble's clock may go on if a task sleeps
		g.helpers = nil
	}
	g.job.wait()
}

// A part is a range of neighbouring tasks, which a goroutine takes before it helps others with
// theirs. There are as many parts as threads, and a goroutine has the same one in the next call: if
// task i of that needs what task i of this one has written, such as rows of a batch in the layers
// of a model, it mostly lies in the cache of the same core. Two threads compute a batch of 8
// sentences of MiniLM 5% faster by that on Emerald Rapids.
type part struct {
	next atomic.Int64 // its first task that is not taken, or its end or more
	_    [56]byte     // others write the neighbours
}

// partOf returns the tasks of part p: from lo to below hi.
func (g *Group[W, S]) partOf(p int) (lo, hi int) {
	n := len(g.parts)
	return p * g.tasks / n, (p + 1) * g.tasks / n
}

// makeParts cuts the tasks into a part for each thread.
func (g *Group[W, S]) makeParts(threads int) {
	g.parts = g.parts[:threads]
	for p := range g.parts {
		lo, _ := g.partOf(p)
		g.parts[p].next.Store(int64(lo))
	}
}

// take returns a task that nobody has taken, in part p or else in those after it. The caller has
// taken one off remaining, so that there is one.
func (g *Group[W, S]) take(p int) int {
	for p %= len(g.parts); ; p = (p + 1) % len(g.parts) {
		next := &g.parts[p].next
		if _, hi := g.partOf(p); next.Load() < int64(hi) {
			if i := int(next.Add(1)) - 1; i < hi {
				return i
			}
		}
	}
}
