package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/kernel"
)

// TestPartialsOfOptions: partials with any options, folded by Merge or carried along by
// Accumulate, give the bits of one call.
func TestPartialsOfOptions(t *testing.T) {
	eachOptionCase(func(n int, c *optionCase) {
		if c.level("positions") > 1 {
			c.levels[factor("positions")] -= 2
		}
		q, k, v := c.inputs()
		o := c.options()
		c.poison(newModel(q, k, v, &o))
		q, k, v = c.typed(q, k, v)
		if n%3 == 0 {
			o.KeyStart = []int{engine.BlockKeys * c.r.intn(3)}
		}
		whole := o
		o.Sinks = nil
		blocks := kernel.NewPartials(ceilDiv(c.lk, engine.BlockKeys), c.b, c.h, c.lq, c.dv)
		state := kernel.NewPartials(1, c.b, c.h, c.lq, c.dv)
		eachTier(t, func(t *testing.T, tier *tier) {
			o.Tier, whole.Tier = tier.name, tier.name
			whole.LSE = c.tensor(c.b, c.h, c.lq, 1, canary)
			want := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out)
			if err := kernel.Attention(want, q, k, v, whole); err != nil {
				t.Fatal(err)
			}
			if err := kernel.AttentionPartials(blocks, q, k, v, o); err != nil {
				t.Fatal(err)
			}
			state.Reset()
			if err := kernel.AccumulatePartials(state, q, k, v, o); err != nil {
				t.Fatal(err)
			}
			for x, p := range []*kernel.Partials{blocks, state} {
				out, lse := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out), c.tensor(c.b, c.h, c.lq, 1, canary)
				if err := kernel.MergePartials(out, []kernel.Partials{*p}, kernel.MergeOptions{Sinks: whole.Sinks, LSE: lse, Exec: kernel.Exec{Tier: tier.name}}); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("levels %v, %s", c.levels, [...]string{"merged", "accumulated"}[x])
				same(t, what, &out, &want)
				same(t, what+", LSE", &lse, &whole.LSE)
			}
		})
	})
}
