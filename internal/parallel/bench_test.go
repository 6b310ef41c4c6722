package parallel

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkRun runs as many tasks as there are threads, each of 2 µs. Where there are fewer
// processors than GOMAXPROCS, it shows what starting and ending a call costs, not what many
// threads gain.
//
// In the cases called parked, all workers are parked before each call. us-in-submit is how
// long the caller is busy with waking them.
func BenchmarkRun(b *testing.B) {
	for _, park := range []bool{false, true} {
		for _, procs := range []int{2, 4, 8, 16, 32, 64} {
			b.Run(fmt.Sprintf("parked=%v/threads=%d", park, procs), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				list := FreeList[int]{New: func() *int { return new(int) }}
				var g Group[int, int]
				g.Init(&list, func(*int) {}, func(*int, int) { busy(2 * time.Microsecond) })
				submitting := time.Duration(0)
				for range b.N {
					if park {
						b.StopTimer()
						for spinning.Load() > 0 {
							time.Sleep(20 * time.Microsecond)
						}
						b.StartTimer()
					}
					g.Run(procs, procs, Reserve[int]{}, func(int, func(int)) {
						began := time.Now()
						g.submit(procs - 1)
						submitting += time.Since(began)
					})
				}
				b.ReportMetric(float64(submitting.Nanoseconds())/1000/float64(b.N), "us-in-submit")
			})
		}
	}
}
