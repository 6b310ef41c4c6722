package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// threadsCase has query tiles for several threads on any tier.
func threadsCase() contracttest.Case {
	if testutil.Quick() {
		return contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 80, Lk: 330, D: 16, Dv: 16, Mask: contracttest.Causal(300), Seed: 7}
	}
	return contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 200, Lk: 500, D: 32, Dv: 32, Mask: contracttest.Causal(300), Seed: 7}
}

// someThreads are how many threads to make a call with: 1 and 3, or either of them for each case if
// tests are quick.
func someThreads(c contracttest.Case) []int {
	threads := []int{1, 3}
	if testutil.Quick() {
		return threads[c.Seed%2:][:1]
	}
	return threads
}

// TestParallelFor takes programs' parallel-fors, good and bad ones: the result is there
// when the call returns, with the same bits.
func TestParallelFor(t *testing.T) {
	contracttest.ForceThreads(t)
	c := threadsCase()
	q, k, v := c.Inputs()
	want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
	runs := map[string]func(n int, task func(int)){
		"one after the other": func(n int, task func(int)) {
			for i := range n {
				task(i)
			}
		},
		"at once": func(n int, task func(int)) {
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() { task(i) })
			}
			wg.Wait()
		},
		"skips all": func(n int, task func(int)) {},
		"returns early": func(n int, task func(int)) {
			for i := range n {
				go task(i)
			}
		},
	}
	for name, run := range runs {
		for range contracttest.Repeats(20) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 4, ParallelFor: run}})
			contracttest.Same(t, name, &got, &want)
		}
	}
	var kept []func(int)
	for range 20 {
		got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 4, ParallelFor: func(n int, task func(int)) {
			for _, late := range kept { // of calls that are over, or of this one
				late(0)
			}
			task(0)
			kept = append(kept, task)
		}}})
		contracttest.Same(t, "keeps task", &got, &want)
		kept[0](1)
	}
	n := 0
	c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: contracttest.Generic(), Threads: 3, ParallelFor: func(m int, task func(int)) { n = m; task(0); task(1); task(2) }}})
	if n != 3 {
		t.Errorf("ParallelFor was called for %d tasks, want Threads, 3", n)
	}
}

// TestLateTask calls the task of a call that is over all the time, against the rules of
// Exec.ParallelFor, while other calls are made: no harm is done.
func TestLateTask(t *testing.T) {
	contracttest.ForceThreads(t)
	c := threadsCase()
	q, k, v := c.Inputs()
	want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
	var late func(int)
	c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 4, ParallelFor: func(n int, task func(int)) { late = task }}})
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			late(0)
			runtime.Gosched() // where there is one thread, it is for the calls too
		}
	})
	for i := range contracttest.Repeats(40) {
		got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1 + i%3}})
		contracttest.Same(t, "with a late task", &got, &want)
	}
	stop.Store(true)
	wg.Wait()
}

// TestConcurrentCalls makes calls of several shapes from many goroutines.
func TestConcurrentCalls(t *testing.T) {
	contracttest.ForceThreads(t)
	cs := []contracttest.Case{threadsCase(), {B: 2, H: 2, HKV: 1, Lq: 5, Lk: 40, D: 80, Dv: 8, Seed: 9}, {B: 1, H: 3, HKV: 3, Lq: 70, Lk: 70, D: 16, Dv: 40, Mask: contracttest.Causal(0), Seed: 10}}
	var wg sync.WaitGroup
	for x := range cs {
		q, k, v := cs[x].Inputs()
		want := cs[x].Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
		for g := range 4 {
			wg.Go(func() {
				for range contracttest.Repeats(8) {
					out := cs[x].Out()
					opts := cs[x].Options(kernel.Options{Exec: kernel.Exec{Threads: 1 + g}})
					if err := kernel.Attention(out, q, k, v, &opts); err != nil {
						t.Error(err)
					}
					if contracttest.Hash(&out) != contracttest.Hash(&want) {
						t.Errorf("%v differs", cs[x])
					}
				}
			})
		}
	}
	wg.Wait()
}

// TestNoGoroutineIsLeft counts goroutines after calls on many threads.
func TestNoGoroutineIsLeft(t *testing.T) {
	contracttest.ForceThreads(t)
	c := threadsCase()
	q, k, v := c.Inputs()
	before := runtime.NumGoroutine() // perhaps some of other tests among them
	for range contracttest.Repeats(10) {
		c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 8}})
	}
	for runtime.NumGoroutine() > before { // workers spin for a moment; go test ends a test that hangs
		time.Sleep(time.Millisecond)
	}
}

// splitCases have fewer query tiles than threads, and several blocks of keys.
func splitCases() map[string]contracttest.Case {
	return map[string]contracttest.Case{
		"decode":          {B: 1, H: 4, HKV: 1, Lq: 1, Lk: 2100, D: 16, Dv: 12, Seed: 41},
		"few":             {B: 1, H: 3, HKV: 1, Lq: 5, Lk: 1027, D: 20, Dv: 24, Mask: contracttest.Causal(1022), Seed: 42},
		"window":          {B: 1, H: 2, HKV: 2, Lq: 3, Lk: 1500, D: 8, Dv: 8, Mask: contracttest.Causal(1300).And(contracttest.Window(600, -1)), Seed: 43},
		"wide":            {B: 1, H: 1, HKV: 1, Lq: 90, Lk: 1600, D: 8, Dv: 16, Mask: contracttest.Causal(1510), Seed: 44},
		"lengths":         {B: 5, H: 1, HKV: 1, Lq: 1, Lk: 1800, D: 12, Dv: 12, Mask: contracttest.KeyLengths([]int{3, 1800, 0, 700, 255}), Seed: 45},
		"long and longer": {B: 4, H: 2, HKV: 2, Lq: 1, Lk: 1500, D: 8, Dv: 8, Mask: contracttest.KeyLengths([]int{1500, 600, 1300, 600}), Seed: 49},
		"two rows":        {B: 1, H: 1, HKV: 1, Lq: 2, Lk: 513, D: 4, Dv: 4, Mask: contracttest.QueryLengths([]int{1}), Seed: 46},
		"sparse": {B: 1, H: 1, HKV: 1, Lq: 6, Lk: 1280, D: 4, Dv: 4, Seed: 47,
			Mask: contracttest.BlockSparse([]bool{true, false, false, true, false, false, false, false, true, false}, 3, 256)},
	}
}

// TestSplitKV spreads the key blocks of query tiles over threads: the bits are as on one thread.
// There are more tasks than tiles, which shows that blocks are spread.
func TestSplitKV(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	for name, c := range splitCases() {
		t.Run(name, func(t *testing.T) {
			q, k, v := c.Inputs()
			want := c.Contract(q, k, v)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				step := 1
				if testutil.Thin() {
					step = 3
				}
				for threads := 1; threads <= 9; threads += step {
					for range contracttest.Repeats(10) {
						got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
						contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
					}
				}
				var own parallelFor
				got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 64, ParallelFor: own.run}})
				contracttest.Same(t, "own parallel-for", &got, &want)
				narrow := contracttest.Tier(t, tier)
				lanes := narrow.Narrowest()
				if tiles := c.B * c.HKV * ints.CeilDiv(c.H/c.HKV*c.Lq, lanes); own.n <= tiles {
					t.Errorf("%d tasks for at most %d tiles: none is split", own.n, tiles)
				}
			})
		})
	}
}

// TestSplitKVOptions makes the calls of TestOptions on as many threads as can be.
func TestSplitKVOptions(t *testing.T) {
	contracttest.ForceThreads(t)
	eachOptionCase(func(n int, c *optionCase) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := c.options()
			o.Threads = 2 + n%8
			c.compare(t, o)
		})
	})
}

// TestSplitKVParallelFor takes programs' parallel-fors for split tiles: also tasks that
// are done one after the other, on one goroutine, come to an end.
func TestSplitKVParallelFor(t *testing.T) {
	contracttest.ForceThreads(t)
	c := splitCases()["decode"]
	q, k, v := c.Inputs()
	want := c.Contract(q, k, v)
	for name, run := range map[string]func(n int, task func(int)){
		"one after the other": func(n int, task func(int)) {
			for i := range n {
				task(i)
			}
		},
		"more often than asked": func(n int, task func(int)) {
			var wg sync.WaitGroup
			for i := range 3 * n {
				wg.Go(func() { task(i % n) })
			}
			wg.Wait()
		},
		"late": func(n int, task func(int)) {
			for i := range n {
				go task(i)
			}
		},
		"never": func(int, func(int)) {},
	} {
		for range contracttest.Repeats(40) {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 5, ParallelFor: run}})
			contracttest.Same(t, name, &got, &want)
		}
	}
}

// TestSplitKVNaN: rows of split tiles that meet a NaN are NaN if they see it, and not if
// they do not.
func TestSplitKVNaN(t *testing.T) {
	contracttest.ForceThreads(t)
	c := splitCases()["few"]
	for _, key := range []int{0, 300, 1022, 1024, 1026} {
		q, k, v := c.Inputs()
		contracttest.Row(&v, 0, 0, key)[3] = testutil.NaN
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for threads := 1; threads <= 4; threads++ {
				got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
				contracttest.Same(t, fmt.Sprintf("key %d, threads=%d", key, threads), &got, &want)
			}
		})
	}
}

// TestSplitKVAccumulate carries a state from chunk to chunk, the blocks of each on several
// threads.
func TestSplitKVAccumulate(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 2048, D: 16, Dv: 12, Seed: 48}
	q, k, v := c.Inputs()
	want := c.Contract(q, k, v)
	state := contracttest.NewPartials(1, 1, 4, 1, c.Dv)
	for _, part := range [][2]int{{0, 1024}, {1024, 2048}} {
		o := kernel.Options{Exec: kernel.Exec{Threads: 3}, Scoring: kernel.Scoring{KeyStart: []int{part[0]}}}
		if err := kernel.AccumulatePartials(state, q, contracttest.Rows(k, part[0], part[1]), contracttest.Rows(v, part[0], part[1]), contracttest.PartialOptions(o)); err != nil {
			t.Fatal(err)
		}
	}
	got := c.Tensor(1, c.H, c.Lq, c.Dv, contracttest.Canary)
	if err := kernel.MergePartials(got, []kernel.Partials{*state}, kernel.MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	contracttest.Same(t, "chunks", &got, &want)
}

var errPlanted = errors.New("planted")

// panicCall is a call with many tiles, or with split-KV, and a Score function.
type panicCall struct {
	name   string
	lq, lk int
}

var panicCalls = []panicCall{{"tiles", 512, 512}, {"split-KV", 1, 64 * 256}}

func (c panicCall) run(score func(*kernel.ScoreTile), exec kernel.Exec) (out []float32, value any, returned bool) {
	const heads, d = 2, 64
	out = make([]float32, heads*c.lq*d)
	q, kv := testutil.Floats(heads*c.lq*d), testutil.Floats(heads*c.lk*d)
	var ended sync.WaitGroup
	ended.Go(func() {
		defer func() { value = recover() }()
		kv := kernel.BHLD(kv, 1, heads, c.lk, d)
		err := kernel.Attention(kernel.BHLD(out, 1, heads, c.lq, d), kernel.BHLD(q, 1, heads, c.lq, d), kv, kv, &kernel.Options{Exec: exec, Scoring: kernel.Scoring{Score: score}})
		if err != nil {
			panic(err)
		}
		returned = true
	})
	ended.Wait()
	return out, value, returned
}

// TestScorePanics: a panic in Options.Score, on any goroutine, ends the call with that
// panic, and when it has ended nothing writes to out any more. The next call has the right
// bits.
func TestScorePanics(t *testing.T) {
	for _, c := range panicCalls {
		t.Run(c.name, func(t *testing.T) {
			want, _, _ := c.run(func(*kernel.ScoreTile) {}, kernel.Exec{Threads: 1})
			for _, parallelFor := range []func(int, func(int)){nil, goroutines} {
				for at := range int64(12) {
					var calls, inside atomic.Int64
					exec := kernel.Exec{Threads: 4, ParallelFor: parallelFor}
					out, value, returned := c.run(func(*kernel.ScoreTile) {
						inside.Add(1)
						defer inside.Add(-1)
						if calls.Add(1) == at+1 {
							panic(errPlanted)
						}
					}, exec)
					if err, ok := value.(error); returned || !ok || !errors.Is(err, errPlanted) {
						t.Fatalf("call %d of Score: Attention returned (%v) or panicked with %v", at, returned, value)
					}
					if n := inside.Load(); n != 0 {
						t.Fatalf("%d calls of Score were running when Attention had ended", n)
					}
					before := slices.Clone(out)
					time.Sleep(200 * time.Microsecond)
					if !sameBits(out, before) {
						t.Fatal("out was written to after Attention had ended")
					}
					if got, _, _ := c.run(func(*kernel.ScoreTile) {}, exec); !sameBits(got, want) {
						t.Fatal("the next call has other bits")
					}
				}
			}
		})
	}
}

// TestScoreGoexit: a Score function that ends its goroutine ends the goroutine of the call.
func TestScoreGoexit(t *testing.T) {
	for _, c := range panicCalls {
		for at := range int64(8) {
			var calls atomic.Int64
			_, value, returned := c.run(func(*kernel.ScoreTile) {
				if calls.Add(1) == at+1 {
					runtime.Goexit()
				}
			}, kernel.Exec{Threads: 4})
			if value != nil || returned {
				t.Fatalf("%s: Attention returned (%v) or panicked with %v", c.name, returned, value)
			}
		}
	}
}

// TestParallelForPanics: the call panics with the value itself.
func TestParallelForPanics(t *testing.T) {
	for _, c := range panicCalls {
		_, value, _ := c.run(nil, kernel.Exec{Threads: 4, ParallelFor: func(n int, task func(int)) {
			for i := range n {
				go task(i)
			}
			panic(errPlanted)
		}})
		if value != errPlanted {
			t.Fatalf("%s: Attention panicked with %v", c.name, value)
		}
	}
}

// goroutines is a parallel-for with a goroutine for each task.
func goroutines(n int, task func(int)) {
	var ended sync.WaitGroup
	for i := range n {
		ended.Go(func() { task(i) })
	}
	ended.Wait()
}

func sameBits(x, y []float32) bool {
	return slices.EqualFunc(x, y, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
