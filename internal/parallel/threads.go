package parallel

import "runtime"

// WarmGain is how much less work makes a thread worth it if its worker spins than if the
// worker must be woken.
const WarmGain = 8

// Limit returns the largest number of threads of a call whose option says threads: that
// number, or GOMAXPROCS for 0.
func Limit(threads int) int {
	if threads == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return threads
}

// Threads returns the number of threads of a call, at most limit and at least 1. The call
// is worth cold threads if workers must be woken for it, and warm threads if they spin.
// Both are real numbers, rounded down. With s workers that spin, the result is
//
//	n = max(1, min(cold, limit))    during a backoff, or if m ≤ n
//	max(n, min(m, 1+s))             otherwise, where m = min(warm, limit)
//
// If s < m-1 and such calls follow each other without a pause, Threads also wakes one
// worker, for the calls to come, unless the call is in a bubble (see InBubble).
//
// most is the most that Threads returns for the same arguments, whatever workers do.
func Threads(limit int, cold, warm float64) (threads, most int) {
	n := max(1, int(min(cold, float64(limit))))
	m := int(min(warm, float64(limit)))
	if m <= n {
		return n, n
	}
	now := clock()
	if smallCalls.backingOff(now) {
		return n, m
	}
	s := int(spinning.Load())
	if s < m-1 && smallCalls.frequent(now) && !InBubble() {
		wake()
	}
	return max(n, min(m, 1+s)), m
}
