package kernel_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
)

// TestBubbles makes calls in bubbles of testing/synctest and outside, in turn and at once:
// the same bits everywhere, also where years pass between calls.
func TestBubbles(t *testing.T) {
	contracttest.ForceThreads(t)
	for name, c := range map[string]contracttest.Case{"tiles": threadsCase(), "split": splitCases()["decode"]} {
		t.Run(name, func(t *testing.T) {
			q, k, v := c.Inputs()
			want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
			check := func(t *testing.T, what string, exec kernel.Exec) {
				out := c.Out()
				opts := c.Options(kernel.Options{Exec: exec})
				if err := kernel.Attention(out, q, k, v, &opts); err != nil {
					t.Error(err)
				}
				if contracttest.Hash(&out) != contracttest.Hash(&want) {
					t.Errorf("%s: other bits", what)
				}
			}
			calls := func(t *testing.T, what string) {
				var all sync.WaitGroup
				for threads := 2; threads <= 4; threads++ {
					all.Go(func() {
						check(t, what, kernel.Exec{Threads: threads})
						time.Sleep(time.Microsecond)
						check(t, what+", own parallel-for", kernel.Exec{Threads: threads, ParallelFor: goroutines})
					})
				}
				all.Wait()
			}
			for range contracttest.Repeats(4) {
				calls(t, "outside")
				synctest.Test(t, func(t *testing.T) {
					calls(t, "in a bubble")
					time.Sleep(3 * 365 * 24 * time.Hour)
					synctest.Wait()
					calls(t, "years later")
				})
			}
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					synctest.Test(t, func(t *testing.T) {
						for range contracttest.Repeats(4) {
							calls(t, "bubbles at once")
						}
					})
				})
				all.Go(func() {
					for range contracttest.Repeats(4) {
						calls(t, "beside bubbles")
					}
				})
			}
			all.Wait()
		})
	}
}

// TestParallelForFromOutsideOfBubble: a call in a bubble may use goroutines that a program
// has started before, and a Score function may use channels of the bubble on those that
// the call starts.
func TestParallelForFromOutsideOfBubble(t *testing.T) {
	contracttest.ForceThreads(t)
	c := splitCases()["decode"]
	q, k, v := c.Inputs()
	want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
	work := make(chan func())
	defer close(work)
	for range 3 {
		go func() {
			for f := range work {
				f()
			}
		}()
	}
	outside := func(n int, task func(int)) {
		done := make(chan bool, n)
		begin := make(chan bool)
		for i := range n {
			go func() { // in the bubble
				<-begin
				task(i)
				done <- true
			}()
		}
		var busy [2]sync.Mutex // a bubble may wait for a mutex of what is outside
		for i := range busy {
			busy[i].Lock()
			work <- func() { // outside
				task(i)
				busy[i].Unlock()
			}
		}
		close(begin)
		for range n {
			<-done
		}
		for i := range busy {
			busy[i].Lock()
		}
	}
	for range contracttest.Repeats(50) {
		synctest.Test(t, func(t *testing.T) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 5, ParallelFor: outside}})
			contracttest.Same(t, "goroutines from outside", &got, &want)
			ticks := make(chan bool, 1)
			score := func(*kernel.ScoreTile) {
				ticks <- true
				time.Sleep(time.Second)
				<-ticks
			}
			got = c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 3}, Scoring: kernel.Scoring{Score: score}})
			contracttest.Same(t, "Score waits", &got, &want)
		})
	}
}
