package hugepages

import (
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// Slices that share memory are zeros, begin at a cache line, and do not overlap.
func TestShare(t *testing.T) {
	const bytes = 300_000
	var all [][]float32
	for i := range 3 * chunkBytes / bytes {
		x := Share[float32](bytes/4 + i)
		if len(x) != bytes/4+i || cap(x) != len(x) || uintptr(unsafe.Pointer(&x[0]))%shareAlign != 0 {
			t.Fatalf("slice %d: length %d, capacity %d, at %p", i, len(x), cap(x), &x[0])
		}
		for j := range x {
			if x[j] != 0 {
				t.Fatalf("slice %d: element %d is %v, want 0", i, j, x[j])
			}
			x[j] = float32(i + 1)
		}
		all = append(all, x)
	}
	runtime.GC()
	for i, x := range all {
		for j := range x {
			if x[j] != float32(i+1) {
				t.Fatalf("slice %d: element %d has changed to %v", i, j, x[j])
			}
		}
	}
}

// Slices of other sizes are those of Make.
func TestShareNot(t *testing.T) {
	for _, n := range []int{0, 1, leastShare - 1, least, least + 1} {
		if x := Share[byte](n); len(x) != n {
			t.Errorf("%d bytes, want %d", len(x), n)
		}
	}
}

// The first slices share no chunk. A chunk is freed with the last slice in it.
func TestChunk(t *testing.T) {
	var c chunk
	for i := range 2 {
		if c.take(aloneBytes/2) != nil {
			t.Errorf("slice %d shares a chunk", i)
		}
	}
	p := c.take(shareAlign)
	if q := c.take(shareAlign); uintptr(unsafe.Pointer(q))-uintptr(unsafe.Pointer(p)) != shareAlign {
		t.Errorf("slices at %p and %p, want one after the other", p, q)
	}
	if c.take(chunkBytes-2*shareAlign) == nil || c.used != chunkBytes {
		t.Errorf("%d bytes are used, want a full chunk", c.used)
	}
	if q := c.take(shareAlign); q == p || c.used != shareAlign {
		t.Errorf("%d bytes are used, want a new chunk", c.used)
	}
	runtime.KeepAlive(p)
	for began := time.Now(); c.start.Value() != nil; runtime.GC() {
		if time.Since(began) > time.Minute {
			t.Fatal("a chunk without slices is kept")
		}
	}
}
