package parallel

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/testutil"
)

// A call is a Group under test. It checks that
//
//   - each task is done once,
//   - no more than limit goroutines do tasks at a time, and none after Run,
//   - each task gets scratch memory that was fitted for this call and that no other
//     goroutine uses,
//   - what Run took from the free list is there again.
//
// In every other call the tasks are independent.
type call struct {
	group Group[scratch, int]
	list  FreeList[scratch]

	number int            // of this call
	tasks  []atomic.Int64 // how often each was done
	limit  int            // of goroutines
	during func(task int) // what a task does, or nil

	made, fits       atomic.Int64
	busy             atomic.Int64
	crowded, misfits atomic.Int64
}

// scratch is not atomic: the race detector sees who shares it.
type scratch struct {
	fitted int // for this call
	tasks  int
}

func newCall() *call {
	c := new(call)
	c.list.New = func() *scratch {
		c.made.Add(1)
		return new(scratch)
	}
	c.group.Init(&c.list, func(w *scratch) {
		w.fitted = c.number
		c.fits.Add(1)
	}, func(w *scratch, task int) {
		if c.busy.Add(1) > int64(c.limit) {
			c.crowded.Add(1)
		}
		if w.fitted != c.number {
			c.misfits.Add(1)
		}
		w.tasks++
		c.tasks[task].Add(1)
		if c.during != nil {
			c.during(task)
		}
		c.busy.Add(-1)
	})
	return c
}

// run makes a call and checks it. Beyond the threads, extra goroutines may do tasks.
func (c *call) run(t *testing.T, name string, tasks, threads, extra int, parallelFor func(n int, task func(i int))) {
	t.Helper()
	name = fmt.Sprintf("%s, %d tasks, %d threads", name, tasks, threads)
	c.number++
	c.group.Independent = c.number%2 == 0
	c.limit = threads + extra
	c.tasks = make([]atomic.Int64, tasks)
	c.fits.Store(0)
	c.group.Run(tasks, threads, Reserve[int]{}, parallelFor)
	if n := c.busy.Load(); n != 0 {
		t.Errorf("%s: %d goroutines at work after the call", name, n)
	}
	if n := c.crowded.Swap(0); n != 0 {
		t.Errorf("%s: more than %d goroutines at work, %d times", name, c.limit, n)
	}
	if n := c.misfits.Swap(0); n != 0 {
		t.Errorf("%s: %d tasks with scratch memory of another call", name, n)
	}
	if n := int(c.fits.Load()); n < threads || n > c.limit {
		t.Errorf("%s: %d fits, want %d to %d", name, n, threads, c.limit)
	}
	for task := range c.tasks {
		if n := c.tasks[task].Load(); n != 1 {
			t.Errorf("%s: task %d was done %d times", name, task, n)
		}
	}
	c.checkScratch(t, name, threads)
}

// checkScratch checks that the free list has the scratch memory again, each once, and
// that the group does not hold it any more.
func (c *call) checkScratch(t *testing.T, name string, threads int) {
	t.Helper()
	seen := map[*scratch]bool{}
	for _, w := range c.list.values {
		seen[w] = true
	}
	if n := len(c.list.values); n < threads || len(seen) != n {
		t.Errorf("%s: %d values in the free list, %d of them different, after %d threads", name, n, len(seen), threads)
	}
	for _, w := range c.group.scratches[:cap(c.group.scratches)] {
		if w != nil {
			t.Errorf("%s: the group holds scratch memory after the call", name)
		}
	}
}

func TestEachTaskIsDoneOnce(t *testing.T) {
	c := newCall()
	for name, parallelFor := range map[string]func(n int, task func(i int)){
		"pool": nil, "serial": serialFor, "concurrent": concurrentFor,
	} {
		for _, tasks := range []int{0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 1000} {
			for _, threads := range []int{1, 2, 3, 4, 5, 8, 33} {
				for range repeats(6) {
					c.run(t, name, tasks, threads, 0, parallelFor)
				}
			}
		}
	}
}

// TestBadParallelFor breaks the rules for a parallel-for in all ways. No task is lost or
// done twice.
func TestBadParallelFor(t *testing.T) {
	for _, bad := range []struct {
		name        string
		extra       int // goroutines beyond the threads
		parallelFor func(n int, task func(i int))
	}{
		{"skips all", 0, func(n int, task func(i int)) {}},
		{"skips some", 0, func(n int, task func(i int)) {
			for i := 1; i < n; i += 2 {
				task(i)
			}
		}},
		{"wrong numbers", 0, func(n int, task func(i int)) {
			task(-1)
			task(n)
			task(0)
			task(0)
		}},
		{"returns early", 1, func(n int, task func(i int)) { // the caller works beside the n
			for i := range n {
				go task(i)
			}
		}},
		{"calls too often", 10, func(n int, task func(i int)) { concurrentFor(n+10, task) }},
		{"returns early and calls too often", 11, func(n int, task func(i int)) {
			for i := range n + 10 {
				go task(i)
			}
		}},
	} {
		// A group for each case: goroutines that are late join its next call.
		c := newCall()
		for i := range repeats(300) {
			extra := bad.extra
			if i > 0 && extra > 0 {
				extra = 1 << 20 // those that are late
			}
			c.run(t, bad.name, i%23, 1+i%4, extra, bad.parallelFor)
		}
	}
}

// TestMoreGoroutinesThanThreads: each goroutine has scratch memory of its own, fitted,
// even if a parallel-for has more goroutines at work than there are threads.
func TestMoreGoroutinesThanThreads(t *testing.T) {
	const threads, goroutines = 2, 7
	c := newCall()
	all := testutil.NewBarrier(goroutines)
	c.during = func(int) { all.Wait() } // so each goroutine does one task
	for i := range repeats(50) {
		if i%2 == 1 {
			c.list.New = nil // which makes zeros
		}
		c.run(t, "more goroutines", goroutines, threads, goroutines-threads, func(n int, task func(i int)) {
			concurrentFor(goroutines, task)
		})
		if n := c.fits.Load(); n != goroutines {
			t.Errorf("%d fits for %d goroutines", n, goroutines)
		}
	}
}

// TestTaskIsCalledLater keeps the task function of a parallel-for and calls it when the
// call is over, and during other calls of the group.
func TestTaskIsCalledLater(t *testing.T) {
	c := newCall()
	var kept []func(i int)
	for i := range 20 {
		c.run(t, "with earlier tasks", 10, 1+i%4, 0, func(n int, task func(i int)) {
			for _, late := range kept {
				late(0)
			}
			task(0)
			kept = append(kept, task)
		})
		kept[0](1)
	}
}

// TestTaskIsCalledAllTheTime calls a task function that was kept, from another
// goroutine, before, during and between other calls of the group.
func TestTaskIsCalledAllTheTime(t *testing.T) {
	c := newCall()
	var late func(i int)
	c.run(t, "first", 5, 4, 0, func(n int, task func(i int)) { late = task })
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			late(0)
			runtime.Gosched() // on one processor the calls need it too
		}
	})
	for i := range repeats(1000) {
		var parallelFor func(n int, task func(i int))
		if i%3 == 0 {
			parallelFor = serialFor
		}
		c.run(t, "with a late task", i%20, 1+i%4, 1, parallelFor)
	}
	stop.Store(true)
	wg.Wait()
}

// TestConcurrentGroups makes calls of several groups at once, which share the pool.
func TestConcurrentGroups(t *testing.T) {
	var wg sync.WaitGroup
	for first := range 4 {
		wg.Go(func() {
			c := newCall()
			for i := range repeats(2000) {
				c.run(t, "concurrent", (first+i)%20, 1+i%4, 0, nil)
			}
		})
	}
	wg.Wait()
}

// TestNestedGroups: a task may itself run a group.
func TestNestedGroups(t *testing.T) {
	for range repeats(50) {
		outer, inner := newCall(), [6]*call{}
		for i := range inner {
			inner[i] = newCall()
		}
		outer.during = func(task int) { inner[task].run(t, "inner", 10, 3, 0, nil) }
		outer.run(t, "outer", len(inner), 3, 0, nil)
	}
}

// TestScratchIsFittedFirst: before any task starts, there is scratch memory for all
// threads. So what a call allocates does not depend on who gets to work.
func TestScratchIsFittedFirst(t *testing.T) {
	c := newCall()
	var first sync.Once
	for threads := 1; threads <= 8; threads++ {
		for _, parallelFor := range []func(n int, task func(i int)){nil, serialFor, concurrentFor} {
			fits, made := int64(0), int64(0)
			first = sync.Once{}
			c.during = func(int) { first.Do(func() { fits, made = c.fits.Load(), c.made.Load() }) }
			c.run(t, "fitted first", 3, threads, 0, parallelFor)
			if fits != int64(threads) || made != int64(threads) {
				t.Errorf("%d threads: %d fits and %d values made in all before the first task", threads, fits, made)
			}
			if n := c.made.Load(); n != made {
				t.Errorf("%d threads: %d values made later", threads, n-made)
			}
		}
	}
}

// TestRunUsesAllThreads: the job is submitted to threads-1 workers of the pool, and these
// do tasks beside the caller if there is time.
func TestRunUsesAllThreads(t *testing.T) {
	c := newCall()
	for threads := 2; threads <= 6; threads++ {
		all := testutil.NewBarrier(threads)
		var inside atomic.Int64
		c.during = func(int) {
			all.Wait() // for all threads: one task each
			inside.Store(c.group.job.inside.Load())
			all.Wait()
		}
		c.run(t, "all threads", threads, threads, 0, nil)
		if n := int(inside.Load()); n != threads-1 {
			t.Errorf("%d threads: %d workers", threads, n)
		}
	}
}

// TestParallelForIsCalledOnce with the number of threads.
func TestParallelForIsCalledOnce(t *testing.T) {
	c := newCall()
	for threads := 1; threads <= 4; threads++ {
		var calls []int
		c.run(t, "once", 10, threads, 0, func(n int, task func(i int)) {
			calls = append(calls, n)
			serialFor(n, task)
		})
		if len(calls) != 1 || calls[0] != threads {
			t.Errorf("%d threads: parallelFor was called with n = %d", threads, calls)
		}
	}
}

// TestRunWaitsForWorker: Run does not return while a worker that has started the job has
// yet to look for a task. The next call would meet it.
func TestRunWaitsForWorker(t *testing.T) {
	c := newCall()
	begun, work := make(chan bool), c.group.job.do
	var looked atomic.Bool
	c.group.job.do = func(part int) {
		begun <- true
		time.Sleep(10 * DefaultSpin) // as if it had lost its processor
		work(part)
		looked.Store(true)
	}
	c.run(t, "late worker", 1, 2, 0, func(int, func(int)) {
		c.group.submit(1)
		<-begun
	})
	if !looked.Load() {
		t.Error("the call is over, but not its job")
		c.group.job.wait()
	}
}
