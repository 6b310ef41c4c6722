package parallel

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/attn-go/attn/internal/check"
)

// DefaultSpin is how long goroutines spin before they park, unless the host of the program
// decides otherwise. A container whose CPU time is rationed pays at most that for each
// worker of a call that no other follows.
const DefaultSpin = 50 * time.Microsecond

// spin is how long goroutines spin before they park, in nanoseconds.
var spin atomic.Int64

// badSpin is what the environment variable ATTN_SPIN holds, if that is no duration.
var badSpin atomic.Pointer[string]

func init() { readSpin(os.Getenv("ATTN_SPIN")) }

// readSpin sets spin to the value of ATTN_SPIN.
func readSpin(value string) {
	spin.Store(int64(DefaultSpin))
	switch d, err := time.ParseDuration(value); {
	case value == "":
	case value == "off":
		spin.Store(0)
	case err == nil && d >= 0:
		spin.Store(int64(d))
	default:
		badSpin.Store(&value)
	}
}

// CheckSpin reports a value of ATTN_SPIN that is no duration, unless SetSpin has been
// called.
func CheckSpin() *check.Failure {
	if value := badSpin.Load(); value != nil {
		return &check.Failure{Arg: "ATTN_SPIN", Got: fmt.Sprintf("%q", *value), Want: `"off" or a duration, such as "50us"`}
	}
	return nil
}

// SetSpin sets how long goroutines spin before they park, and returns how long it was. A
// negative d changes nothing.
func SetSpin(d time.Duration) (previous time.Duration) {
	if d < 0 {
		return time.Duration(spin.Load())
	}
	badSpin.Store(nil)
	return time.Duration(spin.Swap(int64(d)))
}

// spinYields bounds how often a goroutine yields while it spins for d nanoseconds, for
// clocks that advance in steps of milliseconds. A yield takes a microsecond or two.
func spinYields(d int64) int {
	const most = 2 * int64(maxLifetime/time.Microsecond)
	return int(min(2*d/int64(time.Microsecond), most))
}
