package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A helper is a goroutine that works for calls, one at a time. Waking it takes 50 µs and
// more on a virtual machine, as long as a whole call of decoding. So when it has done
// its errand it stays awake for the next a while, and then ends. It yields its processor to
// whatever else there is to run, and does not stay where there is.
type helper struct {
	// errand is what the helper is asked to do: nil, and it has nothing to do;
	// &working while it does one, which nobody can take back; &asleep when the
	// goroutine has ended or is about to.
	errand atomic.Pointer[errand]
	main   func() // built once: go h.run() would allocate
}

// An errand is work for any number of helpers.
type errand struct {
	do   func()         // one helper's part
	out  atomic.Int64   // helpers that have been sent and are not back
	ends sync.WaitGroup // the same, to sleep on
}

var working, asleep errand

const (
	// linger is how long a helper stays awake: about as long as it takes to wake one,
	// so that never more than twice the time is spent that had to be.
	linger = 100 * time.Microsecond

	// polls is how often a helper looks for an errand before it yields its processor.
	polls = 50

	// away is how long a helper that yields is away if others want its processor. It is
	// no use to wake one for some time then.
	away    = 20 * time.Microsecond
	respite = 10 * time.Millisecond
)

// helpers are those that wait for an errand, or sleep.
var helpers = freeList[helper]{make: func() *helper {
	h := new(helper)
	h.errand.Store(&asleep)
	return h
}}

// ready counts the helpers that are awake, or soon will be, with nothing to do.
var ready atomic.Int64

// send sends a helper on an errand. It begins at once if it is awake.
func send(e *errand) *helper {
	e.out.Add(1)
	e.ends.Add(1)
	h := helpers.get()
	if h.errand.CompareAndSwap(nil, e) {
		ready.Add(-1)
		return h
	}
	h.errand.Store(e)
	h.wake()
	return h
}

// wake begins the goroutine of a helper that was asleep.
func (h *helper) wake() {
	if h.main == nil { // a new one
		h.main = h.run
	}
	go h.main()
}

// recall does without a helper that has not begun its errand.
func (h *helper) recall(e *errand) {
	ready.Add(1) // before h can end
	if !h.errand.CompareAndSwap(e, nil) {
		ready.Add(-1)
		return
	}
	helpers.put(h)
	e.back()
}

// back says that a helper is through with e.
func (e *errand) back() {
	e.out.Add(-1)
	e.ends.Done()
}

// rest makes h ready, of which nobody else knows.
func (h *helper) rest() {
	ready.Add(1)
	h.errand.Store(nil)
	helpers.put(h)
}

// run does errands until none comes for a while.
func (h *helper) run() {
	for e := h.next(); e != nil; e = h.next() {
		e.do()
		h.rest() // before it says so: the caller may have more to do
		e.back()
	}
}

// next waits for an errand, and returns nil if the helper is to end.
func (h *helper) next() *errand {
	for begin, now := time.Now(), time.Duration(0); ; {
		for range polls {
			if e := h.errand.Load(); e != nil && h.errand.CompareAndSwap(e, &working) {
				return e
			}
			pause()
		}
		runtime.Gosched()
		last := now
		now = time.Since(begin)
		crowd := now-last > away
		if (crowd || now > linger || ready.Load() >= int64(runtime.NumCPU())) && h.errand.CompareAndSwap(nil, &asleep) {
			ready.Add(-1)
			if crowd {
				smallCalls.crowd(respite)
			}
			return nil
		}
	}
}
