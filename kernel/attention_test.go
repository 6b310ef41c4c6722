//go:build moving

package kernel_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/kernel"
)

// cases are full calls of awkward shapes: every panel width, block borders,
// GQA, sizes that divide by nothing, every mask.
func cases() []contracttest.Case {
	var cs []contracttest.Case
	add := func(c contracttest.Case) {
		c.Seed = uint64(len(cs))
		c.Layout = contracttest.Layout(len(cs)) % contracttest.Layouts
		cs = append(cs, c)
	}
	for _, lq := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 33, 47, 49, 63, 64, 65, 72, 100, 129} {
		add(contracttest.Case{B: 1, H: 2, HKV: 2, Lq: lq, Lk: 19, D: 9, Dv: 5})
		add(contracttest.Case{B: 1, H: 1, HKV: 1, Lq: lq, Lk: lq, D: 16, Dv: 16, Mask: kernel.Causal(0)})
	}
	for _, lk := range []int{1, 2, 6, 13, 255, 256, 257, 511, 512, 513, 700} {
		add(contracttest.Case{B: 2, H: 3, HKV: 1, Lq: 5, Lk: lk, D: 24, Dv: 17})
		add(contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 21, Lk: lk, D: 8, Dv: 8, Mask: kernel.Causal(lk - 21)})
		add(contracttest.Case{B: 2, H: 2, HKV: 2, Lq: 3, Lk: lk, D: 4, Dv: 33, Mask: kernel.KeyLengths([]int{lk, lk / 2})})
	}
	for _, d := range []int{1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 80, 128, 200} {
		add(contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 11, Lk: 40, D: d, Dv: d})
		add(contracttest.Case{B: 1, H: 1, HKV: 1, Lq: 70, Lk: 30, D: d, Dv: 1 + d/2, Scale: 0.3})
	}
	for _, off := range []int{-300, -20, -1, 0, 1, 100, 255, 256, 600, math.MaxInt} {
		add(contracttest.Case{B: 1, H: 3, HKV: 1, Lq: 90, Lk: 300, D: 8, Dv: 8, Mask: kernel.Causal(off)})
		add(contracttest.Case{B: 3, H: 2, HKV: 1, Lq: 40, Lk: 300, D: 8, Dv: 8, Mask: kernel.Causal(off).And(kernel.KeyLengths([]int{0, 270, 300}))})
	}
	add(contracttest.Case{B: 2, H: 2, HKV: 1, Lq: 3, Lk: 0, D: 4, Dv: 4})
	add(contracttest.Case{B: 0, H: 2, HKV: 1, Lq: 3, Lk: 4, D: 4, Dv: 4})
	add(contracttest.Case{B: 2, H: 0, HKV: 0, Lq: 3, Lk: 4, D: 4, Dv: 4})
	add(contracttest.Case{B: 2, H: 2, HKV: 2, Lq: 0, Lk: 4, D: 4, Dv: 4})
	return cs
}

// TestContract compares every tier, with one thread and several, with the
// contract computed row by row.
func TestContract(t *testing.T) {
	for _, c := range cases() {
		if testing.Short() && c.Seed%5 != 0 {
			continue
		}
		t.Run(c.String(), c.isContract)
	}
}

// isContract compares all tiers, with one thread and several, with the contract.
func (c contracttest.Case) isContract(t *testing.T) {
	q, k, v := c.Inputs()
	want := c.Contract(q, k, v)
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		for _, threads := range []int{1, 3} {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
	})
}

// TestManyThreads has enough work for several threads to share a unit.
func TestManyThreads(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 150, Lk: 1100, D: 32, Dv: 32, Mask: kernel.Causal(950)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
		step := 1
		if testutil.Quick() {
			step = 7
		}
		for threads := 2; threads <= 9; threads += step {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
	})
}

// TestWidths forces every panel width of a tier to be the main one: the tiling
// must not change a bit.
func TestWidths(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 77, Lk: 300, D: 20, Dv: 12, Mask: kernel.Causal(200)}
	q, k, v := c.Inputs()
	want := c.Contract(q, k, v)
	eachTier(t, func(t *testing.T, tr *tier) {
		for i := range tr.panels {
			out := c.Output(c.Dv)
			c.job(tr.withMain(tr.panels[i].lanes), out, q, k, v).run(nil)
			contracttest.Same(t, fmt.Sprintf("width %d", tr.panels[i].lanes), &out, &want)
		}
	})
}

// TestAlone compares rows, heads and batch rows done by themselves with the same
// ones in a batch, and prefill with token by token.
func TestAlone(t *testing.T) {
	const past = 190
	c := contracttest.Case{B: 2, H: 6, HKV: 2, Lq: 75, Lk: past + 75, D: 32, Dv: 32, Mask: kernel.Causal(past)}
	q, k, v := c.Inputs()
	step := 1
	if testutil.Quick() {
		step = 11
	}
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		whole := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for b := range c.B {
			for h := range c.H {
				for i := h % step; i < c.Lq; i += step {
					// A cache that holds the past and this token alone, no mask.
					n := past + i + 1
					out := make([]float32, c.Dv)
					err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, c.Dv),
						kernel.BHLD(contracttest.Row(&q, b, h, i), 1, 1, 1, c.D),
						kernel.BHLD(contracttest.Floats(k)[k.at(b, h/3, 0):], 1, 1, n, c.D),
						kernel.BHLD(contracttest.Floats(v)[v.at(b, h/3, 0):], 1, 1, n, c.Dv), kernel.Options{Exec: kernel.Exec{Tier: tier}})
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(out, contracttest.Row(&whole, b, h, i)) {
						t.Fatalf("row %d %d %d alone differs", b, h, i)
					}
				}
			}
		}
	})
}

// TestChunkedPrefill: any chunking of the queries gives the bits of the whole.
func TestChunkedPrefill(t *testing.T) {
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 300, Lk: 300, D: 16, Dv: 16, Mask: kernel.Causal(0)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		whole := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for _, chunk := range []int{1, 7, 64, 100, 299} {
			got := c.Tensor(1, c.H, c.Lq, c.Dv, contracttest.Canary)
			for at := 0; at < c.Lq; at += chunk {
				n := min(chunk, c.Lq-at)
				part := func(t kernel.Tensor, l int) kernel.Tensor {
					return kernel.Strided(contracttest.Floats(t)[t.at(0, 0, at):], [4]int{1, t.Shape()[1], l, t.Shape()[3]}, t.stride)
				}
				keys := func(t kernel.Tensor) kernel.Tensor {
					return kernel.Strided(contracttest.Floats(t), [4]int{1, t.Shape()[1], at + n, t.Shape()[3]}, t.stride)
				}
				err := kernel.Attention(contracttest.Rows(got, n), contracttest.Rows(q, n), keys(k), keys(v), kernel.Options{Exec: kernel.Exec{Tier: tier}, Mask: kernel.Causal(at)})
				if err != nil {
					t.Fatal(err)
				}
			}
			contracttest.Same(t, fmt.Sprintf("chunks of %d", chunk), &got, &whole)
		}
	})
}

// TestCausalIsLengths: a causal row sees what a key length would let it see.
func TestCausalIsLengths(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 40, Lk: 290, D: 16, Dv: 16, Mask: kernel.Causal(250)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		causal := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for i := range c.Lq {
			d := c
			d.Mask = kernel.KeyLengths([]int{251 + i})
			lengths := d.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			for h := range c.H {
				if !slices.Equal(contracttest.Row(&causal, 0, h, i), contracttest.Row(&lengths, 0, h, i)) {
					t.Fatalf("row %d of head %d differs", i, h)
				}
			}
		}
	})
}

// TestCausalOffsets: an offset near the largest int hides nothing, also where
// offset + i overflows.
func TestCausalOffsets(t *testing.T) {
	for _, keys := range []int{0, 1, 300, maxPosition - 1, maxPosition} {
		for _, offset := range []int{math.MinInt, -1, 0, 1, 299, 300, math.MaxInt - 2, math.MaxInt - 1, math.MaxInt} {
			m := kernel.Causal(offset)
			for i := range 5 {
				want := new(big.Int).Add(big.NewInt(int64(offset)), big.NewInt(int64(i+1)))
				if want.Cmp(big.NewInt(int64(keys))) > 0 {
					want.SetInt64(int64(keys))
				}
				if want.Sign() < 0 {
					want.SetInt64(0)
				}
				if got := m.span(place{query: i, keys: keys, diagonal: i}); got.lo != 0 || int64(got.hi) != want.Int64() {
					t.Errorf("Causal(%d) of query %d and %d keys is %v, want up to %v", offset, i, keys, got, want)
				}
			}
		}
	}
}

// TestOracle bounds the error against float64. The contract's order of
// operations fixes it: at D = 64 and unit-variance input the largest is about
// 1e-6 and the rms 6e-8 (see the package documentation). Dyadic input in [-2, 2)
// has a variance of 4/3, and early causal rows average few values, so that their
// rounding alone is up to half an ulp of 2, 1.2e-7: twice as much is allowed.
func TestOracle(t *testing.T) {
	for _, c := range []contracttest.Case{
		{B: 1, H: 2, HKV: 2, Lq: 128, Lk: 700, D: 64, Dv: 64},
		{B: 1, H: 2, HKV: 1, Lq: 200, Lk: 200, D: 128, Dv: 128, Mask: kernel.Causal(0)},
		{B: 2, H: 2, HKV: 1, Lq: 20, Lk: 600, D: 32, Dv: 48, Mask: kernel.KeyLengths([]int{600, 77})},
	} {
		q, k, v := c.Inputs()
		contracttest.EachTier(t, func(t *testing.T, tier string) {
			out := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			worst, rms := oracleError(c, &out, q, k, v)
			t.Logf("%v: error against float64: max %.2g, rms %.2g", c, worst, rms)
			if worst > 2e-6 || rms > 2e-7 {
				t.Errorf("%v: error max %.3g, rms %.3g, want at most 2e-6 and 2e-7", c, worst, rms)
			}
		})
	}
}

func oracleError(c contracttest.Case, out *kernel.Tensor, q, k, v kernel.Tensor) (worst, rms float64) {
	n := 0
	for b := range c.B {
		for h := range c.H {
			kh := h / (c.H / c.HKV)
			want := make([]float64, c.Lq*c.Dv)
			fallback.Oracle(want, contracttest.Floats(q)[q.at(b, h, 0):], contracttest.Floats(k)[k.at(b, kh, 0):], contracttest.Floats(v)[v.at(b, kh, 0):],
				c.Lq, c.Lk, c.D, c.Dv, 1/math.Sqrt(float64(c.D)), func(i int) (int, int) {
					s := c.Mask.span(place{batch: b, query: i, keys: c.Lk, diagonal: i})
					return s.lo, s.hi
				})
			for i := range c.Lq {
				for e, x := range contracttest.Row(out, b, h, i) {
					d := math.Abs(float64(x) - want[i*c.Dv+e])
					worst = max(worst, d)
					rms += d * d
					n++
				}
			}
		}
	}
	return worst, math.Sqrt(rms / float64(n))
}
