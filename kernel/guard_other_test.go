//go:build !unix

package kernel

import "testing"

const guards = false

// guardedRegion returns size bytes of ordinary memory.
func guardedRegion(_ testing.TB, size int) []byte { return make([]byte, size) }

func fence(testing.TB, []byte) {}
