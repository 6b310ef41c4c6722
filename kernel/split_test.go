package kernel_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// eagerTiers lets calls of any size have all threads that they ask for.
func eagerTiers(t *testing.T) {
	for x := range tiers {
		before := tiers[x].threadFMAs
		tiers[x].threadFMAs = 1
		t.Cleanup(func() { tiers[x].threadFMAs = before })
	}
}

// splitCases have fewer panels than threads and some blocks of keys.
func splitCases() map[string]attnCase {
	return map[string]attnCase{
		"decode":   {b: 1, h: 4, hkv: 1, lq: 1, lk: 2100, d: 16, dv: 12, seed: 41},
		"few":      {b: 1, h: 3, hkv: 1, lq: 5, lk: 1027, d: 20, dv: 24, mask: kernel.Causal(1022), seed: 42},
		"window":   {b: 1, h: 2, hkv: 2, lq: 3, lk: 1500, d: 8, dv: 8, mask: kernel.Causal(1300).And(kernel.Window(600, -1)), seed: 43},
		"wide":     {b: 1, h: 1, hkv: 1, lq: 90, lk: 800, d: 8, dv: 16, mask: kernel.Causal(710), seed: 44},
		"lengths":  {b: 5, h: 1, hkv: 1, lq: 1, lk: 1800, d: 12, dv: 12, mask: kernel.KeyLengths([]int{3, 1800, 0, 700, 255}), seed: 45},
		"two rows": {b: 1, h: 1, hkv: 1, lq: 2, lk: 513, d: 4, dv: 4, mask: kernel.QueryLengths([]int{1}), seed: 46},
		"sparse": {b: 1, h: 1, hkv: 1, lq: 6, lk: 1280, d: 4, dv: 4, seed: 47,
			mask: kernel.BlockSparse([]bool{true, false, false, true, false, false, false, false, true, false}, 3, 256)},
	}
}

// TestSplit spreads the blocks of panels over threads: the bits are those of one.
func TestSplit(t *testing.T) {
	eagerTiers(t)
	for name, c := range splitCases() {
		t.Run(name, func(t *testing.T) {
			q, k, v := c.inputs()
			want := c.contract(q, k, v)
			eachTier(t, func(t *testing.T, tier *tier) {
				for threads := 1; threads <= 9; threads += 1 + 2*quickInt() {
					for range repeats(10) {
						got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
						same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
					}
				}
				out := want
				j := c.job(tier, out, q, k, v)
				j.plan(tier, 9)
				if j.stretches[0].blocks == 0 {
					t.Error("no panel is split")
				}
			})
		})
	}
}

// TestSplitOptions makes the calls of TestOptions on as many threads as can be.
func TestSplitOptions(t *testing.T) {
	eagerTiers(t)
	eachOptionCase(func(n int, c *optionCase) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := c.options()
			o.Threads = 2 + n%8
			c.compare(t, o)
		})
	})
}

// TestSplitRun takes programs' parallel-fors for split panels: also tasks that are done
// one after the other, on one goroutine, come to an end.
func TestSplitRun(t *testing.T) {
	eagerTiers(t)
	c := splitCases()["decode"]
	q, k, v := c.inputs()
	want := c.contract(q, k, v)
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
		for range repeats(40) {
			got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: 5, ParallelFor: run}})
			same(t, name, &got, &want)
		}
	}
}

// TestSplitNaN: rows of split panels that meet a NaN are NaN if they see it, and done
// again if not.
func TestSplitNaN(t *testing.T) {
	eagerTiers(t)
	c := splitCases()["few"]
	for _, key := range []int{0, 300, 1022, 1024, 1026} {
		q, k, v := c.inputs()
		rowOf(&v, 0, 0, key)[3] = nan32
		want := c.contract(q, k, v)
		eachTier(t, func(t *testing.T, tier *tier) {
			for threads := 1; threads <= 4; threads++ {
				got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
				same(t, fmt.Sprintf("key %d, threads=%d", key, threads), &got, &want)
			}
		})
	}
}

// TestSplitAccumulate carries a state from chunk to chunk, the blocks of each on several
// threads.
func TestSplitAccumulate(t *testing.T) {
	eagerTiers(t)
	c := attnCase{b: 1, h: 4, hkv: 1, lq: 1, lk: 2048, d: 16, dv: 12, seed: 48}
	q, k, v := c.inputs()
	want := c.contract(q, k, v)
	chunk := func(x *kernel.Tensor, from, n int) kernel.Tensor {
		return kernel.BHLD(x.f32[from*x.shape[3]:], 1, 1, n, x.shape[3])
	}
	state := kernel.NewPartials(1, 1, 4, 1, c.dv)
	for _, n := range [][2]int{{0, 1024}, {1024, 1024}} {
		o := kernel.Options{Exec: kernel.Exec{Threads: 3}, KeyStart: []int{n[0]}}
		if err := kernel.AccumulatePartials(state, q, chunk(&k, n[0], n[1]), chunk(&v, n[0], n[1]), o); err != nil {
			t.Fatal(err)
		}
	}
	got := c.tensor(1, c.h, c.lq, c.dv, canary)
	if err := kernel.MergePartials(got, []kernel.Partials{*state}, kernel.MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	same(t, "chunks", &got, &want)
}

// TestSplitAllocations: neither ragged calls nor split ones allocate once warm, and
// what they keep does not grow with the keys.
func TestSplitAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	eagerTiers(t)
	c := splitCases()["decode"]
	q, k, v := c.inputs()
	starts := []int{0, 1, 1, 1}
	keys := []int{0, 1500, 1600, 2100}
	memory := make([]float32, c.h*c.dv)
	call := func() {
		out := kernel.Ragged(memory, starts, c.h, c.dv)
		if err := kernel.Attention(out, kernel.Ragged(q.f32, starts, c.h, c.d), kernel.Ragged(k.f32, keys, 1, c.d), kernel.Ragged(v.f32, keys, 1, c.dv), kernel.Options{Exec: kernel.Exec{Threads: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := warmAllocs(repeats(20), call); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
	j := newJob()
	j.problem.set(&q, &q, &k, &v, &kernel.Options{})
	for _, threads := range []int{2, 7} {
		j.plan(&tiers[len(tiers)-1], threads)
		if n := len(j.relay.slots); n != slotsPerThread*threads {
			t.Errorf("%d slots for %d threads", n, threads)
		}
	}
}
