package hugepages

import (
	"runtime"
	"testing"
	"unsafe"
)

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 1000, least/4 - 1, least / 4, least/4 + 7, 2*least + 1} {
		check[float32](t, n)
		check[uint16](t, 2*n)
		check[int8](t, 4*n)
	}
}

// check calls Make when the heap has memory that was used before. The slice has n zeros, keeps
// what is written to it, and does not overlap other memory.
func check[E int8 | uint16 | float32](t *testing.T, n int) {
	used, neighbour := make([]E, n+hugePage), make([]E, 1000)
	for _, x := range [][]E{used, neighbour} {
		for i := range x {
			x[i] = 1
		}
	}
	used = nil
	runtime.GC()
	x := Make[E](n)
	if len(x) != n || cap(x) != n {
		t.Fatalf("%d elements of %d, want %d", len(x), cap(x), n)
	}
	for i := range x {
		if x[i] != 0 {
			t.Fatalf("element %d of %d is %v, want 0", i, n, x[i])
		}
		x[i] = 2
	}
	runtime.GC()
	for i := range x {
		if x[i] != 2 {
			t.Fatalf("element %d of %d has changed to %v", i, n, x[i])
		}
	}
	for i := range neighbour {
		if neighbour[i] != 1 {
			t.Fatalf("with %d elements, other memory has changed to %v", n, neighbour[i])
		}
	}
	if n*int(unsafe.Sizeof(*new(E))) >= least && uintptr(unsafe.Pointer(&x[0]))%hugePage != 0 {
		t.Errorf("%d elements start at %p, not at the start of a huge page", n, &x[0])
	}
}
