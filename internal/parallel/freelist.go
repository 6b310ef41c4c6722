package parallel

import "sync"

// A FreeList recycles values across calls. Unlike a sync.Pool it is not emptied by the
// garbage collector, so that a warm program allocates nothing. It keeps as many values
// as were ever in use at once. The zero value is ready for use once New is set. All
// methods may be called concurrently.
type FreeList[T any] struct {
	// New makes a value if none is free. It must be safe for concurrent use and must
	// not use the list.
	New func() *T

	mu   sync.Mutex
	free []*T
}

// Get takes the value that was put back last, or makes a new one.
func (l *FreeList[T]) Get() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return l.New()
	}
	x := l.free[n-1]
	l.free = l.free[:n-1]
	return x
}

// Put gives x back, which the caller must not use any more.
func (l *FreeList[T]) Put(x *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, x)
}
