package linear_test

import (
	"fmt"
	"testing"

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
		{m: 4, n: 60, k: 512, format: linear.Q4_K, seed: 6},
		{m: 3, n: 60, k: 512, format: linear.Q6_K, seed: 7},
		{m: 19, n: 100, k: 300, rounds: true, kind: testutil.Mantissas, seed: 5},
	}
	var compare []func(t *testing.T, tier kernel.Tier)
	for _, c := range cases {
		compare = append(compare, c.compare(t, 1, 2))
	}
	for _, e := range tier.Tunings {
		t.Run(fmt.Sprintf("%s/%s", e.Tier, e.CPU), func(t *testing.T) {
			x, err := kernel.TierNamed(e.Tier)
			if err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			e.ThreadFMAs = 1
			tuned, err := x.Tuned(e.Tuning.String())
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range compare {
				test(t, tuned)
			}
		})
	}
}
