package hugepages

import (
	"sync"
	"unsafe"
	"weak"
)

const (
	chunkBytes = 8 << 20 // of memory that slices share
	aloneBytes = 2 << 20 // of the first slices, which share none
	leastShare = 16 << 10
	shareAlign = 64 // a cache line
)

// Share returns n zeros, as Make does. If the slice is too small for huge pages of its own, it
// shares a chunk of memory with the slices of other calls, which is in use as long as one of
// them is. So Share is for memory that is kept together, as the weights of the layers of a
// model. The first slices share none: a program with few of them takes no more than it asks for.
//
// On a virtual machine on Emerald Rapids, in alternated runs, SmolLM2, whose layers take 0.1 to
// 0.6 MB each, makes a token in 8.6 to 9.2 ms instead of 9.8 to 10.3 (least times).
func Share[E any](n int) []E {
	size := int(unsafe.Sizeof(*new(E)))
	if n < leastShare/size || n >= least/size {
		return Make[E](n)
	}
	if p := shared.take((n*size + shareAlign - 1) &^ (shareAlign - 1)); p != nil {
		return unsafe.Slice((*E)(unsafe.Pointer(p)), n)
	}
	return make([]E, n)
}

// shared is where Share takes memory from.
var shared chunk

// A chunk is memory of which a part is in use.
type chunk struct {
	mu    sync.Mutex
	alone int                // bytes of the slices before the first chunk
	start weak.Pointer[byte] // the slices alone keep the chunk
	used  int
}

// take returns so many bytes, a multiple of shareAlign and at most least, or nil if they are
// among the first.
func (c *chunk) take(bytes int) *byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone < aloneBytes {
		c.alone += bytes
		return nil
	}
	start := c.start.Value()
	if start == nil || c.used+bytes > chunkBytes {
		start = unsafe.SliceData(Make[byte](chunkBytes))
		c.start, c.used = weak.Make(start), 0
	}
	p := (*byte)(unsafe.Add(unsafe.Pointer(start), c.used))
	c.used += bytes
	return p
}
