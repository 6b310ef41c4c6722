package parallel

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attn-go/attn/internal/testutil"
)

const year = 365 * 24 * time.Hour

// TestInBubble: bubbles are recognized, whatever their clocks show.
func TestInBubble(t *testing.T) {
	if InBubble() {
		t.Error("no bubble")
	}
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			if !InBubble() {
				t.Errorf("a bubble is not recognized at %v", time.Now())
			}
			time.Sleep(year)
		}
	})
}

// TestBubbles makes calls of the same group in bubbles and outside, one after the other.
// All threads take part.
func TestBubbles(t *testing.T) {
	const threads = 4
	c := newCall()
	all := testutil.NewBarrier(threads)
	c.during = func(int) { all.Wait() }
	for i := range repeats(50) {
		c.run(t, "outside", threads, threads, 0, nil)
		synctest.Test(t, func(t *testing.T) {
			for range 3 {
				c.run(t, "in a bubble", threads, threads, 0, nil)
				time.Sleep(year)
				c.run(t, "in a bubble, own parallel-for", 3*threads, threads, 0, concurrentFor)
				synctest.Wait()
			}
		})
		if i%2 == 0 {
			waitParked()
		}
	}
}

// TestBubblesAtOnce makes calls in several bubbles and outside at once.
func TestBubblesAtOnce(t *testing.T) {
	calls := func(t *testing.T, pause time.Duration) {
		c := newCall()
		for i := range repeats(300) {
			c.run(t, "at once", i%20, 1+i%4, 0, nil)
			Threads(4, 1, 4)
			time.Sleep(pause)
		}
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			synctest.Test(t, func(t *testing.T) {
				var inside sync.WaitGroup
				for range 2 {
					inside.Go(func() { calls(t, year/100) })
				}
				inside.Wait()
			})
		})
		all.Go(func() { calls(t, time.Microsecond) })
	}
	all.Wait()
	waitParked()
}

// TestTasksSleepInBubble: a task may wait for the clock of the bubble, or for another
// goroutine there. The clock goes on.
func TestTasksSleepInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := newCall()
		wake := make(chan bool)
		c.during = func(task int) {
			if time.Sleep(time.Hour); task%2 == 0 {
				<-wake
			}
		}
		go func() {
			time.Sleep(5 * time.Hour)
			for range 4 {
				wake <- true
			}
		}()
		c.run(t, "tasks sleep", 8, 4, 0, nil)
		if d := time.Since(begin); d < 5*time.Hour || d > 8*time.Hour {
			t.Errorf("the call took %v", d)
		}
	})
}

// TestTaskPanicsInBubble: the call ends as outside of a bubble.
func TestTaskPanicsInBubble(t *testing.T) {
	for bad := range 8 {
		synctest.Test(t, func(t *testing.T) {
			f := newFailing(func(task int) {
				if task == bad {
					panic("planted")
				}
			})
			if value, returned := f.run(1000, 4, nil); returned || value == nil {
				t.Errorf("Run returned (%v) or panicked with %v", returned, value)
			}
			if n := f.inside.Load(); n != 0 {
				t.Errorf("%d goroutines were inside a task after Run", n)
			}
		})
	}
}

// TestPoolIsLeftAloneInBubble: a call in a bubble neither wakes nor uses a worker.
func TestPoolIsLeftAloneInBubble(t *testing.T) {
	emptyPool(t)
	synctest.Test(t, func(t *testing.T) {
		c := newCall()
		for range 100 {
			c.run(t, "in a bubble", 10, 4, 0, nil)
			if n, _, _ := Threads(8, 2, 8); n != 2 {
				t.Errorf("Threads returns %d in a bubble, want 2", n)
			}
		}
	})
	if n := len(workers.list()); n > 0 || spinning.Load() > 0 {
		t.Errorf("%d workers, %d spin", n, spinning.Load())
	}
}
