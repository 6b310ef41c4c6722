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
func cases() []attnCase {
	var cs []attnCase
	add := func(c attnCase) {
		c.seed = uint64(len(cs))
		c.layout = layout(len(cs)) % layouts
		cs = append(cs, c)
	}
	for _, lq := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 33, 47, 49, 63, 64, 65, 72, 100, 129} {
		add(attnCase{b: 1, h: 2, hkv: 2, lq: lq, lk: 19, d: 9, dv: 5})
		add(attnCase{b: 1, h: 1, hkv: 1, lq: lq, lk: lq, d: 16, dv: 16, mask: kernel.Causal(0)})
	}
	for _, lk := range []int{1, 2, 6, 13, 255, 256, 257, 511, 512, 513, 700} {
		add(attnCase{b: 2, h: 3, hkv: 1, lq: 5, lk: lk, d: 24, dv: 17})
		add(attnCase{b: 2, h: 2, hkv: 1, lq: 21, lk: lk, d: 8, dv: 8, mask: kernel.Causal(lk - 21)})
		add(attnCase{b: 2, h: 2, hkv: 2, lq: 3, lk: lk, d: 4, dv: 33, mask: kernel.KeyLengths([]int{lk, lk / 2})})
	}
	for _, d := range []int{1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 80, 128, 200} {
		add(attnCase{b: 1, h: 4, hkv: 2, lq: 11, lk: 40, d: d, dv: d})
		add(attnCase{b: 1, h: 1, hkv: 1, lq: 70, lk: 30, d: d, dv: 1 + d/2, scale: 0.3})
	}
	for _, off := range []int{-300, -20, -1, 0, 1, 100, 255, 256, 600, math.MaxInt} {
		add(attnCase{b: 1, h: 3, hkv: 1, lq: 90, lk: 300, d: 8, dv: 8, mask: kernel.Causal(off)})
		add(attnCase{b: 3, h: 2, hkv: 1, lq: 40, lk: 300, d: 8, dv: 8, mask: kernel.Causal(off).And(kernel.KeyLengths([]int{0, 270, 300}))})
	}
	add(attnCase{b: 2, h: 2, hkv: 1, lq: 3, lk: 0, d: 4, dv: 4})
	add(attnCase{b: 0, h: 2, hkv: 1, lq: 3, lk: 4, d: 4, dv: 4})
	add(attnCase{b: 2, h: 0, hkv: 0, lq: 3, lk: 4, d: 4, dv: 4})
	add(attnCase{b: 2, h: 2, hkv: 2, lq: 0, lk: 4, d: 4, dv: 4})
	return cs
}

// TestContract compares every tier, with one thread and several, with the
// contract computed row by row.
func TestContract(t *testing.T) {
	for _, c := range cases() {
		if testing.Short() && c.seed%5 != 0 {
			continue
		}
		t.Run(c.String(), c.isContract)
	}
}

// isContract compares all tiers, with one thread and several, with the contract.
func (c attnCase) isContract(t *testing.T) {
	q, k, v := c.inputs()
	want := c.contract(q, k, v)
	eachTier(t, func(t *testing.T, tier *tier) {
		for _, threads := range []int{1, 3} {
			got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
			same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
	})
}

// TestManyThreads has enough work for several threads to share a unit.
func TestManyThreads(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 150, lk: 1100, d: 32, dv: 32, mask: kernel.Causal(950)}
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		want := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: 1}})
		step := 1
		if quick() {
			step = 7
		}
		for threads := 2; threads <= 9; threads += step {
			got := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name, Threads: threads}})
			same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
		}
	})
}

// TestWidths forces every panel width of a tier to be the main one: the tiling
// must not change a bit.
func TestWidths(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 77, lk: 300, d: 20, dv: 12, mask: kernel.Causal(200)}
	q, k, v := c.inputs()
	want := c.contract(q, k, v)
	eachTier(t, func(t *testing.T, tr *tier) {
		for i := range tr.panels {
			out := c.tensor(c.b, c.h, c.lq, c.dv, canary)
			c.job(tr.withMain(tr.panels[i].lanes), out, q, k, v).run(nil)
			same(t, fmt.Sprintf("width %d", tr.panels[i].lanes), &out, &want)
		}
	})
}

// TestAlone compares rows, heads and batch rows done by themselves with the same
// ones in a batch, and prefill with token by token.
func TestAlone(t *testing.T) {
	const past = 190
	c := attnCase{b: 2, h: 6, hkv: 2, lq: 75, lk: past + 75, d: 32, dv: 32, mask: kernel.Causal(past)}
	q, k, v := c.inputs()
	step := 1
	if quick() {
		step = 11
	}
	eachTier(t, func(t *testing.T, tier *tier) {
		whole := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		for b := range c.b {
			for h := range c.h {
				for i := h % step; i < c.lq; i += step {
					// A cache that holds the past and this token alone, no mask.
					n := past + i + 1
					out := make([]float32, c.dv)
					err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, c.dv),
						kernel.BHLD(rowOf(&q, b, h, i), 1, 1, 1, c.d),
						kernel.BHLD(k.f32[k.at(b, h/3, 0):], 1, 1, n, c.d),
						kernel.BHLD(v.f32[v.at(b, h/3, 0):], 1, 1, n, c.dv), kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(out, rowOf(&whole, b, h, i)) {
						t.Fatalf("row %d %d %d alone differs", b, h, i)
					}
				}
			}
		}
	})
}

// TestChunkedPrefill: any chunking of the queries gives the bits of the whole.
func TestChunkedPrefill(t *testing.T) {
	c := attnCase{b: 1, h: 4, hkv: 2, lq: 300, lk: 300, d: 16, dv: 16, mask: kernel.Causal(0)}
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		whole := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		for _, chunk := range []int{1, 7, 64, 100, 299} {
			got := c.tensor(1, c.h, c.lq, c.dv, canary)
			for at := 0; at < c.lq; at += chunk {
				n := min(chunk, c.lq-at)
				part := func(t kernel.Tensor, l int) kernel.Tensor {
					return kernel.Strided(t.f32[t.at(0, 0, at):], [4]int{1, t.shape[1], l, t.shape[3]}, t.stride)
				}
				keys := func(t kernel.Tensor) kernel.Tensor {
					return kernel.Strided(t.f32, [4]int{1, t.shape[1], at + n, t.shape[3]}, t.stride)
				}
				err := kernel.Attention(part(got, n), part(q, n), keys(k), keys(v), kernel.Options{Exec: kernel.Exec{Tier: tier.name}, Mask: kernel.Causal(at)})
				if err != nil {
					t.Fatal(err)
				}
			}
			same(t, fmt.Sprintf("chunks of %d", chunk), &got, &whole)
		}
	})
}

// TestCausalIsLengths: a causal row sees what a key length would let it see.
func TestCausalIsLengths(t *testing.T) {
	c := attnCase{b: 1, h: 2, hkv: 1, lq: 40, lk: 290, d: 16, dv: 16, mask: kernel.Causal(250)}
	q, k, v := c.inputs()
	eachTier(t, func(t *testing.T, tier *tier) {
		causal := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
		for i := range c.lq {
			d := c
			d.mask = kernel.KeyLengths([]int{251 + i})
			lengths := d.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
			for h := range c.h {
				if !slices.Equal(rowOf(&causal, 0, h, i), rowOf(&lengths, 0, h, i)) {
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
	for _, c := range []attnCase{
		{b: 1, h: 2, hkv: 2, lq: 128, lk: 700, d: 64, dv: 64},
		{b: 1, h: 2, hkv: 1, lq: 200, lk: 200, d: 128, dv: 128, mask: kernel.Causal(0)},
		{b: 2, h: 2, hkv: 1, lq: 20, lk: 600, d: 32, dv: 48, mask: kernel.KeyLengths([]int{600, 77})},
	} {
		q, k, v := c.inputs()
		eachTier(t, func(t *testing.T, tier *tier) {
			out := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier.name}})
			worst, rms := oracleError(c, &out, q, k, v)
			t.Logf("%v: error against float64: max %.2g, rms %.2g", c, worst, rms)
			if worst > 2e-6 || rms > 2e-7 {
				t.Errorf("%v: error max %.3g, rms %.3g, want at most 2e-6 and 2e-7", c, worst, rms)
			}
		})
	}
}

func oracleError(c attnCase, out *kernel.Tensor, q, k, v kernel.Tensor) (worst, rms float64) {
	n := 0
	for b := range c.b {
		for h := range c.h {
			kh := h / (c.h / c.hkv)
			want := make([]float64, c.lq*c.dv)
			fallback.Oracle(want, q.f32[q.at(b, h, 0):], k.f32[k.at(b, kh, 0):], v.f32[v.at(b, kh, 0):],
				c.lq, c.lk, c.d, c.dv, 1/math.Sqrt(float64(c.d)), func(i int) (int, int) {
					s := c.mask.span(place{batch: b, query: i, keys: c.lk, diagonal: i})
					return s.lo, s.hi
				})
			for i := range c.lq {
				for e, x := range rowOf(out, b, h, i) {
					d := math.Abs(float64(x) - want[i*c.dv+e])
					worst = max(worst, d)
					rms += d * d
					n++
				}
			}
		}
	}
	return worst, math.Sqrt(rms / float64(n))
}
