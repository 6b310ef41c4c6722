package kernel

import (
	"sync/atomic"
	"time"
)

// readyGain is how much less work is worth a helper that is awake.
const readyGain = 8

// team returns how many threads, of at most so many, a call is worth: alone is what it is
// worth if helpers have to be woken, together if they are awake. One is woken for the calls to
// come, if calls like this follow each other without a pause. Where the processors are
// wanted by others, small calls had better be made alone.
func team(threads int, alone, together float64) int {
	n := max(1, int(min(alone, float64(threads))))
	m := int(min(together, float64(threads)))
	if m <= n || smallCalls.crowded() {
		return n
	}
	awake := int(ready.Load())
	if awake < m-1 && smallCalls.frequent() {
		rouse()
	}
	return max(n, min(m, 1+awake))
}

// rouse wakes a helper that sleeps for whatever comes: a new one, if all at hand are awake.
func rouse() {
	h := helpers.get()
	if h.errand.Load() == &asleep {
		h.rest()
		h.wake()
		return
	}
	rouse()
	helpers.put(h)
}

// smallCalls is what is known of the calls that several threads make only if they are awake.
var smallCalls rhythm

// A rhythm tells whether calls follow each other, and whether there is a place for helpers.
type rhythm struct {
	last  atomic.Int64 // call, in time since start
	until atomic.Int64 // there is none
}

var start = time.Now()

// frequent tells, at a call, whether the one before was a moment ago.
func (r *rhythm) frequent() bool {
	now := int64(time.Since(start))
	return now-r.last.Swap(now) < int64(linger)
}

// crowd says that others want the processors, and for how long that is to be believed.
func (r *rhythm) crowd(d time.Duration) { r.until.Store(int64(time.Since(start) + d)) }

// crowded tells whether that has been said.
func (r *rhythm) crowded() bool { return int64(time.Since(start)) < r.until.Load() }
