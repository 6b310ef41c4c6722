package parallel

import (
	"os"
	"sync/atomic"
	"time"
)

// DefaultSpin is how long goroutines spin before they park, unless the host of the program
// decides otherwise. A container whose CPU time is rationed pays at most that for each
// worker of a call that no other follows.
const DefaultSpin = 50 * time.Microsecond

// spin is how long goroutines spin before they park, in nanoseconds.
var spin atomic.Int64

// IgnoredSpin is what the environment variable ATTN_SPIN holds, if that is no duration, else "".
var IgnoredSpin = readSpin(os.Getenv("ATTN_SPIN"))

// readSpin sets spin to the value of ATTN_SPIN. A bad one is returned, and means the default: a
// program that computes must not fail because of how it waits.
func readSpin(value string) (ignored string) {
	spin.Store(int64(DefaultSpin))
	switch d, err := time.ParseDuration(value); {
	case value == "":
	case value == "off":
		spin.Store(0)
	case err == nil && d >= 0:
		spin.Store(int64(d))
	default:
		return value
	}
	return ""
}

// SetSpin sets how long goroutines spin before they park, and returns how long it was. A
// negative d changes nothing.
func SetSpin(d time.Duration) (previous time.Duration) {
	if d < 0 {
		return time.Duration(spin.Load())
	}
	return time.Duration(spin.Swap(int64(d)))
}

// keepUntil is the end of the time for which KeepSpinning was asked.
var keepUntil atomic.Int64

// KeepSpinning makes goroutines spin on for d, at most a lifetime, where they would park, as calls
// follow each other. It changes nothing if spinning is off.
func KeepSpinning(d time.Duration) { keepUntil.Store(clock() + int64(min(d, maxLifetime))) }

// spinFrom returns for how many nanoseconds a goroutine spins that begins at the time now.
func spinFrom(now int64) int64 {
	limit := spin.Load()
	if limit == 0 {
		return 0
	}
	if kept := keepUntil.Load() - now; kept <= int64(maxLifetime) { // more was left by the clock of a bubble
		return max(limit, kept)
	}
	return limit
}

// spinYields bounds how often a goroutine yields while it spins for d nanoseconds, for
// clocks that advance in steps of milliseconds. A yield takes a microsecond or two.
func spinYields(d int64) int {
	const most = 2 * int64(maxLifetime/time.Microsecond)
	return int(min(2*d/int64(time.Microsecond), most))
}

// smallCalls is the call rate of the calls that more spinning workers would help.
var smallCalls callRate

// A callRate tells whether calls follow each other without a pause, and whether they should do
// without more threads for a while. clock gives the times. A time that a clock has left in the
// future counts as none.
type callRate struct {
	last         atomic.Int64 // time of the last call
	backoffUntil atomic.Int64 // end of the backoff
}

// frequent records a call at time now that more spinning workers would help, and reports
// whether a worker would still spin that has spun since the one before.
func (r *callRate) frequent(now int64) bool {
	pause := now - r.last.Swap(now)
	return pause >= 0 && pause < spinFrom(now-pause)
}

// backOff starts a backoff: others want the processors.
func (r *callRate) backOff() { r.backoffUntil.Store(clock() + int64(backoff)) }

// backingOff reports whether at time now a backoff has not ended.
func (r *callRate) backingOff(now int64) bool {
	left := r.backoffUntil.Load() - now
	return left > 0 && left <= int64(backoff)
}

var start = time.Now()

// clock returns nanoseconds since start. It is cheaper than time.Now. In a bubble, see
// InBubble, it may stand still, and between bubbles it jumps.
func clock() int64 { return int64(time.Since(start)) }

// InBubble reports whether the goroutine belongs to a bubble of testing/synctest. There
//
//   - goroutines that are started belong to the bubble too, and it waits for their end,
//   - nobody outside may wake who waits for a channel or a condition,
//   - the clock stands still while goroutines run.
//
// So a call in a bubble starts goroutines of its own, and leaves the pool alone. Should
// InBubble fail with a later version of Go, the pool is used all the same. That works,
// though the bubble then waits until workers park.
//
// No function of Go tells whether there is a bubble. But times have no monotonic reading
// in one, while outside they have one until the year 2157.
func InBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}
