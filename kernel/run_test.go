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
func runCase() attnCase {
	if quick() {
		return attnCase{b: 1, h: 4, hkv: 2, lq: 80, lk: 330, d: 16, dv: 16, mask: kernel.Causal(300), seed: 7}
	}
	return attnCase{b: 1, h: 4, hkv: 2, lq: 200, lk: 500, d: 32, dv: 32, mask: kernel.Causal(300), seed: 7}
}

// quick tells that the tests may run on an emulator: -short, and no race
// detector, which is to see many calls meet.
func quick() bool { return testing.Short() && !raceEnabled }

// repeats is how often a test does over what goes wrong rarely, if ever: n
// times, and a few when quick.
func repeats(n int) int {
	if quick() {
		return max(n/6, 2)
	}
	return n
}

// TestRun takes programs' parallel-fors, good and bad ones: the result is there
// when the call returns, with the same bits.
func TestRun(t *testing.T) {
	c := runCase()
	q, k, v := c.inputs()
	want := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
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
		for range repeats(20) {
			got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 4, ParallelFor: run}})
			same(t, name, &got, &want)
		}
	}
	var kept []func(int)
	for range 20 {
		got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 4, ParallelFor: func(n int, task func(int)) {
			for _, late := range kept { // of calls that are over, or of this one
				late(0)
			}
			task(0)
			kept = append(kept, task)
		}}})
		same(t, "keeps task", &got, &want)
		kept[0](1)
	}
	n := 0
	c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: "generic", Threads: 3, ParallelFor: func(m int, task func(int)) { n = m; task(0); task(1); task(2) }}})
	if n != 3 {
		t.Errorf("Run was called for %d tasks, want Threads, 3", n)
	}
}

// TestLateTask calls the task of a call that is over all the time, against the
// rules of Options.Run, while other calls use the same job: no harm is done.
func TestLateTask(t *testing.T) {
	c := runCase()
	q, k, v := c.inputs()
	want := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
	var late func(int)
	c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 4, ParallelFor: func(n int, task func(int)) { late = task }}})
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			late(0)
			runtime.Gosched() // where there is one thread, it is for the calls too
		}
	})
	for i := range repeats(40) {
		got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1 + i%3}})
		same(t, "with a late task", &got, &want)
	}
	stop.Store(true)
	wg.Wait()
}

// TestConcurrentCalls makes calls of several shapes from many goroutines.
func TestConcurrentCalls(t *testing.T) {
	cs := []attnCase{runCase(), {b: 2, h: 2, hkv: 1, lq: 5, lk: 40, d: 80, dv: 8, seed: 9}, {b: 1, h: 3, hkv: 3, lq: 70, lk: 70, d: 16, dv: 40, mask: kernel.Causal(0), seed: 10}}
	var wg sync.WaitGroup
	for x := range cs {
		q, k, v := cs[x].inputs()
		want := cs[x].run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 1}})
		for g := range 4 {
			wg.Go(func() {
				for range repeats(8) {
					out := cs[x].tensor(cs[x].b, cs[x].h, cs[x].lq, cs[x].dv, canary)
					if err := kernel.Attention(out, q, k, v, kernel.Options{Scale: cs[x].scale, Mask: cs[x].mask, Exec: kernel.Exec{Threads: 1 + g}}); err != nil {
						t.Error(err)
					}
					if hash(&out) != hash(&want) {
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
	q, k, v := c.inputs()
	before := runtime.NumGoroutine() // perhaps some of other tests among them
	for range repeats(10) {
		c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 8}})
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
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := runCase()
	q, k, v := c.inputs()
	out := c.tensor(1, c.h, c.lq, c.dv, 0)
	serial := func(n int, task func(int)) {
		for i := range n {
			task(i)
		}
	}
	lengths := []int{320}
	eachTier(t, func(t *testing.T, tier *tier) {
		for name, o := range map[string]kernel.Options{
			"one thread":   {Threads: 1},
			"two threads":  {Threads: 2},
			"own parallel": {Threads: 2, Run: serial},
			"lengths":      {Threads: 1, Mask: kernel.KeyLengths(lengths)},
		} {
			o.Tier = tier.name
			mask := o.Mask
			if n := warmAllocs(repeats(20), func() {
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
			c := attnCase{b: 1, h: 1, hkv: 1, lq: l, lk: l, d: 8, dv: 8}
			q, k, v := c.inputs()
			j.problem = problem{out: c.tensor(1, 1, l, 8, 0), q: q, k: k, v: v, group: 1, scale: 1}
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
