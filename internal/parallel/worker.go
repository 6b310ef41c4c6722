package parallel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A worker does jobs, one at a time. Its state is the value of job:
//
//	nil         idle: its goroutine spins, that is, polls for a job
//	a job       submitted: its goroutine spins or has just been started, and will take the job
//	&running    its goroutine does a job, which cannot be canceled any more
//	&parked     its goroutine has ended, or ends without looking at job again
//
// The transitions are
//
//	nil      -> a job      by submit
//	&parked  -> a job      by submit, which then starts the goroutine
//	&parked  -> nil        by wake, which then starts the goroutine
//	a job    -> &running   by the worker
//	a job    -> nil        by cancel
//	&running -> nil        by the worker
//	nil      -> &parked    by the worker
//
// A worker in the free list is idle or parked. Only who has taken it from the list may
// submit a job to it or wake it.
//
// Waking a parked worker takes 50 µs and more on a virtual machine, as long as a whole
// decoding step. So a worker spins for a while after a job before it parks, see spin. While
// it spins it yields its processor to other goroutines, and it parks soon if others want
// the processor. It parks from time to time in any case, because Go polls the network where
// a processor is idle.
type worker struct {
	job  atomic.Pointer[job]
	main func() // w.run as a closure, built once: go w.run() would allocate
}

var running, parked job

const (
	// maxLifetime is how long the goroutine of a worker lives, jobs included, before the
	// worker parks. With calls that follow each other without a pause on two processors,
	// the slowest tenth of network pings took 1 to 2 ms if workers did not spin, 3 ms with
	// this lifetime, and 9 to 17 ms without a bound.
	maxLifetime = 4 * time.Millisecond

	// pollCount is how often an idle worker polls before it yields its processor.
	pollCount = 50

	// A yield that takes longer than preemption shows that others use the processor. A
	// worker parks after two such yields in a row. It is then no use to wake one for a
	// small call until the backoff is over.
	preemption = 20 * time.Microsecond
	backoff    = 10 * time.Millisecond
)

// workers holds the workers that are idle or parked.
var workers = FreeList[worker]{New: func() *worker {
	w := new(worker)
	w.job.Store(&parked)
	return w
}}

// spinning counts the workers that are idle. While a worker changes its state it may be
// counted although it is not idle, but never the other way round.
var spinning atomic.Int64

// submit submits j to a worker, which starts at once if it is idle.
func submit(j *job) *worker {
	j.inside.Add(1)
	w := workers.Get()
	if w.job.CompareAndSwap(nil, j) {
		spinning.Add(-1)
		return w
	}
	w.job.Store(j)
	w.start()
	return w
}

// start starts the goroutine of a worker that was parked.
func (w *worker) start() {
	if w.main == nil { // a new worker
		w.main = w.run
	}
	go w.main()
}

// cancel takes j back if the worker has not started it.
func (w *worker) cancel(j *job) {
	spinning.Add(1) // first: the worker may park as soon as it is idle
	if !w.job.CompareAndSwap(j, nil) {
		spinning.Add(-1)
		return
	}
	workers.Put(w)
	j.leave()
}

// putIdle makes a worker idle and puts it into the free list.
func (w *worker) putIdle() {
	spinning.Add(1)
	w.job.Store(nil)
	workers.Put(w)
}

// wake wakes a parked worker, which then spins. If all in the free list are idle, it makes
// a new one.
func wake() {
	w := workers.Get()
	if w.job.Load() == &parked {
		w.putIdle()
		w.start()
		return
	}
	wake()
	workers.Put(w)
}

// run is the goroutine of a worker. It does jobs until the worker parks.
func (w *worker) run() {
	end := clock() + int64(maxLifetime)
	for j := w.next(end); j != nil; j = w.next(end) {
		w.do(j)
		w.putIdle() // before leave: the caller may have the next job for it at once
		j.leave()
	}
}

// do does a job. If that ends the goroutine (runtime.Goexit), the worker is dropped:
// nothing refers to it.
func (w *worker) do(j *job) {
	returned := false
	defer func() {
		if !returned {
			j.leave()
		}
	}()
	j.do()
	returned = true
}

// next spins until a job is submitted. It returns nil when the worker has parked.
func (w *worker) next(end int64) *job {
	processors := int64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	last, preempted, limit := clock(), 0, spin.Load()
	end = min(end, last+limit)
	mostYields := spinYields(limit)
	for yields := 0; ; yields++ {
		park := preempted > 1 || yields >= mostYields ||
			last > end || spinning.Load() >= processors
		if park && w.job.CompareAndSwap(nil, &parked) {
			spinning.Add(-1)
			if preempted > 1 {
				smallCalls.backOff()
			}
			return nil
		}
		if j := w.poll(); j != nil {
			return j
		}
		runtime.Gosched()
		now := clock()
		if now-last > int64(preemption) {
			preempted++
		} else {
			preempted = 0
		}
		last = now
	}
}

// poll looks for a job for a moment and takes it.
func (w *worker) poll() *job {
	for range pollCount {
		if j := w.job.Load(); j != nil && w.job.CompareAndSwap(j, &running) {
			return j
		}
		pause()
	}
	return nil
}
