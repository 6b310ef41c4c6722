package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// TestTunings runs every tier with every entry of its tuning numbers, and with each of its
// kernels for few rows: they change no bit.
func TestTunings(t *testing.T) {
	cases := []contracttest.Case{
		{B: 1, H: 8, HKV: 2, Lq: 1, Lk: 300, D: 128, Dv: 128},                                            // decoding
		{B: 1, H: 2, HKV: 2, Lq: 3, Lk: 290, D: 200, Dv: 64, Mask: contracttest.Causal(287)},             // a draft
		{B: 1, H: 10, HKV: 1, Lq: 4, Lk: 40, D: 64, Dv: 20},                                              // rows beyond some limits
		{B: 1, H: 16, HKV: 1, Lq: 1, Lk: 256, D: 32, Dv: 32},                                             // full tiles
		{B: 1, H: 2, HKV: 1, Lq: 70, Lk: 300, D: 20, Dv: 12, Mask: contracttest.Causal(230)},             // prefill
		{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 70, D: 128, Dv: 32, Types: contracttest.Uniform(kernel.Float16)}, // widened
	}
	for i, c := range cases {
		q, k, v := c.Inputs()
		q, k, v = c.Typed(q, k, v)
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, x := range tunings(contracttest.Tier(t, tier)) {
				tuned, err := tier.Tuned(x.String())
				if err != nil {
					t.Fatalf("%+v: %v", x, err)
				}
				got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tuned, Threads: 2}})
				contracttest.Same(t, fmt.Sprintf("case %d: %s", i, x), &got, &want)
			}
		})
	}
}

// tunings returns different numbers for a tier: the numbers of all CPUs, all variants of kernels,
// and the scores of the tier below.
func tunings(t *tier.Tier) (list []tier.Tuning) {
	for _, e := range tier.Tunings {
		if e.Tier == t.Name {
			list = append(list, e.Tuning)
		}
	}
	for _, v := range t.Variants {
		x := t.Tuning
		x.Choose(v)
		list = append(list, x)
	}
	lower := t.Tuning
	lower.LowerBytes = 1
	return append(list, lower)
}
