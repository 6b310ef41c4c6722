package kernel

import (
	"sync/atomic"
	"time"
)

// team returns how many threads, of at most so many, a call is worth: alone is what it is
// worth if helpers have to be woken, together if they are awake. One is woken for the calls to
// come, if calls like this follow each other without a pause.
func team(threads int, alone, together float64) int {
	n := max(1, int(min(alone, float64(threads))))
	m := int(min(together, float64(threads)))
	if m <= n {
		return n
	}
	awake := int(ready.Load())
	if awake < m-1 && calls.frequent() {
		rouse()
	}
	return max(n, min(m, 1+awake))
}

// rouse wakes a helper that sleeps, if there is one at hand, for whatever comes.
func rouse() {
	if h := helpers.get(); h.errand.Load() == &asleep {
		h.rest()
		h.wake()
	} else {
		helpers.put(h)
	}
}

// calls is what is known of the calls that several threads do only if they are awake.
var calls rhythm

// A rhythm tells whether something happens again and again.
type rhythm struct {
	last  atomic.Int64 // time, from start on
	until atomic.Int64 // then it does not count
}

// readyGain is how much less work is worth a helper that is awake.
const readyGain = 16

// respite is how long no helper is woken after one had to leave.
const respite = 10 * time.Millisecond

var start = time.Now()

// frequent tells whether it was asked a moment ago.
func (r *rhythm) frequent() bool {
	now := int64(time.Since(start))
	last := r.last.Swap(now)
	return now-last < int64(linger) && now > r.until.Load()
}

// crowd says that others want the processors.
func (r *rhythm) crowd() { r.until.Store(int64(time.Since(start) + respite)) }
