package kernel_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// liveBytes returns the size of the heap after some garbage collections.
func liveBytes(collections int) int64 {
	for range collections {
		runtime.GC()
		time.Sleep(2 * time.Millisecond) // for finalizers, which count collections
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// least repeats f until it returns enough or less: a busy machine may be late to count
// collections. It returns the last result.
func least(enough int64, f func() int64) int64 {
	for range 50 {
		if f() <= enough {
			break
		}
	}
	return f()
}

// burst makes concurrent calls on several threads each, with and without split-KV, and one
// with a very large head.
func burst(t *testing.T) {
	const callers, threads, l, d, large = 8, 8, 300, 128, 1 << 15
	data := testutil.Floats(max(8*l*d, 2*large))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			x := kernel.BHLD(data[:8*l*d], 1, 8, l, d)
			one := kernel.BHLD(data[:d], 1, 1, 1, d)
			keys := kernel.BHLD(data[:8*l*d], 1, 1, 8*l, d)
			large2 := kernel.BHLD(data[:2*large], 1, 1, 2, large)
			for _, c := range [][4]kernel.Tensor{
				{kernel.BHLD(make([]float32, 8*l*d), 1, 8, l, d), x, x, x},
				{kernel.BHLD(make([]float32, d), 1, 1, 1, d), one, keys, keys},
				{kernel.BHLD(make([]float32, 2*large), 1, 1, 2, large), large2, large2, large2},
			} {
				if err := kernel.Attention(c[0], c[1], c[2], c[3], &kernel.Options{Exec: kernel.Exec{Threads: threads}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestScratchMemoryComesBack after a burst: by itself, and at once by ReleaseMemory.
func TestScratchMemoryComesBack(t *testing.T) {
	contracttest.ForceThreads(t)
	kernel.ReleaseMemory()
	const slack = 256 << 10 // goroutines, profiles
	before := liveBytes(2)
	burst(t)
	after := liveBytes(1)
	if after-before < 4<<20 {
		t.Errorf("the burst has left %d KiB: the test shows nothing", (after-before)>>10)
	}
	if left := least(slack, func() int64 { return liveBytes(8) - before }); left > slack {
		t.Errorf("%d KiB are left after garbage collections, %d KiB after the burst", left>>10, (after-before)>>10)
	}
	burst(t)
	kernel.ReleaseMemory()
	if left := liveBytes(2) - before; left > slack {
		t.Errorf("%d KiB are left after ReleaseMemory", left>>10)
	}
}

// TestScratchMemoryShrinks: small calls do not keep what a large one has needed.
func TestScratchMemoryShrinks(t *testing.T) {
	contracttest.ForceThreads(t)
	kernel.ReleaseMemory()
	c := threadsCase()
	q, k, v := c.Inputs()
	out := c.Out()
	small := func() {
		if err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Threads: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	small()
	before := liveBytes(1)
	burst(t)
	const slack = 1 << 20
	left := least(slack, func() int64 {
		for range 10 {
			small()
			liveBytes(1)
		}
		return liveBytes(1) - before
	})
	if left > slack {
		t.Errorf("%d KiB more than before", left>>10)
	}
}

// TestReleaseMemoryDuringCalls: other goroutines may release memory at any time.
func TestReleaseMemoryDuringCalls(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, c := range []contracttest.Case{threadsCase(), splitCases()["decode"]} {
		q, k, v := c.Inputs()
		want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
		stop := make(chan bool)
		var other sync.WaitGroup
		other.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					kernel.ReleaseMemory()
					runtime.Gosched()
				}
			}
		})
		for i := range contracttest.Repeats(60) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1 + i%4}})
			contracttest.Same(t, "beside ReleaseMemory", &got, &want)
		}
		close(stop)
		other.Wait()
	}
}

// TestNoAllocationsBetweenCollections: garbage collections do not take what calls use.
func TestNoAllocationsBetweenCollections(t *testing.T) {
	contracttest.ForceThreads(t)
	c := splitCases()["decode"]
	q, k, v := c.Inputs()
	out := c.Out()
	call := func() {
		if err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Threads: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	testutil.CheckNoMallocs(t, "warm", 4, call)
	for range 12 {
		call()
		liveBytes(1)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<10 && !testutil.Race { // the runtime's own
		t.Errorf("%d bytes are allocated after garbage collections", n)
	}
}

// TestFirstRunOnMoreThreads: a call has made memory for all threads that the pool may give
// it, so that the first one that gets more of them allocates nothing.
func TestFirstRunOnMoreThreads(t *testing.T) {
	for name, c := range map[string]contracttest.Case{
		"tiles": {B: 1, H: 4, HKV: 2, Lq: 100, Lk: 500, D: 32, Dv: 32, Seed: 7},
		"split": splitCases()["decode"],
	} {
		for threads := 2; threads <= 4; threads++ {
			t.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(t *testing.T) { firstRun(t, &c, threads) })
		}
	}
}

// firstRun counts the allocations of the first call on so many threads, after one that was
// made on one thread as it is rare.
func firstRun(t *testing.T, c *contracttest.Case, threads int) {
	rare, often := contracttest.Tier(t, kernel.Tier{}), contracttest.Tier(t, kernel.Tier{})
	work := c.B * c.HKV * max(8, c.H/c.HKV*c.Lq) * c.Lk * (c.D + c.Dv)
	rare.ThreadFMAs, often.ThreadFMAs = 2*work, 1 // worth 1 thread if workers must be woken, else 5
	q, k, v := c.Inputs()
	out := c.Out()
	call := func(x *tier.Tier, threads int) {
		if err := kernel.Attention(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Tier: contracttest.Handle(x), Threads: threads}}); err != nil {
			t.Fatal(err)
		}
	}
	testutil.CheckNone(t, "allocations", func() uint64 {
		warm := false
		return testutil.CountMallocs(1, func() {
			if !warm {
				warm = true
				call(often, 4) // for workers
				kernel.ReleaseMemory()
				call(rare, 4)
			} else {
				call(often, threads)
			}
		})
	})
}

// TestScratchFitsTheNextCall: of two calls in a row, the second one finds room for its small pages,
// and for more scales in rows of pages and of lists.
func TestScratchFitsTheNextCall(t *testing.T) {
	c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 1, Lk: 48, D: 64, Dv: 64}
	q, k, v := c.Inputs()
	codes := make([]int8, c.Lk*c.D)
	for i := range codes {
		codes[i] = int8(7 * i)
	}
	paged := func(x kernel.Tensor, size int) kernel.Tensor {
		table := kernel.PageTable{Pages: make([][]int32, 1), Lengths: []int{c.Lk}}
		for page := range int32(c.Lk / size) {
			table.Pages[0] = append(table.Pages[0], page)
		}
		return x.Paged(&table)
	}
	floats := func(x kernel.Tensor, size int) kernel.Tensor {
		return paged(kernel.BHLD(contracttest.Floats(x), c.Lk/size, 1, size, c.D), size)
	}
	scaled := func(groups, pages int) kernel.Tensor {
		s := kernel.BHLD(testutil.Floats(c.Lk*groups), pages, 1, c.Lk/pages, groups)
		return kernel.BHLD(codes, pages, 1, c.Lk/pages, c.D).Scaled(&s)
	}
	list := kernel.Options{Scoring: kernel.Scoring{KeyRows: kernel.KeyRows{Rows: make([]int32, c.Lk), Shape: [4]int{1, 1, 1, c.Lk}}}}
	for i := range list.KeyRows.Rows {
		list.KeyRows.Rows[i] = int32(i)
	}
	type call struct {
		k, v kernel.Tensor
		o    kernel.Options
	}
	for name, calls := range map[string][2]call{
		"pages of k":            {{floats(k, 16), floats(v, 8), kernel.Options{}}, {floats(k, 8), floats(v, 16), kernel.Options{}}},
		"pages of v":            {{floats(k, 8), floats(v, 16), kernel.Options{}}, {floats(k, 8), floats(v, 8), kernel.Options{}}},
		"scales of small pages": {{paged(scaled(1, 6), 8), paged(scaled(1, 6), 8), kernel.Options{}}, {paged(scaled(1, 6), 8), paged(scaled(8, 6), 8), kernel.Options{}}},
		"scales of lists":       {{scaled(1, 1), scaled(1, 1), list}, {scaled(8, 1), scaled(1, 1), list}},
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				run := func(x *call) kernel.Tensor {
					x.o.Exec = kernel.Exec{Tier: tier, Threads: 1}
					return c.Run(t, q, x.k, x.v, x.o)
				}
				kernel.ReleaseMemory()
				want := run(&calls[1])
				kernel.ReleaseMemory()
				run(&calls[0])
				got := run(&calls[1])
				contracttest.Same(t, "the second call", &got, &want)
			})
		})
	}
}
