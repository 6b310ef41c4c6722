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
		c.lk += 300 // a few blocks, the last one cut
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			q, k, v := c.inputs()
			o := c.options()
			c.poison(newModel(q, k, v, &o))
			q, k, v = c.typed(q, k, v)
			model := newModel(q, k, v, &o)
			sinks := filled(c.h, 0.5)
			eachTier(t, func(t *testing.T, tier *tier) {
				o.Tier = tier.name
				whole := o
				whole.Sinks, whole.LSE = sinks, c.tensor(c.b, c.h, c.lq, 1, canary)
				want := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out)
				if err := kernel.Attention(want, q, k, v, whole); err != nil {
					t.Fatal(err)
				}
				check := func(what string, parts ...kernel.Partials) {
					t.Helper()
					out, lse := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out), c.tensor(c.b, c.h, c.lq, 1, canary)
					if err := kernel.MergePartials(out, parts, kernel.MergeOptions{Sinks: sinks, LSE: lse, Exec: kernel.Exec{Tier: tier.name}}); err != nil {
						t.Fatal(err)
					}
					same(t, what, &out, &want)
					same(t, what+" LSE", &lse, &whole.LSE)
				}
				blocks := kernel.NewPartials(ceilDiv(c.lk, engine.BlockKeys), c.b, c.h, c.lq, c.dv)
				if err := kernel.AttentionPartials(blocks, q, k, v, o); err != nil {
					t.Fatal(err)
				}
				samePartials(t, model, blocks)
				check("one shard", *blocks)
				if shiftable(&o) {
					check("two shards", shard(t, c, q, k, v, o, 0, 256), shard(t, c, q, k, v, o, 256, c.lk))
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

func part(t kernel.Tensor, lo, hi int) kernel.Tensor {
	shape, at := [4]int{t.shape[0], t.shape[1], hi - lo, t.shape[3]}, t.at(0, 0, lo)
	switch t.dtype {
	case kernel.Int8:
		scales := part(*t.scales, lo, hi)
		return kernel.Strided(t.i8()[at:], shape, t.stride).Scaled(&scales)
	case kernel.Float16, kernel.BFloat16:
		t.other = sliceOf(t.u16()[at:])
	default:
		t.f32 = t.f32[at:]
	}
	t.shape = shape
	return t
}

func shard(t *testing.T, c *optionCase, q, k, v kernel.Tensor, o kernel.Options, lo, hi int) kernel.Partials {
	t.Helper()
	o.KeyStart = []int{lo}
	p := kernel.NewPartials(ceilDiv(hi-lo, engine.BlockKeys), c.b, c.h, c.lq, c.dv)
	if err := kernel.AttentionPartials(p, q, part(k, lo, hi), part(v, lo, hi), o); err != nil {
		t.Fatal(err)
	}
	return *p
}

func accumulated(t *testing.T, c *optionCase, q, k, v kernel.Tensor, o kernel.Options) kernel.Partials {
	t.Helper()
	state := kernel.NewPartials(1, c.b, c.h, c.lq, c.dv)
	for lo := 0; lo < c.lk; lo += engine.BlockKeys {
		hi := min(c.lk, lo+engine.BlockKeys)
		o.KeyStart = []int{lo}
		if err := kernel.AccumulatePartials(state, q, part(k, lo, hi), part(v, lo, hi), o); err != nil {
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
					sameRow(t, "max and sum, "+at, []float32{p.Max[r], p.Sum[r]}, stats)
					sameRow(t, "out, "+at, p.Out[r*p.HeadSize:][:p.HeadSize], want.o)
				}
			}
		}
	}
}
