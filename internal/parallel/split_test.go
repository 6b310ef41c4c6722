package parallel

import (
	"sync/atomic"
	"testing"
)

// TestSplit: each thing is in exactly one range, whatever the work and the threads.
func TestSplit(t *testing.T) {
	var s Split[int, int]
	list := FreeList[int]{New: func() *int { return new(int) }}
	var seen [1000]atomic.Int32
	s.Init(&list, nil, func(_ *int, lo, hi int) {
		for i := lo; i < hi; i++ {
			seen[i].Add(1)
		}
	}, nil)
	for _, n := range []int{0, 1, 2, 7, 64, 1000} {
		for _, work := range []float64{0, 1, 100} {
			for threads := range 5 {
				before := make([]int32, len(seen))
				for i := range seen {
					before[i] = seen[i].Load()
				}
				s.Run(n, work, 0, threads, nil)
				for i := range seen {
					want := before[i]
					if i < n {
						want++
					}
					if got := seen[i].Load(); got != want {
						t.Fatalf("n=%d work=%v threads=%d: thing %d was done %d times", n, work, threads, i, got-before[i])
					}
				}
			}
		}
	}
}
