package parallel

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// countMallocs returns the exact number of heap allocations of the whole program during n
// calls, after n calls to warm up. The garbage collector is off: it would empty lists of
// the runtime that primeRuntime fills.
func countMallocs(n int, call func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	primeRuntime()
	for range n {
		call()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		call()
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// primeRuntime makes the runtime allocate all goroutines, records of blocked goroutines
// and threads that it will need. The runtime recycles these. But each processor has lists
// of its own for up to 64 goroutines and 128 records, and where these and the global lists
// are empty, it allocates. So there must be more than the lists of all processors hold.
func primeRuntime() {
	processors := runtime.GOMAXPROCS(0)
	var there, done sync.WaitGroup
	release := make(chan bool)
	for range 1000 * processors {
		there.Add(1)
		done.Go(func() {
			there.Done()
			<-release
		})
	}
	there.Wait()
	close(release)
	done.Wait()
	all := &barrier{n: processors + 4}
	for range all.n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.wait()
		})
	}
	done.Wait()
}

// TestAllocationsAreCounted: the count that the tests below compare with 0 is exact.
func TestAllocationsAreCounted(t *testing.T) {
	if n := countMallocs(100, func() {}); n != 0 {
		t.Errorf("%d allocations where there are none", n)
	}
	var sink *[100]byte
	if n := countMallocs(100, func() { sink = new([100]byte) }); n != 100 {
		t.Errorf("%d allocations where there are 100", n)
	}
	runtime.KeepAlive(sink)
}

// TestRunAllocatesNothing once warm, whoever does the tasks, and whether workers spin, are
// woken, join or come too late.
func TestRunAllocatesNothing(t *testing.T) {
	const threads = 4
	var list FreeList[int]
	list.New = func() *int { return new(int) }
	var g Group[int]
	var do func(task int)
	g.Init(&list, func(w *int) { *w = 0 }, func(w *int, task int) {
		*w++
		do(task)
	})
	nothing := func(int) {}
	all := &barrier{n: threads}
	join := func(int) { all.wait() }
	for _, c := range []struct {
		name           string
		tasks, threads int
		parallelFor    func(n int, task func(i int))
		do             func(task int)
		park           bool // before each call
	}{
		{name: "one thread", tasks: 10, threads: 1, do: nothing},
		{name: "all workers join", tasks: threads, threads: threads, do: join},
		{name: "parked workers join", tasks: threads, threads: threads, do: join, park: true},
		{name: "workers are late", tasks: 1, threads: threads, do: nothing},
		{name: "parked workers are late", tasks: 1, threads: threads, do: nothing, park: true},
		{name: "the caller blocks", tasks: threads, threads: threads, do: func(task int) {
			all.wait()
			// The caller is probably not the last one to do a task.
			for begin := time.Now(); task == threads-1 && time.Since(begin) < 2*DefaultSpin; {
				runtime.Gosched()
			}
		}},
		{name: "parallel-for", tasks: 10, threads: threads, parallelFor: serialFor, do: nothing},
	} {
		do = c.do
		n := countMallocs(repeats(300), func() {
			for c.park && spinning.Load() > 0 {
				time.Sleep(10 * time.Microsecond)
			}
			g.Run(c.tasks, c.threads, Reserve{}, c.parallelFor)
		})
		if n != 0 {
			t.Errorf("%s: %d allocations", c.name, n)
		}
	}
}

// TestThreadsAllocatesNothing once warm, even if it wakes workers.
func TestThreadsAllocatesNothing(t *testing.T) {
	defer rareCalls()
	most := 0
	n := countMallocs(repeats(5000), func() {
		smallCalls.backoffUntil.Store(0)
		n, _, _ := Threads(3, 1, 3)
		most = max(most, n)
	})
	if n != 0 {
		t.Errorf("%d allocations", n)
	}
	if most == 1 {
		t.Error("no worker was woken")
	}
}
