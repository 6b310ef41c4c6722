package parallel

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// A buffer is a recycled value with two slices.
type buffer struct {
	x, y           []int64
	xUsage, yUsage Usage
	memory         Memory
}

func newBuffers() *FreeList[buffer] {
	return &FreeList[buffer]{
		New:    func() *buffer { return new(buffer) },
		Memory: func(b *buffer) *Memory { return &b.memory },
	}
}

func (b *buffer) fit(x, y int) {
	Fit(&b.memory, &b.xUsage, &b.x, x, Make[int64])
	Fit(&b.memory, &b.yUsage, &b.y, y, Make[int64])
}

// use takes n values at once.
func use(l *FreeList[buffer], n, x, y int) {
	var all []*buffer
	for range n {
		b := l.Get()
		b.fit(x, y)
		all = append(all, b)
	}
	for _, b := range all {
		l.Put(b)
	}
}

// onlyOwnCollections makes sure that no garbage collection is counted but collectGarbage's.
func onlyOwnCollections(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	Release() // what other tests have left
	waitFor(func() bool { runtime.GC(); return !collecting.Load() })
}

// collectGarbage does for the lists what n garbage collections do.
func collectGarbage(n int) {
	for range n {
		collections.Add(1)
		freeLists(false)
	}
}

// held returns what the free values of a list hold.
func held(l *FreeList[buffer]) (values, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.values {
		bytes += b.memory.held
		if b.memory.held != 8*(len(b.x)+len(b.y)) {
			panic("wrong count")
		}
	}
	return len(l.values), bytes
}

// TestGarbageCollectionsFreeMemory: garbage collections count, and values that no call uses
// become garbage themselves. That holds again after all lists have been empty.
func TestGarbageCollectionsFreeMemory(t *testing.T) {
	l := newBuffers()
	for range 2 {
		use(l, 5, 1000, 0)
		var gone atomic.Int64
		for _, b := range l.values {
			runtime.AddCleanup(b, func(int) { gone.Add(1) }, 0)
		}
		waitFor(func() bool { runtime.GC(); return gone.Load() == 5 })
		if n, _ := held(l); n != 0 {
			t.Errorf("%d values are left when none is used", n)
		}
	}
}

// TestIdleMemoryIsFreed: values that no call uses are freed after some garbage collections,
// and those that are used are kept.
func TestIdleMemoryIsFreed(t *testing.T) {
	onlyOwnCollections(t)
	before := totalHeld.Load()
	l := newBuffers()
	use(l, 5, 1000, 0)
	collectGarbage(keepFor - 1)
	if n, bytes := held(l); n != 5 || bytes != 5*8000 {
		t.Errorf("too early there are %d values with %d bytes, want 5 with 40000", n, bytes)
	}
	for range 2*keepFor + 1 {
		use(l, 2, 1000, 0)
		collectGarbage(1)
	}
	if n, bytes := held(l); n != 2 || bytes != 2*8000 {
		t.Errorf("there are %d values with %d bytes, want the 2 that are used with 16000", n, bytes)
	}
	collectGarbage(2*keepFor + 1)
	if n, _ := held(l); n != 0 {
		t.Errorf("%d values are left when none is used", n)
	}
	if n := totalHeld.Load(); n != before {
		t.Errorf("%d bytes are counted, %d before", n, before)
	}
}

// TestLargeMemoryIsFreed: one large call does not leave its memory to small ones for good.
// Calls of different shapes in turn keep theirs.
func TestLargeMemoryIsFreed(t *testing.T) {
	onlyOwnCollections(t)
	l := newBuffers()
	use(l, 1, 1_000_000, 0)
	for range 2*keepFor + 1 {
		use(l, 1, 100, 0)
		collectGarbage(1)
	}
	if _, bytes := held(l); bytes != 800 {
		t.Errorf("%d bytes are left, want 800", bytes)
	}
	kept := l.values[0]
	for i := range 5 * keepFor {
		if i%2 == 0 {
			use(l, 1, 100, 1)
		} else {
			use(l, 1, 1, 90)
		}
		collectGarbage(1)
	}
	if len(l.values) != 1 || l.values[0] != kept {
		t.Error("a value that two shapes use in turn has been freed")
	}
	if _, bytes := held(l); bytes != 1520 {
		t.Errorf("%d bytes, want 1520", bytes)
	}
}

// TestMemoryIsBounded: beyond the bound, values are freed after the call.
func TestMemoryIsBounded(t *testing.T) {
	l := newBuffers()
	const size = mostHeld / 8 / 10
	use(l, 15, size, 0)
	if n, bytes := held(l); n > 10 || n < 8 || totalHeld.Load() > mostHeld {
		t.Errorf("%d values are kept with %d bytes; %d bytes in all", n, bytes, totalHeld.Load())
	}
	use(l, 1, 2*mostHeld/8, 0)
	if n := totalHeld.Load(); n > mostHeld {
		t.Errorf("%d bytes are kept", n)
	}
	Release()
	if n, _ := held(l); n != 0 {
		t.Errorf("%d values after Release", n)
	}
}

// TestRelease frees all that is free while calls use the rest.
func TestRelease(t *testing.T) {
	l := newBuffers()
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				b := l.Get()
				b.fit(100, 10)
				for i := range b.x[:100] {
					b.x[i]++
				}
				l.Put(b)
				runtime.Gosched()
			}
		})
	}
	for range repeats(1000) {
		Release()
		runtime.Gosched()
	}
	stop.Store(true)
	all.Wait()
	Release()
	if n, bytes := held(l); n != 0 || bytes != 0 {
		t.Errorf("%d values with %d bytes are left", n, bytes)
	}
}

// TestFailedCallIsForgotten: what a call that panics has used counts no more, whether the task was
// the caller's or another goroutine's.
func TestFailedCallIsForgotten(t *testing.T) {
	elsewhere := func(n int, task func(i int)) {
		done := make(chan bool)
		go func() {
			defer close(done)
			task(0)
		}()
		<-done
	}
	for name, parallelFor := range map[string]func(n int, task func(i int)){"caller": serialFor, "another goroutine": elsewhere, "any": nil} {
		l := newBuffers()
		before := totalHeld.Load()
		var g Group[buffer, int]
		g.Init(l, func(b *buffer) { b.fit(1000, 0) }, func(*buffer, int) { panic("planted") })
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			g.Run(10, 3, Reserve[int]{}, parallelFor)
		}()
		if n, _ := held(l); n != 0 || totalHeld.Load() != before {
			t.Errorf("%s: %d values are recycled, %d bytes are counted, %d before", name, n, totalHeld.Load(), before)
		}
	}
}

// TestReserve: a call that says that it may have more threads another time allocates for
// them at once.
func TestReserve(t *testing.T) {
	emptyPool(t)
	onlyOwnCollections(t)
	l := newBuffers()
	var g Group[buffer, int]
	g.Init(l, func(b *buffer) { b.fit(1000, 0) }, func(*buffer, int) {})
	run := func(threads, most int) { g.Run(4, threads, Reserve[int]{Threads: most}, serialFor) }
	run(1, 5)
	if n, bytes := held(l); n != 5 || bytes != 5*8000 {
		t.Errorf("%d values with %d bytes, want 5 with 40000", n, bytes)
	}
	if n := len(workers.list()); n != 4 {
		t.Errorf("%d workers, want 4 beside the caller", n)
	}
	testutil.CheckNoMallocs(t, "more threads", 1, func() {
		for threads := 1; threads <= 5; threads++ {
			run(threads, 5)
		}
	})
	for range 3 * keepFor { // the spare ones are in use
		run(1, 5)
		collectGarbage(1)
	}
	if n, _ := held(l); n != 5 {
		t.Errorf("%d values are left, want 5", n)
	}
	Release()
	run(1, 5)
	if n, _ := held(l); n != 5 {
		t.Errorf("%d values after Release and a call, want 5", n)
	}
}
