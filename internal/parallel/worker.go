package parallel

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// A worker does jobs, one at a time. Its state is the value of job:
//
//	&idle       its goroutine spins, that is, polls for a job
//	a job       submitted: its goroutine spins or is about to be started, and will take it
//	&running    its goroutine does a job, which cannot be canceled any more
//	&parked     its goroutine has ended, or ends without looking at job again
//
// The transitions are
//
//	&idle    -> a job      by submit
//	&parked  -> a job      by submit, which then has the goroutine started
//	&parked  -> &idle      by wake, which then starts the goroutine
//	a job    -> &running   by the worker
//	a job    -> &idle      by cancel
//	&running -> &idle      by the worker
//	&idle    -> &parked    by the worker
//
// Waking a parked worker takes 50 µs and more on a virtual machine, as long as a whole
// decoding step. So a worker spins for a while after a job before it parks, see spin. While
// it spins it yields its processor to other goroutines, and it parks soon if others want
// the processor. It parks from time to time in any case, because Go polls the network where
// a processor is idle.
type worker struct {
	job  atomic.Pointer[job]
	main func() // w.run as a closure, built once: go w.run() would allocate

	number int

	// children are the workers whose goroutines this one starts before it does its job.
	// Starting one takes 300 ns and more, which would keep the caller of many threads busy.
	children [fanOut]*worker

	_ [64]byte // others poll the neighbours
}

var idle, running, parked job

const (
	// fanOut is how many goroutines the caller starts, and each of these.
	fanOut = 2

	// maxLifetime is how long the goroutine of a worker lives, jobs included, before the
	// worker parks. With calls that follow each other without a pause on two processors,
	// the slowest tenth of network pings took 1 to 2 ms if workers did not spin, 3 ms with
	// this lifetime, and 9 to 17 ms without a bound. The lifetimes of workers that are
	// woken together differ, by up to half of it: if all parked at once, a call would have
	// to wake all.
	maxLifetime = 4 * time.Millisecond
	lifetimes   = 8

	// An idle worker polls pollCount times before it yields its processor. As yields take
	// a lock of Go's scheduler, it polls more often beside others: as often again for
	// every pollShare of them.
	pollCount = 50
	pollShare = 4

	// A yield that takes longer than preemption shows that others use the processor. A
	// worker parks after two such yields in a row. It is then no use to wake one for a
	// small call until the backoff is over.
	preemption = 20 * time.Microsecond
	backoff    = 10 * time.Millisecond
)

// spinning counts the workers that are idle. While a worker changes its state it may be
// counted although it is not idle, but never the other way round.
var spinning atomic.Int64

// workers holds all workers. None is ever removed. A search begins at the first one, so that few
// stay awake rather than all for a time.
var workers pool

type pool struct {
	all atomic.Pointer[[]*worker]
	mu  sync.Mutex // held to add some
}

// list returns all workers.
func (p *pool) list() []*worker {
	if all := p.all.Load(); all != nil {
		return *all
	}
	return nil
}

// reserve makes workers until there are n.
func (p *pool) reserve(n int) {
	if len(p.list()) >= n {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append([]*worker(nil), p.list()...)
	for len(all) < n {
		w := &worker{number: len(all)}
		w.job.Store(&parked)
		w.main = w.run
		all = append(all, w)
	}
	p.all.Store(&all)
}

// take appends up to n workers to taken that were in a state, and are given the job.
func (p *pool) take(taken []*worker, n int, state, j *job) []*worker {
	for _, w := range p.list() {
		if n == 0 {
			break
		}
		if w.job.Load() == state && w.job.CompareAndSwap(state, j) {
			taken = append(taken, w)
			n--
		}
	}
	return taken
}

// submit submits j to n workers and appends them to taken. Those that are idle start at
// once, and the others are woken: the first ones by the caller, the next ones by these.
func submit(j *job, n int, taken []*worker) []*worker {
	j.inside.Add(int64(n))
	all := len(taken) + n
	if spinning.Load() > 0 {
		before := len(taken)
		taken = workers.take(taken, n, &idle, j)
		spinning.Add(int64(before - len(taken)))
	}
	first := len(taken)
	for len(taken) < all {
		missing := all - len(taken)
		if taken = workers.take(taken, missing, &parked, j); len(taken) < all {
			workers.reserve(len(workers.list()) + all - len(taken))
		}
	}
	startAll(taken[first:])
	return taken
}

// startAll starts the goroutines of workers that were parked.
func startAll(cold []*worker) {
	for i, w := range cold {
		for c := range w.children {
			if child := fanOut*(i+1) + c; child < len(cold) {
				w.children[c] = cold[child]
			}
		}
	}
	for _, w := range cold[:min(fanOut, len(cold))] {
		go w.main()
	}
}

// cancel takes j back if the worker has not started it.
func (w *worker) cancel(j *job) {
	spinning.Add(1) // first: the worker may park as soon as it is idle
	if !w.job.CompareAndSwap(j, &idle) {
		spinning.Add(-1)
		return
	}
	j.leave()
}

// wake wakes a parked worker, which then spins. If there is none, it makes a new one.
func wake() {
	spinning.Add(1)
	for {
		for _, w := range workers.list() {
			if w.job.Load() == &parked && w.job.CompareAndSwap(&parked, &idle) {
				go w.main()
				return
			}
		}
		workers.reserve(len(workers.list()) + 1)
	}
}

// run is the goroutine of a worker. It does jobs until the worker parks.
func (w *worker) run() {
	// A new goroutine has the profiler labels of the one that starts it, and a worker soon works
	// for other calls.
	pprof.SetGoroutineLabels(context.Background())
	for i, child := range w.children {
		if child != nil {
			w.children[i] = nil
			go child.main()
		}
	}
	end := clock() + int64(maxLifetime) - int64(w.number%lifetimes)*int64(maxLifetime)/(2*lifetimes)
	processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) // once in a lifetime: it takes a lock
	for j := w.next(end, processors); j != nil; j = w.next(end, processors) {
		w.do(j)
		spinning.Add(1)
		w.job.Store(&idle) // before leave: the caller may have the next job for it at once
		j.leave()
	}
}

// do does a job. If that ends the goroutine (runtime.Goexit), the worker parks.
func (w *worker) do(j *job) {
	returned := false
	defer func() {
		if !returned {
			w.job.Store(&parked)
			j.leave()
		}
	}()
	j.do(1 + w.number) // the caller has part 0
	returned = true
}

// next spins until a job is submitted. It returns nil when the worker has parked: at the time
// end, or before.
func (w *worker) next(end int64, processors int) *job {
	now := clock()
	for s := newSpinState(now, end, spinFrom(now), processors); ; s.yielded(clock()) {
		others := spinning.Load()
		if s.over(others) && w.job.CompareAndSwap(&idle, &parked) {
			spinning.Add(-1)
			if s.crowded() {
				smallCalls.backOff()
			}
			return nil
		}
		if j := w.poll(pollCount * (1 + int(others)/pollShare)); j != nil {
			return j
		}
		runtime.Gosched()
	}
}

// A spinState is what an idle worker has seen since its last job: how often it has yielded, and
// what the clock said after that. It tells when to park, and reads no clock itself.
type spinState struct {
	last, end  int64 // times, in nanoseconds
	yields     int
	mostYields int
	preempted  int // of the last yields in a row, those that took longer than preemption
	processors int64
}

// newSpinState is the state at the time now. The worker is to spin for limit nanoseconds, but not
// beyond the end of its lifetime.
func newSpinState(now, lifetimeEnd, limit int64, processors int) spinState {
	return spinState{last: now, end: min(lifetimeEnd, now+limit), mostYields: spinYields(limit), processors: int64(processors)}
}

// yielded says that the worker has yielded until the time now.
func (s *spinState) yielded(now int64) {
	s.yields++
	if now-s.last > int64(preemption) {
		s.preempted++
	} else {
		s.preempted = 0
	}
	s.last = now
}

// over reports whether to park if n workers spin, this one included.
func (s *spinState) over(n int64) bool {
	return s.crowded() || s.yields >= s.mostYields || s.last > s.end || n >= s.processors
}

// crowded reports whether others use the processors.
func (s *spinState) crowded() bool { return s.preempted > 1 }

// poll looks for a job n times and takes it.
func (w *worker) poll(n int) *job {
	for range n {
		if j := w.job.Load(); j != &idle && w.job.CompareAndSwap(j, &running) {
			return j
		}
		pause()
	}
	return nil
}
