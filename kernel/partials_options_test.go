package kernel

import (
	"fmt"
	"testing"
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
			o.KeyStart = []int{blockKeys * c.r.intn(3)}
		}
		whole := o
		o.Sinks = nil
		blocks := NewPartials(ceilDiv(c.lk, blockKeys), c.b, c.h, c.lq, c.dv)
		state := NewPartials(1, c.b, c.h, c.lq, c.dv)
		eachTier(t, func(t *testing.T, tier *tier) {
			o.Tier, whole.Tier = tier.name, tier.name
			whole.LSE = c.tensor(c.b, c.h, c.lq, 1, canary)
			want := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out)
			if err := Attention(want, q, k, v, whole); err != nil {
				t.Fatal(err)
			}
			if err := AttentionPartials(blocks, q, k, v, o); err != nil {
				t.Fatal(err)
			}
			state.Reset()
			if err := Accumulate(state, q, k, v, o); err != nil {
				t.Fatal(err)
			}
			for x, p := range []*Partials{blocks, state} {
				out, lse := c.tensor(c.b, c.h, c.lq, c.dv, canary).as(c.types.out), c.tensor(c.b, c.h, c.lq, 1, canary)
				if err := Merge(out, []Partials{*p}, MergeOptions{Sinks: whole.Sinks, LSE: lse, Tier: tier.name}); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("levels %v, %s", c.levels, [...]string{"merged", "accumulated"}[x])
				same(t, what, &out, &want)
				same(t, what+", LSE", &lse, &whole.LSE)
			}
		})
	})
}
