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
