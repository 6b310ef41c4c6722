//go:build moving

package kernel_test

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
)

// runCase is enough work for several threads on any tier.
func runCase() contracttest.Case {
	if testutil.Quick() {
		return contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 80, Lk: 330, D: 16, Dv: 16, Mask: kernel.Causal(300), Seed: 7}
	}
	return contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 200, Lk: 500, D: 32, Dv: 32, Mask: kernel.Causal(300), Seed: 7}
}

// quick tells that the tests may run on an emulator: -short, and no race
// detector, which is to see many calls meet.
func testutil.Quick() bool { return testing.Short() && !testutil.Race }

// repeats is how often a test does over what goes wrong rarely, if ever: n
// times, and a few when quick.
func contracttest.Repeats(n int) int {
	if testutil.Quick() {
		return max(n/6, 2)
	}
	return n
}

// TestRun takes programs' parallel-fors, good and bad ones: the result is there
// when the call returns, with the same bits.
func TestRun(t *testing.T) {
	c := runCase()
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
	c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: "generic", Threads: 3, ParallelFor: func(m int, task func(int)) { n = m; task(0); task(1); task(2) }}})
	if n != 3 {
		t.Errorf("Run was called for %d tasks, want Threads, 3", n)
	}
}

// TestLateTask calls the task of a call that is over all the time, against the
// rules of Options.Run, while other calls use the same job: no harm is done.
func TestLateTask(t *testing.T) {
	c := runCase()
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
	cs := []contracttest.Case{runCase(), {B: 2, H: 2, HKV: 1, Lq: 5, Lk: 40, D: 80, Dv: 8, Seed: 9}, {B: 1, H: 3, HKV: 3, Lq: 70, Lk: 70, D: 16, Dv: 40, Mask: kernel.Causal(0), Seed: 10}}
	var wg sync.WaitGroup
	for x := range cs {
		q, k, v := cs[x].Inputs()
		want := cs[x].Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
		for g := range 4 {
			wg.Go(func() {
				for range contracttest.Repeats(8) {
					out := cs[x].Tensor(cs[x].B, cs[x].H, cs[x].Lq, cs[x].Dv, contracttest.Canary)
					if err := kernel.Attention(out, q, k, v, kernel.Options{Scale: cs[x].Scale, Mask: cs[x].Mask, Exec: kernel.Exec{Threads: 1 + g}}); err != nil {
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

// TestNoGoroutineLeft counts goroutines after calls on many threads, and those that are
// said to be awake.
func TestNoGoroutineLeft(t *testing.T) {
	c := runCase()
	q, k, v := c.Inputs()
	before := runtime.NumGoroutine() // perhaps some of other tests among them
	for range contracttest.Repeats(10) {
		c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 8}})
	}
	for range 1000 { // they stay a moment
		if runtime.NumGoroutine() <= before && ready.Load() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after, %d ready", before, runtime.NumGoroutine(), ready.Load())
}

// TestNoAllocations: a warm call allocates nothing, on any tier, alone, on
// threads or on the program's own.
func TestNoAllocations(t *testing.T) {
	if testutil.Race {
		t.Skip("the race detector allocates")
	}
	c := runCase()
	q, k, v := c.Inputs()
	out := c.Tensor(1, c.H, c.Lq, c.Dv, 0)
	serial := func(n int, task func(int)) {
		for i := range n {
			task(i)
		}
	}
	lengths := []int{320}
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		for name, o := range map[string]kernel.Options{
			"one thread":   {Threads: 1},
			"two threads":  {Threads: 2},
			"own parallel": {Threads: 2, Run: serial},
			"lengths":      {Threads: 1, Mask: kernel.KeyLengths(lengths)},
		} {
			o.Tier = tier
			mask := o.Mask
			if n := warmAllocs(contracttest.Repeats(20), func() {
				o.Mask = kernel.Causal(300).And(mask)
				if err := kernel.Attention(out, q, k, v, o); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s: %v allocations per call", name, n)
			}
		}
	})
}

// TestWorkspaceBound: the workspace does not grow with the lengths.
func TestWorkspaceBound(t *testing.T) {
	eachTier(t, func(t *testing.T, tr *tier) {
		size := func(l int) int {
			j := newJob()
			c := contracttest.Case{B: 1, H: 1, HKV: 1, Lq: l, Lk: l, D: 8, Dv: 8}
			q, k, v := c.Inputs()
			j.problem = problem{out: c.Tensor(1, 1, l, 8, 0), q: q, k: k, v: v, group: 1, Scale: 1}
			j.plan(tr, 1)
			var w workspace
			w.fit(j)
			n := len(w.scores)
			for i := range w.panels {
				n += len(w.panels[i].q) + len(w.panels[i].o) + len(w.panels[i].stats)
			}
			return n
		}
		if a, b := size(2000), size(20000); a != b {
			t.Errorf("%d floats of workspace for length 2000, %d for 20000", a, b)
		}
	})
}

// TestTierVariable makes the first call of a program anew with every value of
// ATTN_TIER: the empty one, those of this build and one that no build knows.
func TestTierVariable(t *testing.T) {
	defer func(f func() (*tier, error)) { defaultTier = f }(defaultTier)
	start := func(value string) (string, error) {
		t.Setenv("ATTN_TIER", value)
		defaultTier = sync.OnceValues(chooseTier)
		out, q, k, v := good()
		err := kernel.Attention(out, q, k, v, kernel.Options{})
		if e := kernel.Attention(out, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: "generic"}}); e != nil {
			t.Errorf("ATTN_TIER=%s: a call that names its tier: %v", value, e)
		}
		t.Setenv("ATTN_TIER", "changed later")
		for _, info := range kernel.Tiers() {
			if info.Default {
				return info.Name, err
			}
		}
		return "", err
	}
	refused := func(value, why string) {
		def, err := start(value)
		var te *kernel.TierError
		if !errors.As(err, &te) || def != "" || !strings.Contains(err.Error(), fmt.Sprintf("ATTN_TIER: tier %q: %s", value, why)) {
			t.Errorf("ATTN_TIER=%s: default %q, error %v; want none and a TierError: %s", value, def, err, why)
		}
	}
	chosen := func(value, want string) {
		if def, err := start(value); err != nil || def != want {
			t.Errorf("ATTN_TIER=%s: default %q, error %v; want %q", value, def, err, want)
		}
	}
	best := ""
	for _, info := range kernel.Tiers() {
		if info.Runs {
			chosen(info.Name, info.Name)
			best = cmp.Or(best, info.Name)
		} else {
			refused(info.Name, "cannot run: "+info.Reason)
		}
	}
	chosen("", best)
	refused("sse9", "unknown")
}
