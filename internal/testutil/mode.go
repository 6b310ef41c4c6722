package testutil

import "testing"

// Quick reports whether the tests may be running on an emulator: with -short, and
// without the race detector.
func Quick() bool { return testing.Short() && !Race }

// Thin reports whether to test only a part of many cases, see Sampled.
func Thin() bool { return testing.Short() || Race }

// Sampled reports whether case i is in that part: one in eight, without a pattern.
func Sampled(i int) bool {
	r := Rand(^i)
	return r.IntN(8) == 0
}
