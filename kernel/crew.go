package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A crew does the tasks of one call: any number of workers take them one by one.
// Crews are recycled with the call that they belong to and allocate nothing.
type crew[W any] struct {
	tasks, threads int

	worker func(n int) *W       // scratch memory of worker n, which does one task at a time
	do     func(w *W, task int) // one task

	left    atomic.Int64 // tasks to take; none while no call is running
	done    atomic.Int64 // tasks
	workers atomic.Int64 // that have taken a task

	// The bodies of goroutines and of Run's tasks, built once: a closure per
	// call would allocate.
	goroutine func()
	task      func(i int)

	goroutines sync.WaitGroup
}

// staff says what a new crew does. worker is called with numbers from 0 on, and with
// numbers beyond the threads where a parallel-for calls its task more often than it
// should.
func (c *crew[W]) staff(worker func(n int) *W, do func(w *W, task int)) {
	c.worker, c.do = worker, do
	c.goroutine = func() {
		defer c.goroutines.Done()
		c.work()
	}
	c.task = func(int) { c.work() }
}

// work takes tasks until none is left. A program may keep the task of its Run,
// against the rules, and call it when the call is over or another one has begun:
// what is not atomic may be read only with a task in hand.
func (c *crew[W]) work() {
	n := c.left.Add(-1)
	if n < 0 {
		return
	}
	w := c.worker(int(c.workers.Add(1)) - 1)
	for ; n >= 0; n = c.left.Add(-1) {
		c.do(w, c.tasks-1-int(n))
		c.done.Add(1)
	}
}

// run has the tasks done by threads workers, in goroutines of its own or by the
// caller's parallel-for.
func (c *crew[W]) run(tasks, threads int, parallel func(n int, task func(i int))) {
	c.tasks, c.threads = tasks, threads
	if threads == 1 && parallel == nil {
		w := c.worker(0)
		for i := range tasks {
			c.do(w, i)
		}
		return
	}
	c.done.Store(0)
	c.workers.Store(0)
	c.left.Store(int64(tasks)) // last: from now on there is work
	if parallel == nil {
		c.spawn()
	} else {
		parallel(threads, c.task)
	}
	// A parallel-for that skips tasks or returns early loses nothing: the rest
	// is done here.
	c.work()
	for int(c.done.Load()) < tasks {
		runtime.Gosched()
	}
}

// spawn does all tasks on goroutines of its own, the calling one included.
func (c *crew[W]) spawn() {
	c.goroutines.Add(c.threads - 1)
	for range c.threads - 1 {
		go c.goroutine()
	}
	c.work()
	c.goroutines.Wait()
}
