package batch

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Of two that always want to compute, each gets as much time, whatever the length of their turns.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		var wait sync.WaitGroup
		end := time.Now().Add(time.Minute)
		var inside int
		used := make([]time.Duration, 2)
		for i, length := range []time.Duration{10 * time.Millisecond, 80 * time.Millisecond} {
			turn := turns.Join()
			wait.Go(func() {
				for time.Now().Before(end) {
					turn.Do(func() bool {
						if inside++; inside != 1 {
							t.Error("two compute at once")
						}
						time.Sleep(length)
						inside--
						return true
					})
					used[i] += length
				}
				turn.Rest()
			})
		}
		wait.Wait()
		if d := used[0] - used[1]; d < -100*time.Millisecond || d > 100*time.Millisecond {
			t.Errorf("times %v, want them to be equal", used)
		}
		(*Turn)(nil).Do(func() bool { inside++; return false })
		(*Turn)(nil).Rest()
		if inside != 1 {
			t.Error("a nil Turn does not compute")
		}
		if turns.holder != nil {
			t.Error("a turn was not given back")
		}
	})
}

// Who begins while another one rests has not saved its time up: the other one gets every second
// turn.
func TestTurnsAfterRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		a, b := turns.Join(), turns.Join()
		step := func(more bool) func() bool {
			return func() bool { time.Sleep(time.Second); return more }
		}
		for i := range 3600 {
			a.Do(step(i < 3599))
		}
		b.Do(step(true))
		came := make(chan struct{})
		go func() {
			a.Do(step(false))
			close(came)
		}()
		synctest.Wait() // a waits
		steps := 0
		for ; len(turns.waiting) > 0; steps++ {
			b.Do(step(true))
		}
		b.Rest()
		<-came
		if steps > 2 {
			t.Errorf("the one that worked before waits for %d steps of the other one, want at most 2", steps)
		}
	})
}
