package parallel

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/testutil"
)

// TestRunAllocatesNothing once warm, whoever does the tasks, and whether workers spin, are
// woken, join or come too late.
func TestRunAllocatesNothing(t *testing.T) {
	const threads = 4
	var list FreeList[int]
	list.New = func() *int { return new(int) }
	var g Group[int, int]
	var do func(task int)
	g.Init(&list, func(w *int) { *w = 0 }, func(w *int, task int) {
		*w++
		do(task)
	})
	nothing := func(int) {}
	all := testutil.NewBarrier(threads)
	join := func(int) { all.Wait() }
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
			all.Wait()
			// The caller is probably not the last one to do a task.
			for begin := time.Now(); task == threads-1 && time.Since(begin) < 2*DefaultSpin; {
				runtime.Gosched()
			}
		}},
		{name: "parallel-for", tasks: 10, threads: threads, parallelFor: serialFor, do: nothing},
	} {
		for _, g.Independent = range []bool{false, true} {
			do = c.do
			testutil.CheckNoMallocs(t, fmt.Sprintf("%s, independent: %t", c.name, g.Independent), repeats(300), func() {
				for c.park && spinning.Load() > 0 {
					runtime.Gosched() // time.Sleep allocates on a processor that had no timer yet
				}
				g.Run(c.tasks, c.threads, Reserve[int]{}, c.parallelFor)
			})
		}
	}
}

// TestThreadsAllocatesNothing once warm, even if it wakes workers.
func TestThreadsAllocatesNothing(t *testing.T) {
	defer rareCalls()
	most := 0
	testutil.CheckNoMallocs(t, "Threads", repeats(5000), func() {
		smallCalls.backoffUntil.Store(0)
		n, _, _ := Threads(3, 1, 3)
		most = max(most, n)
	})
	if most == 1 {
		t.Error("no worker was woken")
	}
}
