package parallel

import (
	"runtime"
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

// wait returns when nobody is inside. It spins before it parks, see spin.
func (j *job) wait() {
	if j.inside.Load() == 0 {
		return
	}
	begin, limit := clock(), spin.Load()
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
