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

// check makes n elements of memory that has been used before: there are as many, they are
// zeros and can be written to, and their neighbours stay what they are.
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
			t.Fatalf("[%d] of %d is %v", i, n, x[i])
		}
		x[i] = 2
	}
	runtime.GC()
	for i := range x {
		if x[i] != 2 {
			t.Fatalf("[%d] of %d has become %v", i, n, x[i])
		}
	}
	for i := range neighbour {
		if neighbour[i] != 1 {
			t.Fatalf("a neighbour of %d has become %v", n, neighbour[i])
		}
	}
	if n*int(unsafe.Sizeof(*new(E))) >= least && uintptr(unsafe.Pointer(&x[0]))%hugePage != 0 {
		t.Errorf("%d elements start at %p, where no huge page does", n, &x[0])
	}
}
