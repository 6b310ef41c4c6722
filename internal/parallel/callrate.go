package parallel

import (
	"sync/atomic"
	"time"
)

// smallCalls is the call rate of the calls that more spinning workers would help.
var smallCalls callRate

// A callRate tells whether calls follow each other without a pause, and whether they
// should do without more threads for a while. Times are nanoseconds since start.
type callRate struct {
	last         atomic.Int64 // time of the last call
	backoffUntil atomic.Int64 // end of the backoff
}

var start = time.Now()

// frequent records a call that more spinning workers would help, and reports whether the one before was less than spinTime ago.
func (r *callRate) frequent() bool {
	now := int64(time.Since(start))
	return now-r.last.Swap(now) < int64(spinTime)
}

// backOff starts a backoff of d: others want the processors.
func (r *callRate) backOff(d time.Duration) { r.backoffUntil.Store(int64(time.Since(start) + d)) }

// backingOff reports whether a backoff has not ended.
func (r *callRate) backingOff() bool { return int64(time.Since(start)) < r.backoffUntil.Load() }
