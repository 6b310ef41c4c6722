package kernel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A crew does the tasks of one call: any number of workers take them one by one.
// Crews are recycled with the call that they belong to and allocate nothing.
type crew[W any] struct {
	tasks, threads int

	worker func(n int) *W       // scratch memory of worker n, which does one task at a time
	do     func(w *W, task int) // one task

	left    atomic.Int64 // tasks to take; none while no call is running
	workers atomic.Int64 // that have taken a task
	present atomic.Int64 // workers that look for tasks, or do one

	errand  errand    // of helpers
	helpers []*helper // that have been sent on it
	task    func(i int)
}

// staff says what a new crew does. worker is called with numbers from 0 on, and with
// numbers beyond the threads where a parallel-for calls its task more often than it
// should.
func (c *crew[W]) staff(worker func(n int) *W, do func(w *W, task int)) {
	c.worker, c.do = worker, do
	// Built once: a closure per call would allocate.
	c.errand.do = c.work
	c.task = func(int) { c.work() }
}

// work takes tasks until none is left. A program may keep the task of its Run,
// against the rules, and call it when the call is over or another one has begun:
// what is not atomic may be read only with a task in hand.
func (c *crew[W]) work() {
	c.present.Add(1)
	if n := c.left.Add(-1); n >= 0 {
		w := c.worker(int(c.workers.Add(1)) - 1)
		for ; n >= 0; n = c.left.Add(-1) {
			c.do(w, c.tasks-1-int(n))
		}
	}
	c.present.Add(-1)
}

// run has the tasks done by threads workers: the caller with helpers, or the caller's
// parallel-for.
func (c *crew[W]) run(tasks, threads int, parallel func(n int, task func(i int))) {
	c.tasks, c.threads = tasks, threads
	if threads == 1 && parallel == nil {
		w := c.worker(0)
		for i := range tasks {
			c.do(w, i)
		}
		return
	}
	c.workers.Store(0)
	c.left.Store(int64(tasks)) // last: from now on there is work
	if parallel == nil {
		c.send()
	} else {
		parallel(threads, c.task)
	}
	// A parallel-for that skips tasks or returns early loses nothing: the rest
	// is done here.
	c.work()
	c.recall()
	c.await()
}

// send gets helpers for all threads but the caller's.
func (c *crew[W]) send() {
	for range c.threads - 1 {
		c.helpers = append(c.helpers, send(&c.errand))
	}
}

// recall does without the helpers that have not begun: no task is left.
func (c *crew[W]) recall() {
	for _, h := range c.helpers {
		h.recall(&c.errand)
	}
	c.helpers = c.helpers[:0]
}

// await waits for the last tasks of other workers, for short ones awake.
func (c *crew[W]) await() {
	for begin := time.Now(); !c.over(); {
		if time.Since(begin) > linger {
			c.errand.ends.Wait()
		}
		runtime.Gosched()
	}
}

// over tells, when no task is left to take, whether all are done: nobody is at one, or about to
// look for one.
func (c *crew[W]) over() bool { return c.present.Load() == 0 && c.errand.out.Load() == 0 }
