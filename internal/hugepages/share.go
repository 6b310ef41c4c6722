package hugepages

import (
	"sync"
	"unsafe"
	"weak"
)

const (
	// chunk is the size of the memory in which slices of Share lie side by side. If the next slice
	// does not fit into its end, nothing ever uses that.
	chunk = 4 * hugePage

	// A slice of fewer bytes than small is made alone: the pages of few bytes take no time.
	small = 32 << 10

	cacheLine = 64
)

// Share is [Make] for slices of which many live equally long, such as the layers of a model. Slices
// too small for huge pages of their own lie side by side in a chunk of them. A chunk is freed when
// none of its slices is used any more: one keeps 8 MiB, and up to 2 MiB before the first huge page.
// The first slices, of 4 MiB together, are made alone, so that a program with few of them needs no
// chunk.
func Share[E any](n int) []E {
	size := int(unsafe.Sizeof(*new(E)))
	if n < small/size || n >= least/size {
		return Make[E](n)
	}
	data := shared.take(n * size)
	if data == nil {
		return make([]E, n)
	}
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// shared is where slices of Share lie.
var shared arena

type arena struct {
	mu    sync.Mutex
	alone int                       // bytes of the slices before the first chunk
	last  weak.Pointer[[chunk]byte] // the newest chunk, unless it is garbage
	used  int                       // bytes of it that slices have
}

// take returns zeros that no other slice has, from the start of a cache line on, or nil for a slice
// that is to be made alone.
func (a *arena) take(bytes int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.alone+bytes <= least {
		a.alone += bytes
		return nil
	}
	c := a.last.Value()
	if c == nil || a.used+bytes > chunk {
		c = (*[chunk]byte)(Make[byte](chunk))
		a.last, a.used = weak.Make(c), 0
	}
	data := c[a.used:][:bytes:bytes]
	a.used += (bytes + cacheLine - 1) &^ (cacheLine - 1)
	return data
}
