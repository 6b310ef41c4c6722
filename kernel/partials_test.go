//go:build moving

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/engine"
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
		{"shape": 4, "dropout": 2, "positions": 1, "hook": 1, "poison": 1},
	} {
		set["types"] = n % len(optionTypes)
		cs = append(cs, newOptionCase(uint64(300+n), level(set)))
	}
	return cs
}

// TestPartials compares the partials of every block with the contract's, and
// what Merge and Accumulate make of them with one call.
func TestPartials(t *testing.T) {
	for n, c := range partialCases() {
		c.Lk += 300 // a few blocks, the last one cut
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			q, k, v := c.Inputs()
			o := c.options()
			c.poison(newModel(q, k, v, &o))
			q, k, v = c.Typed(q, k, v)
			model := newModel(q, k, v, &o)
			sinks := testutil.Filled(c.H, 0.5)
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				o.Tier = tier
				whole := o
				whole.Sinks, whole.LSE = sinks, c.Output(1)
				want := c.Out()
				if err := kernel.Attention(want, q, k, v, whole); err != nil {
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
				blocks := kernel.NewPartials(ints.CeilDiv(c.Lk, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
				if err := kernel.AttentionPartials(blocks, q, k, v, o); err != nil {
					t.Fatal(err)
				}
				samePartials(t, model, blocks)
				check("one shard", *blocks)
				if shiftable(&o) {
					check("two shards", shard(t, c, q, k, v, o, 0, 256), shard(t, c, q, k, v, o, 256, c.Lk))
					check("accumulated", accumulated(t, c, q, k, v, o))
				}
			})
		})
	}
}

// shiftable tells whether the options mean the same for a part of the keys when
// only KeyStart changes.
func shiftable(o *kernel.Options) bool {
	for _, r := range o.Mask.rules[:o.Mask.n] {
		if r.kind == ruleKeyLengths || r.kind == ruleSegments {
			return false
		}
	}
	return o.Score == nil
}

func contracttest.Rows(t kernel.Tensor, lo, hi int) kernel.Tensor {
	shape, at := [4]int{t.Shape()[0], t.Shape()[1], hi - lo, t.Shape()[3]}, t.at(0, 0, lo)
	switch t.dtype {
	case kernel.Int8:
		scales := contracttest.Rows(*t.scales, lo, hi)
		return kernel.Strided(t.i8()[at:], shape, t.stride).Scaled(&scales)
	case kernel.Float16, kernel.BFloat16:
		t.other = sliceOf(t.u16()[at:])
	default:
		contracttest.Floats(t) = contracttest.Floats(t)[at:]
	}
	t.shape = shape
	return t
}

func shard(t *testing.T, c *optionCase, q, k, v kernel.Tensor, o kernel.Options, lo, hi int) kernel.Partials {
	t.Helper()
	o.KeyStart = []int{lo}
	p := kernel.NewPartials(ints.CeilDiv(hi-lo, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
	if err := kernel.AttentionPartials(p, q, contracttest.Rows(k, lo, hi), contracttest.Rows(v, lo, hi), o); err != nil {
		t.Fatal(err)
	}
	return *p
}

func accumulated(t *testing.T, c *optionCase, q, k, v kernel.Tensor, o kernel.Options) kernel.Partials {
	t.Helper()
	state := kernel.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
	for lo := 0; lo < c.Lk; lo += contracttest.BlockKeys {
		hi := min(c.Lk, lo+contracttest.BlockKeys)
		o.KeyStart = []int{lo}
		if err := kernel.AccumulatePartials(state, q, contracttest.Rows(k, lo, hi), contracttest.Rows(v, lo, hi), o); err != nil {
			t.Fatal(err)
		}
	}
	return *state
}

func samePartials(t *testing.T, model *model, p *kernel.Partials) {
	t.Helper()
	for b := range p.Batch {
		for h := range p.Heads {
			for i := range p.Queries {
				for x, want := range model.row(b, h, i).blocks {
					r := ((x*p.Batch+b)*p.Heads+h)*p.Queries + i
					for e := range want.o {
						want.o[e] += 0
					}
					stats := []float32{want.m + 0, want.l}
					canonize(stats)
					canonize(want.o)
					at := fmt.Sprintf("block %d of [%d %d %d]", x, b, h, i)
					contracttest.SameRow(t, "max and sum, "+at, []float32{p.Max[r], p.Sum[r]}, stats)
					contracttest.SameRow(t, "out, "+at, p.Out[r*p.HeadSize:][:p.HeadSize], want.o)
				}
			}
		}
	}
}
