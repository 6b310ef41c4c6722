package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// partialCases are calls with options that reach across shards.
func partialCases() []*optionCase {
	var cs []*optionCase
	level := func(set map[string]int) []int {
		levels := make([]int, len(factors))
		for x := range factors {
			levels[x] = set[factors[x].name]
		}
		return levels
	}
	for n, set := range []map[string]int{
		{"shape": 0},
		{"shape": 2, "alibi": 1, "softcap": 1},
		{"shape": 2, "spans": 4, "poison": 1},
		{"shape": 2, "spans": 2, "positions": 1, "poison": 2},
		{"shape": 4, "spans": 7, "threads": 1},
		{"shape": 4, "dropout": 2, "positions": 1, "score": 1, "poison": 1},
	} {
		set["types"] = n % len(optionTypes)
		cs = append(cs, newOptionCase(uint64(300+n), level(set)))
	}
	return cs
}

// TestPartials compares the partials of every block with the contract's, and
// what MergePartials and AccumulatePartials make of them with one call.
func TestPartials(t *testing.T) {
	for n, c := range partialCases() {
		c.Lk += 300 // a few blocks, the last one cut
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			q, k, v := c.Inputs()
			o := c.options()
			c.poison(q, k, v, &o)
			q, k, v = c.Typed(q, k, v)
			model := c.Model(q, k, v, &o)
			sinks := testutil.Filled(c.H, 0.5)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o.Tier = tier
				whole := o
				whole.Sinks, whole.LSE = sinks, c.Output(1)
				want := c.Out()
				if err := kernel.Attention(want, q, k, v, &whole); err != nil {
					t.Fatal(err)
				}
				check := func(what string, parts ...kernel.Partials) {
					t.Helper()
					out, lse := c.Out(), c.Output(1)
					if err := kernel.MergePartials(out, parts, kernel.MergeOptions{Sinks: sinks, LSE: lse, Exec: kernel.Exec{Tier: tier}}); err != nil {
						t.Fatal(err)
					}
					contracttest.Same(t, what, &out, &want)
					contracttest.Same(t, what+" LSE", &lse, &whole.LSE)
				}
				blocks := contracttest.NewPartials(ints.CeilDiv(c.Lk, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
				if err := kernel.AttentionPartials(blocks, q, k, v, contracttest.PartialOptions(o)); err != nil {
					t.Fatal(err)
				}
				samePartials(t, model, blocks)
				check("one shard", *blocks)
				check("merged into a state", handedOn(t, blocks, tier))
				if !c.Mask.CountsKeys() && o.Score == nil { // means the same for a part of the keys
					check("two shards", shard(t, c, q, k, v, o, 0, 256), shard(t, c, q, k, v, o, 256, c.Lk))
					check("accumulated", accumulated(t, c, q, k, v, o))
				}
			})
		})
	}
}

func shard(t *testing.T, c *optionCase, q, k, v kernel.Tensor, o kernel.Options, lo, hi int) kernel.Partials {
	t.Helper()
	o.KeyStart = []int{lo}
	p := contracttest.NewPartials(ints.CeilDiv(hi-lo, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
	if err := kernel.AttentionPartials(p, q, contracttest.Rows(k, lo, hi), contracttest.Rows(v, lo, hi), contracttest.PartialOptions(o)); err != nil {
		t.Fatal(err)
	}
	return *p
}

func accumulated(t *testing.T, c *optionCase, q, k, v kernel.Tensor, o kernel.Options) kernel.Partials {
	t.Helper()
	state := contracttest.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
	for lo := 0; lo < c.Lk; lo += contracttest.BlockKeys {
		hi := min(c.Lk, lo+contracttest.BlockKeys)
		o.KeyStart = []int{lo}
		if err := kernel.AccumulatePartials(state, q, contracttest.Rows(k, lo, hi), contracttest.Rows(v, lo, hi), contracttest.PartialOptions(o)); err != nil {
			t.Fatal(err)
		}
	}
	return *state
}

// handedOn returns the state after all blocks of p: each is merged into it by a call, the first two
// by one.
func handedOn(t *testing.T, p *kernel.Partials, tier kernel.Tier) kernel.Partials {
	t.Helper()
	state := contracttest.NewPartials(1, p.Batch, p.Heads, p.Queries, p.HeadSize)
	rows := p.Batch * p.Heads * p.Queries
	block := func(x int) kernel.Partials {
		lo, hi := x*rows, (x+1)*rows
		return kernel.Partials{Blocks: 1, Batch: p.Batch, Heads: p.Heads, Queries: p.Queries, HeadSize: p.HeadSize,
			Max: p.Max[lo:hi], Sum: p.Sum[lo:hi], Out: p.Out[lo*p.HeadSize : hi*p.HeadSize]}
	}
	next := []kernel.Partials{block(0)}
	for x := 1; x <= p.Blocks; x++ {
		if x != 1 || x == p.Blocks {
			if err := kernel.MergeInto(state, next, kernel.Exec{Tier: tier}); err != nil {
				t.Fatal(err)
			}
			next = nil
		}
		if x < p.Blocks {
			next = append(next, block(x))
		}
	}
	return *state
}

func samePartials(t *testing.T, model *contracttest.Model, p *kernel.Partials) {
	t.Helper()
	for b := range p.Batch {
		for h := range p.Heads {
			for i := range p.Queries {
				for x, want := range model.Row(b, h, i).Blocks {
					r := ((x*p.Batch+b)*p.Heads+h)*p.Queries + i
					for e := range want.Out {
						want.Out[e] += 0
					}
					stats := []float32{want.Max + 0, want.Sum}
					canonize(stats)
					canonize(want.Out)
					at := fmt.Sprintf("block %d of [%d %d %d]", x, b, h, i)
					contracttest.SameRow(t, "max and sum, "+at, []float32{p.Max[r], p.Sum[r]}, stats)
					contracttest.SameRow(t, "out, "+at, p.Out[r*p.HeadSize:][:p.HeadSize], want.Out)
				}
			}
		}
	}
}

// TestPartialsOfOptions: partials with any options, merged by MergePartials or carried
// along by AccumulatePartials, give the bits of one call.
func TestPartialsOfOptions(t *testing.T) {
	eachOptionCase(func(n int, c *optionCase) {
		if c.level("positions") > 1 {
			c.levels[factor("positions")] -= 2
		}
		q, k, v := c.Inputs()
		o := c.options()
		c.poison(q, k, v, &o)
		q, k, v = c.Typed(q, k, v)
		if n%3 == 0 {
			o.KeyStart = []int{contracttest.BlockKeys * c.r.IntN(3)}
		}
		whole := o
		o.Sinks = nil
		blocks := contracttest.NewPartials(ints.CeilDiv(c.Lk, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
		state := contracttest.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			o.Tier, whole.Tier = tier, tier
			whole.LSE = c.Output(1)
			want := c.Out()
			if err := kernel.Attention(want, q, k, v, &whole); err != nil {
				t.Fatal(err)
			}
			if err := kernel.AttentionPartials(blocks, q, k, v, contracttest.PartialOptions(o)); err != nil {
				t.Fatal(err)
			}
			state.Reset()
			if err := kernel.AccumulatePartials(state, q, k, v, contracttest.PartialOptions(o)); err != nil {
				t.Fatal(err)
			}
			for x, p := range []*kernel.Partials{blocks, state} {
				out, lse := c.Out(), c.Output(1)
				if err := kernel.MergePartials(out, []kernel.Partials{*p}, kernel.MergeOptions{Sinks: whole.Sinks, LSE: lse, Exec: kernel.Exec{Tier: tier}}); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("levels %v, %s", c.levels, [...]string{"merged", "accumulated"}[x])
				contracttest.Same(t, what, &out, &want)
				contracttest.Same(t, what+", LSE", &lse, &whole.LSE)
			}
		})
	})
}

// canonize replaces every NaN by the contract's.
func canonize(s []float32) {
	for i, x := range s {
		if x != x {
			s[i] = contracttest.CanonicalNaN
		}
	}
}

// TestMergePartialsThreads: the number of threads changes no bit of a merge, whether the pool or
// the program has the threads.
func TestMergePartialsThreads(t *testing.T) {
	contracttest.ForceThreads(t)
	contracttest.AllowThreads(t)
	c := contracttest.Case{B: 2, H: 4, HKV: 2, Lq: 13, Lk: 1100, D: 16, Dv: 37, Seed: 61, Layout: contracttest.Gaps}
	q, k, v := c.Inputs()
	first, second := contracttest.NewPartials(3, c.B, c.H, c.Lq, c.Dv), contracttest.NewPartials(2, c.B, c.H, c.Lq, c.Dv)
	for p, keys := range map[*kernel.Partials][2]int{first: {0, 768}, second: {768, c.Lk}} {
		o := kernel.Options{Scoring: kernel.Scoring{KeyStart: []int{keys[0]}}}
		if err := kernel.AttentionPartials(p, q, contracttest.Rows(k, keys[0], keys[1]), contracttest.Rows(v, keys[0], keys[1]), contracttest.PartialOptions(o)); err != nil {
			t.Fatal(err)
		}
	}
	first.Out[3], second.Max[7] = testutil.NaN, contracttest.NegInf
	parts, sinks := []kernel.Partials{*first, *second}, []float32{1, -1, 0, contracttest.NegInf}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.BFloat16} {
			merge := func(exec kernel.Exec) (out, lse kernel.Tensor) {
				out, lse = contracttest.As(c.Output(c.Dv), dtype), c.Output(1)
				exec.Tier = tier
				if err := kernel.MergePartials(out, parts, kernel.MergeOptions{Exec: exec, Sinks: sinks, LSE: lse}); err != nil {
					t.Fatal(err)
				}
				contracttest.CheckGaps(t, &out)
				contracttest.CheckGaps(t, &lse)
				return out, lse
			}
			want, wantLSE := merge(kernel.Exec{Threads: 1})
			for threads := 2; threads <= 9; threads++ {
				var own parallelFor
				for what, exec := range map[string]kernel.Exec{"pool": {Threads: threads}, "own parallel-for": {Threads: threads, ParallelFor: own.run}} {
					out, lse := merge(exec)
					contracttest.Same(t, fmt.Sprintf("%s, threads=%d", what, threads), &out, &want)
					contracttest.Same(t, fmt.Sprintf("LSE, %s, threads=%d", what, threads), &lse, &wantLSE)
				}
				state := contracttest.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
				if err := kernel.MergeInto(state, parts, kernel.Exec{Tier: tier, Threads: threads}); err != nil {
					t.Fatal(err)
				}
				out, lse := contracttest.As(c.Output(c.Dv), dtype), c.Output(1)
				if err := kernel.MergePartials(out, []kernel.Partials{*state}, kernel.MergeOptions{Exec: kernel.Exec{Tier: tier}, Sinks: sinks, LSE: lse}); err != nil {
					t.Fatal(err)
				}
				contracttest.Same(t, fmt.Sprintf("by a state, threads=%d", threads), &out, &want)
				contracttest.Same(t, fmt.Sprintf("LSE by a state, threads=%d", threads), &lse, &wantLSE)
				if own.n != threads {
					t.Errorf("the merge was split for %d threads, want %d", own.n, threads)
				}
			}
		}
	})
}
