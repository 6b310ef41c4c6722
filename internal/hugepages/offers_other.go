//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package hugepages

import "runtime"

// offers tells whether so many bytes can be addressed and do not exceed 1 TiB. On this system
// the package cannot ask for more.
func offers(bytes int) bool {
	if runtime.GOARCH == "wasm" { // an int has 64 bits there, an address 32
		return uint64(bytes) < 1<<31
	}
	return uint64(bytes) <= 1<<40
}
