package parallel

import (
	"testing"
	"time"
)

// TestJobWaits until all have left, whether it spins or is parked, and whoever leaves first.
func TestJobWaits(t *testing.T) {
	j := newJob(nil)
	for i := range repeats(300) {
		var left [3]time.Duration // each written before its leave
		began := time.Now()
		j.inside.Add(int64(len(left)))
		for x := range left {
			go func() {
				busy(time.Duration(i*x) * DefaultSpin / 50)
				left[x] = time.Since(began) + 1
				j.leave()
			}()
		}
		j.wait()
		for x, d := range left {
			if d == 0 {
				t.Fatalf("goroutine %d was still inside", x)
			}
		}
	}
	waitFor(func() bool { return !j.parked.Load() && !j.sem.TryLock() })
}

// TestJobIsWokenTooSoon: a goroutine that has left an earlier call finds the caller parked
// in the next one.
func TestJobIsWokenTooSoon(t *testing.T) {
	j := newJob(nil)
	left := false
	j.inside.Store(1)
	go func() {
		for !j.parked.Load() {
			time.Sleep(10 * time.Microsecond)
		}
		for range 3 {
			if j.parked.CompareAndSwap(true, false) { // as leave does when it was 0 inside
				j.sem.Unlock()
			}
			time.Sleep(100 * time.Microsecond)
		}
		left = true
		j.leave()
	}()
	if j.wait(); !left {
		t.Error("the caller has not waited")
	}
}
