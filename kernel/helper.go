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
// whatever else there is to run, does not stay where there is, and ends its shift from time to
// time even so: Go looks for what has come from the network where a processor runs idle.
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

	// shift is how long it stays awake in all, with errands. Pings beside calls without a pause, on
	// two processors, took 1 to 2 ms without helpers that stay (the slowest tenth), 3 ms with
	// such shifts, and 9 to 17 ms with endless ones.
	shift = 4 * time.Millisecond

	// polls is how often a helper looks for an errand before it yields its processor, and
	// rounds how often it does that, where the clock moves in steps of milliseconds.
	polls, rounds = 50, 150

	// away is how long a helper that yields is away, twice in turn, if others want its processor.
	// It is no use to wake one for some time then.
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

// run does errands until none comes for a while, or its shift is over.
func (h *helper) run() {
	end := time.Now().Add(shift)
	for e := h.next(end); e != nil; e = h.next(end) {
		e.do()
		h.rest() // before it says so: the caller may have more to do
		e.back()
	}
}

// next waits for an errand, and returns nil if the helper is to end.
func (h *helper) next(end time.Time) *errand {
	others := int64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	last, absences := time.Now(), 0
	stay := last.Add(linger)
	for round := 0; ; round++ {
		leave := absences > 1 || round == rounds || last.After(stay) || last.After(end) || ready.Load() >= others
		if leave && h.errand.CompareAndSwap(nil, &asleep) {
			ready.Add(-1)
			if absences > 1 {
				smallCalls.crowd(respite)
			}
			return nil
		}
		if e := h.poll(); e != nil {
			return e
		}
		runtime.Gosched()
		now := time.Now()
		if now.Sub(last) > away {
			absences++
		} else {
			absences = 0
		}
		last = now
	}
}

// poll looks for an errand for a moment.
func (h *helper) poll() *errand {
	for range polls {
		if e := h.errand.Load(); e != nil && h.errand.CompareAndSwap(e, &working) {
			return e
		}
		pause()
	}
	return nil
}
