package parallel

import "sync/atomic"

// smallCalls is the call rate of the calls that more spinning workers would help.
var smallCalls callRate

// A callRate tells whether calls follow each other without a pause, and whether they
// should do without more threads for a while. Times are those of clock. One that a clock
// has left in the future counts as none.
type callRate struct {
	last         atomic.Int64 // time of the last call
	backoffUntil atomic.Int64 // end of the backoff
}

// frequent records a call at time now that more spinning workers would help, and reports
// whether a worker would still spin that has spun since the one before.
func (r *callRate) frequent(now int64) bool {
	pause := now - r.last.Swap(now)
	return pause >= 0 && pause < spin.Load()
}

// backOff starts a backoff: others want the processors.
func (r *callRate) backOff() { r.backoffUntil.Store(clock() + int64(backoff)) }

// backingOff reports whether at time now a backoff has not ended.
func (r *callRate) backingOff(now int64) bool {
	left := r.backoffUntil.Load() - now
	return left > 0 && left <= int64(backoff)
}
