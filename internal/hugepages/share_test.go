package hugepages

import (
	"runtime"
	"testing"
	"unsafe"
)

// Slices of Share are zeros and overlap nothing, whether they are small, large or share a chunk.
// All but small ones start at cache lines.
func TestShare(t *testing.T) {
	shared = arena{}
	var all [][]uint16
	for round := range 3 {
		for _, bytes := range []int{0, 2, small - 2, small, small + 2, 100_000, 1 << 20, least - 2, least} {
			x := Share[uint16](bytes / 2)
			if len(x) != bytes/2 || cap(x) != bytes/2 {
				t.Fatalf("%d elements of %d, want %d", len(x), cap(x), bytes/2)
			}
			for i := range x {
				if x[i] != 0 {
					t.Fatalf("element %d of %d is %d, want 0", i, len(x), x[i])
				}
				x[i] = uint16(len(all) + 1)
			}
			if bytes >= small && uintptr(unsafe.Pointer(&x[0]))%cacheLine != 0 {
				t.Errorf("round %d: %d bytes start at %p, not at the start of a cache line", round, bytes, &x[0])
			}
			all = append(all, x)
		}
		runtime.GC()
	}
	for n, x := range all {
		for i := range x {
			if x[i] != uint16(n+1) {
				t.Fatalf("slice %d: element %d has changed to %d", n, i, x[i])
			}
		}
	}
}

// The first slices are made alone. Later ones share chunks, each until one does not fit any more.
func TestArena(t *testing.T) {
	var a arena
	const bytes = 1 << 20
	for i := range least / bytes {
		if a.take(bytes) != nil {
			t.Fatalf("slice %d lies in a chunk", i)
		}
	}
	start := func() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(a.take(bytes)))) }
	chunks := 0
	for i := range 3 * chunk / bytes {
		keep := a.last.Value()
		before := uintptr(unsafe.Pointer(keep)) + uintptr(a.used)
		switch at := start(); {
		case at == before:
		case at%hugePage == 0:
			chunks++
		default:
			t.Fatalf("slice %d starts at %#x, want %#x or a huge page", i, at, before)
		}
		runtime.KeepAlive(keep)
	}
	if chunks < 3 {
		t.Errorf("%d chunks, want at least 3", chunks)
	}
}

// A chunk is freed once none of its slices is used, though there is room in it.
func TestShareFrees(t *testing.T) {
	a := arena{alone: least}
	x := a.take(small)
	runtime.GC()
	if a.last.Value() == nil {
		t.Error("a chunk is freed while a slice is used")
	}
	runtime.KeepAlive(x)
	for a.last.Value() != nil { // no slice is used any more
		runtime.GC()
	}
}
