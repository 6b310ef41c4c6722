package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCrew has calls of all sizes done by crews at once: each task is done once, by no more
// workers than there are threads, and when run returns nobody is at work.
func TestCrew(t *testing.T) {
	var wg sync.WaitGroup
	for first := range 4 {
		wg.Go(func() {
			var c crew[int64]
			var scratch [4]int64
			var tasks [20]atomic.Int64
			var busy, limit, over atomic.Int64
			c.staff(func(n int) *int64 { return &scratch[n] }, func(w *int64, task int) {
				if busy.Add(1) > limit.Load() {
					over.Add(1)
				}
				*w++ // the race detector sees who shares it
				tasks[task].Add(1)
				busy.Add(-1)
			})
			for i := range repeats(2000) {
				n, threads := (first+i)%len(tasks), 1+i%len(scratch)
				limit.Store(int64(threads))
				c.run(n, threads, nil)
				if over.Load() > 0 || busy.Load() != 0 {
					t.Errorf("%d threads: more at work %d times, %d at the end", threads, over.Swap(0), busy.Load())
				}
				for task := range tasks {
					if done := tasks[task].Swap(0); (task < n) != (done == 1) || done > 1 {
						t.Errorf("task %d of %d was done %d times", task, n, done)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestLateHelper: a call whose tasks are done waits for a helper that has begun and not yet
// looked for one. The next call's workers are its own.
func TestLateHelper(t *testing.T) {
	var c crew[int]
	var scratch int
	c.staff(func(int) *int { return &scratch }, func(*int, int) {})
	begun, do := make(chan bool), c.errand.do
	var looks atomic.Bool
	c.errand.do = func() {
		begun <- true
		time.Sleep(10 * linger) // as one that has lost its processor
		looks.Store(true)
		do()
	}
	c.run(1, 2, func(int, func(int)) {
		c.send()
		<-begun
	})
	if !looks.Load() {
		t.Error("the call is over, and a helper of it is not")
		c.errand.ends.Wait()
	}
}

// TestTeam: small calls wake nobody, unless they come again and again.
func TestTeam(t *testing.T) {
	for _, c := range []struct {
		threads         int
		alone, together float64
		least, most     int
	}{
		{1, 9, 90, 1, 1},
		{4, 9, 90, 4, 4},
		{4, 3.5, 3.9, 3, 3},
		{4, 0, 1, 1, 1},
		{4, 0, 1e300, 1, 4},
		{4, 2, 3, 2, 3},
	} {
		if n := team(c.threads, c.alone, c.together); n < c.least || n > c.most {
			t.Errorf("team(%d, %g, %g) = %d, want %d to %d", c.threads, c.alone, c.together, n, c.least, c.most)
		}
	}
	if runtime.NumCPU() == 1 {
		return // a helper would only be in the way
	}
	for range 1000 {
		smallCalls.until.Store(0)
		if team(2, 1, 2) == 2 {
			return
		}
	}
	t.Error("frequent calls have woken no helper")
}

// TestRhythm: what happens twice in a moment is frequent, and a crowd is over some time.
func TestRhythm(t *testing.T) {
	var r rhythm
	r.last.Store(-2 * int64(linger))
	frequent := false
	for range 1000 {
		frequent = frequent || r.frequent()
	}
	if !frequent {
		t.Error("1000 times at once are not frequent")
	}
	if r.crowded() {
		t.Error("a crowd from the start")
	}
	if r.crowd(time.Hour); !r.crowded() {
		t.Error("no crowd after one")
	}
	if r.crowd(-1); r.crowded() {
		t.Error("a crowd for ever")
	}
}
