package linear_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// TestTunings gives every tier the numbers of every entry: they change no bit.
func TestTunings(t *testing.T) {
	cases := []testCase{
		{m: 13, n: 60, k: 600, bias: true, kind: testutil.Mantissas, seed: 1},
		{m: 5, n: 60, k: 300, dtype: kernel.Float16, kind: testutil.Mantissas, seed: 2},
		{m: 9, n: 60, k: 320, format: linear.Q8_0, seed: 3},
	}
	for _, e := range ukernel.Tunings {
		t.Run(fmt.Sprintf("%s/%s", e.Tier, e.CPU), func(t *testing.T) {
			changed := false
			tune(t, func(x *ukernel.Tuning) {}) // undone at the end
			for i := range ukernel.Tiers {
				if tier := &ukernel.Tiers[i]; tier.Name == e.Tier {
					tier.Tuning, changed = e.Tuning, true
				}
			}
			if !changed {
				t.Skipf("NOT RUN: this build has no tier %s", e.Tier)
			}
			contracttest.ForceThreads(t)
			for _, c := range cases {
				c.check(t, 1, 2)
			}
		})
	}
}
