//go:build race

package view

import (
	"runtime"
	"unsafe"
)

// Races tells whether the race detector watches the program.
const Races = true

// announce tells the race detector of an access to n > 0 bytes.
func announce(a Access, p unsafe.Pointer, n int) {
	if a == Write {
		runtime.RaceWriteRange(p, n)
	} else {
		runtime.RaceReadRange(p, n)
	}
}
