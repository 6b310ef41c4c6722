package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A problem is what one call computes.
type problem struct {
	out, q, k, v Tensor
	mask         Mask
	perRow       bool    // mask.perRow()
	group        int     // query heads per key head
	scale        float32 // log2Scale
}

// A unit of a problem is key head h of batch row b with all query rows that use
// it: group query heads × Lq queries. Row r of a unit is query r/group of the
// head r%group in the group, so that neighbours see nearly the same keys under a
// causal mask.
type unit struct{ b, h int }

func (p *problem) units() int { return p.k.shape[0] * p.k.shape[1] }

// unit returns unit i: those of a batch row are neighbours.
func (p *problem) unit(i int) unit { return unit{i / p.k.shape[1], i % p.k.shape[1]} }

// next returns the unit after u.
func (p *problem) next(u unit) unit {
	if u.h++; u.h == p.k.shape[1] {
		return unit{u.b + 1, 0}
	}
	return u
}

// rows is the number of query rows of a unit.
func (p *problem) rows() int { return p.group * p.q.shape[2] }

func (p *problem) keys() int { return p.k.shape[2] }
func (p *problem) d() int    { return p.q.shape[3] }
func (p *problem) dv() int   { return p.v.shape[3] }

// A job is a problem on its way: cut into tasks that any number of workers take
// one by one. Jobs are recycled with all they need, so that a call allocates
// nothing.
type job struct {
	problem
	schedule

	taken   atomic.Int64 // tasks
	done    atomic.Int64 // tasks
	workers atomic.Int64 // that have taken a task

	// One for each thread, ready before the first starts: which of them get to
	// work is up to the scheduler, and what a call allocates must not be.
	workspaces []*workspace

	// The bodies of goroutines and of Options.Run's tasks, built once: a
	// closure per call would allocate.
	goroutine func()
	task      func(i int)

	goroutines sync.WaitGroup
	calls      atomic.Int64 // of task, returned
}

func newJob() *job {
	j := new(job)
	j.goroutine = func() {
		defer j.goroutines.Done()
		j.work()
	}
	j.task = func(int) {
		j.work()
		j.calls.Add(1)
	}
	return j
}

// work takes tasks until none is left.
func (j *job) work() {
	i := int(j.taken.Add(1)) - 1
	if i >= j.tasks {
		return
	}
	var w *workspace
	if n := int(j.workers.Add(1)) - 1; n < len(j.workspaces) {
		w = j.workspaces[n]
	} else { // a parallel-for that calls task more often than it should
		w = new(workspace)
		w.fit(j)
	}
	for ; i < j.tasks; i = int(j.taken.Add(1)) - 1 {
		w.task(j, i)
		j.done.Add(1)
	}
}

// run has all tasks done, by goroutines of its own or by the caller's
// parallel-for. It reports whether the job can be used again.
func (j *job) run(parallel func(n int, task func(i int))) (reusable bool) {
	for range j.threads {
		w := workspaces.get()
		w.fit(j)
		j.workspaces = append(j.workspaces, w)
	}
	reusable = true
	switch {
	case parallel != nil:
		reusable = j.delegate(parallel)
	case j.threads > 1:
		j.spawn()
	default:
		for i := range j.tasks {
			j.workspaces[0].task(j, i)
		}
	}
	for _, w := range j.workspaces {
		workspaces.put(w)
	}
	j.workspaces = j.workspaces[:0]
	return reusable
}

// delegate has all tasks done by the caller's parallel-for. One that skips tasks
// or returns early loses nothing: the rest is done here. One that may still call
// task later keeps the job.
func (j *job) delegate(parallel func(n int, task func(i int))) (reusable bool) {
	j.reset()
	parallel(j.threads, j.task)
	j.work()
	for int(j.done.Load()) < j.tasks {
		runtime.Gosched()
	}
	return int(j.calls.Load()) == j.threads
}

func (j *job) reset() {
	j.taken.Store(0)
	j.done.Store(0)
	j.workers.Store(0)
	j.calls.Store(0)
}

// spawn does all tasks on goroutines of its own, the calling one included.
func (j *job) spawn() {
	j.reset()
	j.goroutines.Add(j.threads - 1)
	for range j.threads - 1 {
		go j.goroutine()
	}
	j.work()
	j.goroutines.Wait()
}

// A freeList recycles values across calls. Unlike a sync.Pool it is not emptied
// by the garbage collector, so that a warm program allocates nothing; it keeps
// at most as many as were ever in use at once, up to limit.
type freeList[T any] struct {
	mu    sync.Mutex
	free  []*T
	limit int
	make  func() *T
}

var (
	jobs       = freeList[job]{limit: 64, make: newJob}
	workspaces = freeList[workspace]{limit: 256, make: func() *workspace { return new(workspace) }}
)

func (l *freeList[T]) get() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return l.make()
	}
	x := l.free[n-1]
	l.free = l.free[:n-1]
	return x
}

func (l *freeList[T]) put(x *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) < l.limit {
		l.free = append(l.free, x)
	}
}
