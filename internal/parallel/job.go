package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A job is work for any number of workers. Its caller waits until all that may be at work
// have left.
//
// Jobs are recycled, so they may be used inside and outside of bubbles of testing/synctest.
// That rules out channels, sync.WaitGroup and sync.Cond, which belong to a bubble or which
// nobody outside may signal. A sync.Mutex belongs to none.
type job struct {
	do func(part int) // what one worker does: a part of its own, if there are parts

	// inside counts the workers that the job was submitted to and that have neither
	// finished it nor were canceled, and the goroutines of a parallel-for inside its task.
	inside atomic.Int64

	parked atomic.Bool // the caller is about to lock sem, or waits for it
	sem    sync.Mutex  // a semaphore: locked except when the parked caller may go on
}

func (j *job) init(do func(part int)) {
	j.do = do
	j.sem.Lock()
}

// leave records that a goroutine has finished j or was canceled. The last one wakes the
// caller.
func (j *job) leave() {
	if j.inside.Add(-1) == 0 && j.parked.Load() && j.parked.CompareAndSwap(true, false) {
		j.sem.Unlock()
	}
}

// wait returns when nobody is inside. It polls, also where spinning is off, and spins before it
// parks, see spin. It polls about as long as a worker does before it yields its processor for the
// first time: mostly the last task ends soon, and who yields may go on where another goroutine has
// been, whose cache has nothing of the call.
func (j *job) wait() {
	for range pollCount {
		if j.inside.Load() == 0 {
			return
		}
		pause()
	}
	begin := clock()
	limit := spinFrom(begin)
	mostYields := spinYields(limit)
	for yields := 0; j.inside.Load() > 0; yields++ {
		if yields >= mostYields || clock()-begin > limit {
			j.park()
			return
		}
		runtime.Gosched()
	}
}

// park parks until nobody is inside. Who has left an earlier call may wake it too soon.
func (j *job) park() {
	for j.inside.Load() > 0 {
		// Not Store: under qemu's arm64 others may see one after the next Load, and the caller then
		// sleeps for ever. The same holds for other stores before a look at who waits.
		j.parked.Swap(true)
		if j.inside.Load() == 0 && j.parked.CompareAndSwap(true, false) {
			return
		}
		j.sem.Lock()
	}
}

// A failure is the abnormal end of a task on another goroutine than the caller's.
type failure struct {
	value  any    // of the panic; nil for runtime.Goexit
	stack  []byte // of the goroutine
	goexit bool
}

// NewPanic makes the value with which Run panics if a task has panicked on another
// goroutine than the caller's. Package kernel sets it to its documented type.
var NewPanic = func(value any, stack []byte) any {
	return fmt.Sprintf("%v\n\n%s", value, stack)
}

// fail records how a task has ended, unless another one has been recorded, and stops the
// call. It must be called by a deferred function, with the result of recover.
func (g *Group[W, S]) fail(value any) {
	f := &failure{value: value, goexit: value == nil}
	if !f.goexit {
		f.stack = debug.Stack()
	}
	g.failure.CompareAndSwap(nil, f)
	g.stop()
}

// stop makes goroutines take no more tasks and wakes those that wait inside one.
func (g *Group[W, S]) stop() {
	g.remaining.Store(stopped)
	if g.OnStop != nil {
		g.OnStop()
	}
}

// stopped is a number of remaining tasks that stays negative whatever is subtracted.
const stopped = -1 << 62

// raise ends the caller like the task that has failed, if one has.
func (g *Group[W, S]) raise() {
	switch f := g.failure.Load(); {
	case f == nil:
	case f.goexit:
		runtime.Goexit()
	default:
		panic(NewPanic(f.value, f.stack))
	}
}
