//go:build !unix

package testutil

import "testing"

// Guards reports whether there are guard pages on this operating system.
const Guards = false

// GuardedRegion returns size bytes of ordinary memory.
func GuardedRegion(_ testing.TB, size int) []byte { return make([]byte, size) }

// Fence does nothing.
func Fence(testing.TB, []byte) {}
