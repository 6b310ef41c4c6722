//go:build unix

package kernel

import (
	"testing"

	"golang.org/x/sys/unix"
)

// guards tells that guardedRegion keeps its word.
const guards = true

// guardedRegion returns at least size bytes, whole pages, with an inaccessible
// page on either side.
func guardedRegion(t testing.TB, size int) []byte {
	page := unix.Getpagesize()
	size = (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{mem[:page], mem[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return mem[page : page+size : page+size]
}

// fence makes whole pages of memory inaccessible until the test ends.
func fence(t testing.TB, mem []byte) {
	if err := unix.Mprotect(mem, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			t.Error(err)
		}
	})
}
