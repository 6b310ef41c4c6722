package kernel_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestSplit: each number is in one range, on any threads.
func TestSplit(t *testing.T) {
	for _, e := range []kernel.Exec{{Threads: 1}, {Threads: 3}, {}, {Threads: 3, ParallelFor: func(n int, task func(int)) {
		for i := range n {
			task(n - 1 - i)
		}
	}}} {
		for _, n := range []int{0, 1, 2, 7, 64, 1000} {
			for _, numbers := range []int{0, 1 << 30} {
				done := make([]atomic.Int32, n)
				if err := e.Split(n, numbers, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						done[i].Add(1)
					}
				}); err != nil {
					t.Fatal(err)
				}
				for i := range done {
					if k := done[i].Load(); k != 1 {
						t.Fatalf("%d threads, n = %d, %d numbers: %d is done %d times", e.Threads, n, numbers, i, k)
					}
				}
			}
		}
	}
}

// TestSplitRanges: few numbers are one range, and many are several.
func TestSplitRanges(t *testing.T) {
	for numbers, several := range map[int]bool{10: false, 1 << 30: true} {
		var ranges atomic.Int32
		if err := (kernel.Exec{Threads: 2}).Split(100, numbers, func(lo, hi int) { ranges.Add(1) }); err != nil {
			t.Fatal(err)
		}
		if n := ranges.Load(); (n > 1) != several {
			t.Errorf("%d numbers are %d ranges", numbers, n)
		}
	}
}

// TestSplitErrors: bad arguments are errors, and nothing is done.
func TestSplitErrors(t *testing.T) {
	never := func(lo, hi int) { t.Error("it is called") }
	for name, err := range map[string]error{
		"e.Threads": kernel.Exec{Threads: -1}.Split(1, 1, never),
		"n":         kernel.Exec{}.Split(-1, 1, never),
		"numbers":   kernel.Exec{}.Split(1, -1, never),
		"do":        kernel.Exec{}.Split(1, 1, nil),
	} {
		var e *kernel.Error
		if !errors.As(err, &e) || e.Where != "kernel.Exec.Split: "+name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSplitPanics: a panic of any range is the caller's.
func TestSplitPanics(t *testing.T) {
	for _, threads := range []int{1, 3} {
		for bad := range 3 {
			got := func() (got any) {
				defer func() { got = recover() }()
				return kernel.Exec{Threads: threads}.Split(3, 1<<30, func(lo, hi int) {
					if lo <= bad && bad < hi {
						panic("bad")
					}
				})
			}()
			if p, other := got.(*kernel.TaskPanic); got != "bad" && (!other || p.Value != "bad") {
				t.Errorf("%d threads, %d panics: %v", threads, bad, got)
			}
		}
	}
}

// TestSplitAllocations: a warm call allocates nothing.
func TestSplitAllocations(t *testing.T) {
	x := make([]float32, 300)
	do := func(lo, hi int) { clear(x[lo:hi]) }
	for _, threads := range []int{1, 2} {
		checkNoAllocs(t, "Split", func() error { return kernel.Exec{Threads: threads}.Split(len(x), 1<<30, do) })
	}
	if slices.Max(x) != 0 {
		t.Error("the numbers are not cleared")
	}
}
