package testutil

import "testing"

// Quick reports whether the tests may be running on an emulator: with -short, and
// without the race detector.
func Quick() bool { return testing.Short() && !Race }

// Thin reports whether to test only a part of many cases, see Sampled.
func Thin() bool { return testing.Short() || Race }

// Every reports whether to test case i of many: all of them, one in short with -short, and one in
// race under the race detector, where calls take ten times as long and few cases show what threads
// share.
func Every(i, short, race int) bool {
	switch {
	case Race:
		return i%race == 0
	case testing.Short():
		return i%short == 0
	}
	return true
}

// Sampled reports whether case i is in that part: one in eight, without a pattern.
func Sampled(i int) bool {
	r := Rand(^i)
	return r.IntN(8) == 0
}
