package parallel

import (
	"math"
	"runtime"
)

// WarmGain is how many times less work pays for one more thread if its worker spins already. A
// worker that sleeps must be woken first.
const WarmGain = 16

// Oversubscription is the most threads of a call for each processor.
const Oversubscription = 8

// Limit returns the largest number of threads of a call whose option says threads: that
// number, but at most Oversubscription times GOMAXPROCS, or GOMAXPROCS for 0.
func Limit(threads int) int {
	switch {
	case threads == 0:
		return runtime.GOMAXPROCS(0)
	case threads <= Oversubscription: // on any machine; GOMAXPROCS takes a lock
		return threads
	}
	return min(threads, Oversubscription*runtime.GOMAXPROCS(0))
}

// LimitFor is Limit, or 1 for a call that is not worth 2 threads even if workers spin: then it
// does not touch the lock of GOMAXPROCS.
func LimitFor(threads int, warm float64) int {
	if !(warm >= 2) {
		return 1
	}
	return Limit(threads)
}

// Starting n workers takes n times as long as starting one, and on n threads a call takes
// an n-th of its time. Both together are shortest with √(work/cost of one) threads. Work
// is given in threads that are worth it: for so much, starting a goroutine 150 times, in
// 50 µs, or submitting a job to 40 workers that spin.
const (
	coldStarts  = 150
	warmSubmits = 40
)

// bounded returns threads, or fewer if starting them takes too long.
func bounded(threads, starts float64) float64 { return min(threads, math.Sqrt(starts*threads)) }

// Threads returns the number of threads of a call, at most limit and at least 1. The call
// is worth cold threads if workers must be woken for it, and warm threads if they spin.
// Both are real numbers, rounded down. With s workers that spin, the result is
//
//	n = max(1, min(cold, limit))    during a backoff, or if m ≤ n
//	max(n, min(m, 1+s))             otherwise, where m = min(warm, limit)
//
// with fewer than cold or warm where so many threads would take too long to start, see
// bounded.
//
// If s < m-1 and such calls follow each other without a pause, Threads also wakes one
// worker, for the calls to come, unless the call is in a bubble (see InBubble).
//
// For the same arguments it returns n to most, whatever workers do; vary is whether that is
// more than one number.
func Threads(limit int, cold, warm float64) (threads, most int, vary bool) {
	if limit == 1 {
		return 1, 1, false
	}
	n := max(1, int(min(bounded(cold, coldStarts), float64(limit))))
	m := int(min(bounded(warm, warmSubmits), float64(limit)))
	if m <= n {
		return n, n, false
	}
	now := clock()
	if smallCalls.backingOff(now) {
		return n, m, true
	}
	s := int(spinning.Load())
	if s < m-1 && smallCalls.frequent(now) && !InBubble() {
		wake()
	}
	return max(n, min(m, 1+s)), m, true
}
