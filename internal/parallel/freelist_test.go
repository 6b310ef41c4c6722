package parallel

import (
	"runtime"
	"sync"
	"testing"
)

// TestFreeListRecycles: a value is made only if none is free, even after a garbage
// collection, and nobody else has it until it is put back.
func TestFreeListRecycles(t *testing.T) {
	made := 0
	l := FreeList[int]{New: func() *int {
		made++
		return new(int)
	}}
	a, b := l.Get(), l.Get()
	if a == b || made != 2 {
		t.Fatalf("two values in use: the same is %v, %d made", a == b, made)
	}
	l.Put(a)
	l.Put(b)
	runtime.GC()
	runtime.GC()
	if x, y := l.Get(), l.Get(); x != b || y != a || made != 2 {
		t.Errorf("got other values than were put back, or in another order; %d made", made)
	}
}

// TestFreeListConcurrently: a value has one user at a time.
func TestFreeListConcurrently(t *testing.T) {
	l := FreeList[int]{New: func() *int { return new(int) }}
	const goroutines = 4
	n := repeats(3000)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range n {
				x := l.Get()
				*x++ // the race detector sees who shares it
				l.Put(x)
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, x := range l.values {
		sum += *x
	}
	if sum != goroutines*n || len(l.values) > goroutines {
		t.Errorf("%d uses of %d values, want %d of at most %d", sum, len(l.values), goroutines*n, goroutines)
	}
}
