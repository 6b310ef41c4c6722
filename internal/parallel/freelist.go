package parallel

import "sync"

// A FreeList recycles values across calls. In the steady state, where calls repeat, a program
// allocates nothing: unlike in a sync.Pool, values survive garbage collections as long as calls
// need them, see Memory. The zero value is ready for use. All methods may be called concurrently.
type FreeList[T any] struct {
	// New makes a value if none is free; nil makes a zero. It must be safe for concurrent use
	// and must not use the list.
	New func() *T

	// Memory returns what counts the memory of a value. If it is nil, values hold little
	// and are kept for good.
	Memory func(*T) *Memory

	// OnFree, if not nil, is called for a value that the list drops, which others may still
	// point to. It makes the value hold no memory.
	OnFree func(*T)

	mu         sync.Mutex
	values     []*T
	registered bool // in lists
}

// Get takes the value that was put back last, or makes a new one.
func (l *FreeList[T]) Get() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.values)
	if n == 0 {
		return l.make()
	}
	x := l.values[n-1]
	l.values[n-1] = nil // or it would be reachable when it has been dropped
	l.values = l.values[:n-1]
	return x
}

// make makes a value.
func (l *FreeList[T]) make() *T {
	if l.New == nil {
		return new(T)
	}
	return l.New()
}

// Put gives x back, which the caller must not use any more.
func (l *FreeList[T]) Put(x *T) {
	if l.Memory == nil {
		l.put(x)
		return
	}
	m := l.Memory(x)
	if m.puts++; m.review() {
		l.Drop(x)
		return
	}
	l.put(x)
	startCollector()
}

func (l *FreeList[T]) put(x *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values = append(l.values, x)
	if !l.registered && l.Memory != nil {
		l.registered = true
		lists.mu.Lock()
		defer lists.mu.Unlock()
		lists.all = append(lists.all, l)
	}
}

// Drop is for a value that must not be recycled. The list forgets it.
func (l *FreeList[T]) Drop(x *T) {
	if l.Memory != nil {
		l.Memory(x).Forget()
	}
	if l.OnFree != nil {
		l.OnFree(x)
	}
}

// free drops the values that are outdated, or all, and reports whether some are left.
func (l *FreeList[T]) free(all bool) (left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.values[:0]
	for _, x := range l.values {
		if all || l.Memory(x).review() {
			l.Drop(x)
		} else {
			kept = append(kept, x)
		}
	}
	clear(l.values[len(kept):])
	l.values = kept
	return len(kept) > 0
}
