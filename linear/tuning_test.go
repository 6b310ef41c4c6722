package linear_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// TestTunings gives every tier the numbers of every entry: they change no bit.
func TestTunings(t *testing.T) {
	cases := []testCase{
		{m: 13, n: 60, k: 600, bias: true, kind: testutil.Mantissas, seed: 1},
		{m: 5, n: 60, k: 300, dtype: kernel.Float16, kind: testutil.Mantissas, seed: 2},
		{m: 19, n: 100, k: 300, dtype: kernel.BFloat16, kind: testutil.Mantissas, seed: 4},
		{m: 9, n: 60, k: 320, format: linear.Q8_0, seed: 3},
	}
	for _, e := range tier.Tunings {
		t.Run(fmt.Sprintf("%s/%s", e.Tier, e.CPU), func(t *testing.T) {
			i := slices.IndexFunc(tier.Tiers, func(tier tier.Tier) bool { return tier.Name == e.Tier })
			if i < 0 {
				t.Skipf("NOT RUN: this build has no tier %s", e.Tier)
			}
			tier, before := &tier.Tiers[i], tier.Tiers[i].Tuning
			if err := tier.Tune(e.Tuning); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { tier.Tune(before) })
			contracttest.ForceThreads(t)
			for _, c := range cases {
				c.check(t, 1, 2)
			}
		})
	}
}
