package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var runCase = attnCase{b: 1, h: 4, hkv: 2, lq: 200, lk: 500, d: 32, dv: 32, mask: Causal(300), seed: 7}

// TestRun takes programs' parallel-fors, good and bad ones: the result is there
// when the call returns, with the same bits.
func TestRun(t *testing.T) {
	q, k, v := runCase.inputs()
	want := runCase.run(t, q, k, v, Options{Threads: 1})
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
		for range 20 {
			got := runCase.run(t, q, k, v, Options{Threads: 4, Run: run})
			same(t, name, &got, &want)
		}
	}
	var kept []func(int)
	for range 20 {
		got := runCase.run(t, q, k, v, Options{Threads: 4, Run: func(n int, task func(int)) {
			for _, late := range kept { // of calls that are over, or of this one
				late(0)
			}
			task(0)
			kept = append(kept, task)
		}})
		same(t, "keeps task", &got, &want)
		kept[0](1)
	}
	n := 0
	runCase.run(t, q, k, v, Options{Threads: 3, Run: func(m int, task func(int)) { n = m; task(0); task(1); task(2) }})
	if n != 3 {
		t.Errorf("Run was called for %d tasks, want Threads, 3", n)
	}
}

// TestLateTask calls the task of a call that is over all the time, against the
// rules of Options.Run, while other calls use the same job: no harm is done.
func TestLateTask(t *testing.T) {
	q, k, v := runCase.inputs()
	want := runCase.run(t, q, k, v, Options{Threads: 1})
	var late func(int)
	runCase.run(t, q, k, v, Options{Threads: 4, Run: func(n int, task func(int)) { late = task }})
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			late(0)
		}
	})
	for i := range 40 {
		got := runCase.run(t, q, k, v, Options{Threads: 1 + i%3})
		same(t, "with a late task", &got, &want)
	}
	stop.Store(true)
	wg.Wait()
}

// TestConcurrentCalls makes calls of several shapes from many goroutines.
func TestConcurrentCalls(t *testing.T) {
	cs := []attnCase{runCase, {b: 2, h: 2, hkv: 1, lq: 5, lk: 40, d: 80, dv: 8, seed: 9}, {b: 1, h: 3, hkv: 3, lq: 70, lk: 70, d: 16, dv: 40, mask: Causal(0), seed: 10}}
	var wg sync.WaitGroup
	for x := range cs {
		q, k, v := cs[x].inputs()
		want := cs[x].run(t, q, k, v, Options{Threads: 1})
		for g := range 4 {
			wg.Go(func() {
				for range 8 {
					out := cs[x].tensor(cs[x].b, cs[x].h, cs[x].lq, cs[x].dv, canary)
					if err := Attention(out, q, k, v, Options{Scale: cs[x].scale, Mask: cs[x].mask, Threads: 1 + g}); err != nil {
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

// TestNoGoroutineLeft counts goroutines after calls on many threads.
func TestNoGoroutineLeft(t *testing.T) {
	q, k, v := runCase.inputs()
	before := runtime.NumGoroutine()
	for range 10 {
		runCase.run(t, q, k, v, Options{Threads: 8})
	}
	for range 100 { // one that has signalled its end may need a moment to be gone
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// TestNoAllocations: a warm call allocates nothing, on any tier, alone, on
// threads or on the program's own.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	q, k, v := runCase.inputs()
	out := runCase.tensor(1, runCase.h, runCase.lq, runCase.dv, 0)
	serial := func(n int, task func(int)) {
		for i := range n {
			task(i)
		}
	}
	lengths := []int{400}
	eachTier(t, func(t *testing.T, tier *tier) {
		for name, o := range map[string]Options{
			"one thread":   {Threads: 1},
			"two threads":  {Threads: 2},
			"own parallel": {Threads: 2, Run: serial},
			"lengths":      {Threads: 1, Mask: KeyLengths(lengths)},
		} {
			o.Tier = tier.name
			mask := o.Mask
			if n := testing.AllocsPerRun(20, func() {
				o.Mask = Causal(300).And(mask)
				if err := Attention(out, q, k, v, o); err != nil {
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

// TestTierVariable runs this test binary with ATTN_TIER set.
func TestTierVariable(t *testing.T) {
	if os.Getenv("ATTN_TEST_CHILD") != "" {
		out, q, k, v := good()
		err := Attention(out, q, k, v, Options{})
		var te *TierError
		for _, info := range Tiers() {
			if info.Default {
				fmt.Printf("default=%s\n", info.Name)
			}
		}
		fmt.Printf("error=%v typed=%v\n", err, errors.As(err, &te))
		fmt.Printf("explicit=%v\n", Attention(out, q, k, v, Options{Tier: "generic"}))
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	child := func(tier string) string {
		cmd := exec.Command(exe, "-test.run=^TestTierVariable$", "-test.v")
		cmd.Env = append(os.Environ(), "ATTN_TEST_CHILD=1", "ATTN_TIER="+tier)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("cannot run itself here: %v", err)
		}
		return string(out)
	}
	expect := func(out string, lines ...string) {
		t.Helper()
		for _, l := range lines {
			if !strings.Contains(out, l) {
				t.Errorf("no %q in:\n%s", l, out)
			}
		}
	}
	expect(child("generic"), "default=generic\n", "error=<nil>")
	expect(child("sse9"), `error=attn: ATTN_TIER: tier "sse9": unknown`, "typed=true", "explicit=<nil>")
	for _, info := range Tiers() {
		if !info.Runs {
			expect(child(info.Name), "cannot run", "typed=true", "explicit=<nil>")
		}
	}
}
