//go:build unix

package testutil

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guards reports whether there are guard pages on this operating system.
const Guards = true

// GuardedRegion returns at least size bytes, whole pages, between two inaccessible
// pages. It is unmapped when the test ends.
func GuardedRegion(t testing.TB, size int) []byte {
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

// Fence makes whole pages of memory inaccessible until the test ends.
func Fence(t testing.TB, mem []byte) {
	if err := unix.Mprotect(mem, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			t.Error(err)
		}
	})
}
