//go:build moving

package kernel_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
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
func splitCases() map[string]contracttest.Case {
	return map[string]contracttest.Case{
		"decode":   {B: 1, H: 4, HKV: 1, Lq: 1, Lk: 2100, D: 16, Dv: 12, Seed: 41},
		"few":      {B: 1, H: 3, HKV: 1, Lq: 5, Lk: 1027, D: 20, Dv: 24, Mask: kernel.Causal(1022), Seed: 42},
		"window":   {B: 1, H: 2, HKV: 2, Lq: 3, Lk: 1500, D: 8, Dv: 8, Mask: kernel.Causal(1300).And(kernel.Window(600, -1)), Seed: 43},
		"wide":     {B: 1, H: 1, HKV: 1, Lq: 90, Lk: 800, D: 8, Dv: 16, Mask: kernel.Causal(710), Seed: 44},
		"lengths":  {B: 5, H: 1, HKV: 1, Lq: 1, Lk: 1800, D: 12, Dv: 12, Mask: kernel.KeyLengths([]int{3, 1800, 0, 700, 255}), Seed: 45},
		"two rows": {B: 1, H: 1, HKV: 1, Lq: 2, Lk: 513, D: 4, Dv: 4, Mask: kernel.QueryLengths([]int{1}), Seed: 46},
		"sparse": {B: 1, H: 1, HKV: 1, Lq: 6, Lk: 1280, D: 4, Dv: 4, Seed: 47,
			Mask: kernel.BlockSparse([]bool{true, false, false, true, false, false, false, false, true, false}, 3, 256)},
	}
}

// TestSplit spreads the blocks of panels over threads: the bits are those of one.
func TestSplit(t *testing.T) {
	contracttest.ForceThreads(t)
	for name, c := range splitCases() {
		t.Run(name, func(t *testing.T) {
			q, k, v := c.Inputs()
			want := c.Contract(q, k, v)
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				for threads := 1; threads <= 9; threads += 1 + 2*quickInt() {
					for range contracttest.Repeats(10) {
						got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
						contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
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
	contracttest.ForceThreads(t)
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

// TestSplitNaN: rows of split panels that meet a NaN are NaN if they see it, and done
// again if not.
func TestSplitNaN(t *testing.T) {
	contracttest.ForceThreads(t)
	c := splitCases()["few"]
	for _, key := range []int{0, 300, 1022, 1024, 1026} {
		q, k, v := c.Inputs()
		contracttest.Row(&v, 0, 0, key)[3] = testutil.NaN
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier string) {
			for threads := 1; threads <= 4; threads++ {
				got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
				contracttest.Same(t, fmt.Sprintf("key %d, threads=%d", key, threads), &got, &want)
			}
		})
	}
}

// TestSplitAccumulate carries a state from chunk to chunk, the blocks of each on several
// threads.
func TestSplitAccumulate(t *testing.T) {
	contracttest.ForceThreads(t)
	c := contracttest.Case{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 2048, D: 16, Dv: 12, Seed: 48}
	q, k, v := c.Inputs()
	want := c.Contract(q, k, v)
	chunk := func(x *kernel.Tensor, from, n int) kernel.Tensor {
		return kernel.BHLD(contracttest.Floats(x)[from*x.Shape()[3]:], 1, 1, n, x.Shape()[3])
	}
	state := kernel.NewPartials(1, 1, 4, 1, c.Dv)
	for _, n := range [][2]int{{0, 1024}, {1024, 1024}} {
		o := kernel.Options{Exec: kernel.Exec{Threads: 3}, KeyStart: []int{n[0]}}
		if err := kernel.AccumulatePartials(state, q, chunk(&k, n[0], n[1]), chunk(&v, n[0], n[1]), o); err != nil {
			t.Fatal(err)
		}
	}
	got := c.Tensor(1, c.H, c.Lq, c.Dv, contracttest.Canary)
	if err := kernel.MergePartials(got, []kernel.Partials{*state}, kernel.MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	contracttest.Same(t, "chunks", &got, &want)
}

// TestSplitAllocations: neither ragged calls nor split ones allocate once warm, and
// what they keep does not grow with the keys.
func TestSplitAllocations(t *testing.T) {
	if testutil.Race {
		t.Skip("the race detector allocates")
	}
	contracttest.ForceThreads(t)
	c := splitCases()["decode"]
	q, k, v := c.Inputs()
	starts := []int{0, 1, 1, 1}
	keys := []int{0, 1500, 1600, 2100}
	memory := make([]float32, c.H*c.Dv)
	call := func() {
		out := kernel.Ragged(memory, starts, c.H, c.Dv)
		if err := kernel.Attention(out, kernel.Ragged(contracttest.Floats(q), starts, c.H, c.D), kernel.Ragged(contracttest.Floats(k), keys, 1, c.D), kernel.Ragged(contracttest.Floats(v), keys, 1, c.Dv), kernel.Options{Exec: kernel.Exec{Threads: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := warmAllocs(contracttest.Repeats(20), call); n != 0 {
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
