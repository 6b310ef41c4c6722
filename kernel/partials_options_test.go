//go:build moving

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/kernel"
)

// TestPartialsOfOptions: partials with any options, folded by Merge or carried along by
// Accumulate, give the bits of one call.
func TestPartialsOfOptions(t *testing.T) {
	eachOptionCase(func(n int, c *optionCase) {
		if c.level("positions") > 1 {
			c.levels[factor("positions")] -= 2
		}
		q, k, v := c.Inputs()
		o := c.options()
		c.poison(newModel(q, k, v, &o))
		q, k, v = c.Typed(q, k, v)
		if n%3 == 0 {
			o.KeyStart = []int{contracttest.BlockKeys * c.r.IntN(3)}
		}
		whole := o
		o.Sinks = nil
		blocks := kernel.NewPartials(ints.CeilDiv(c.Lk, contracttest.BlockKeys), c.B, c.H, c.Lq, c.Dv)
		state := kernel.NewPartials(1, c.B, c.H, c.Lq, c.Dv)
		contracttest.EachTier(t, func(t *testing.T, tier string) {
			o.Tier, whole.Tier = tier, tier
			whole.LSE = c.Output(1)
			want := c.Out()
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
