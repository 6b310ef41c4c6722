package parallel

import "time"

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
