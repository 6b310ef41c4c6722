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

// readSpin sets spin to the value of ATTN_SPIN. A bad one is returned, and means the default: a program
// that computes must not fail because of how it waits.
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

// spinYields bounds how often a goroutine yields while it spins for d nanoseconds, for
// clocks that advance in steps of milliseconds. A yield takes a microsecond or two.
func spinYields(d int64) int {
	const most = 2 * int64(maxLifetime/time.Microsecond)
	return int(min(2*d/int64(time.Microsecond), most))
}
