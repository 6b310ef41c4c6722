package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestManyThreads: the number of threads changes no bit of a call that is worth many of them
// on every tier. A parallel-for shows that it is split for as many as asked for.
func TestManyThreads(t *testing.T) {
	contracttest.AllowThreads(t)
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 150, Lk: 1100, D: 32, Dv: 32, Mask: contracttest.Causal(950)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
		step := 1
		if testutil.Quick() {
			step = 7
		}
		for threads := 2; threads <= 9; threads += step {
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
			var own parallelFor
			got = c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads, ParallelFor: own.run}})
			contracttest.Same(t, fmt.Sprintf("own parallel-for, threads=%d", threads), &got, &want)
			if own.n != threads {
				t.Errorf("the call was split for %d threads, want %d", own.n, threads)
			}
		}
	})
}

// TestTileWidth makes every tile width of a tier the main one: the tiling changes no bit.
func TestTileWidth(t *testing.T) {
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 77, Lk: 300, D: 20, Dv: 12, Mask: contracttest.Causal(200)}
	q, k, v := c.Inputs()
	want := c.Contract(q, k, v)
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, lanes := range contracttest.Tier(t, tier).Widths {
			tuned, err := tier.Tuned(fmt.Sprintf("MainLanes=%d", lanes))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tuned, Threads: 1}})
			contracttest.Same(t, fmt.Sprintf("%d lanes", lanes), &got, &want)
		}
	})
}

// TestAlone compares rows, heads and batch rows done by themselves with the same
// ones in a batch, and prefill with token by token.
func TestAlone(t *testing.T) {
	const past = 190
	c := contracttest.Case{B: 2, H: 6, HKV: 2, Lq: 75, Lk: past + 75, D: 32, Dv: 32, Mask: contracttest.Causal(past)}
	q, k, v := c.Inputs()
	step := 1
	if testutil.Quick() {
		step = 11
	}
	keys := func(x kernel.Tensor, b, h, n int) kernel.Tensor {
		d := x.Shape()[3]
		return kernel.BHLD(contracttest.Floats(x)[contracttest.View(&x).At(b, h, 0):], 1, 1, n, d)
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		whole := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for b := range c.B {
			for h := range c.H {
				for i := h % step; i < c.Lq; i += step {
					// A cache that holds the past and this token alone, no mask.
					n := past + i + 1
					out := make([]float32, c.Dv)
					err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, c.Dv),
						kernel.BHLD(contracttest.Row(&q, b, h, i), 1, 1, 1, c.D),
						keys(k, b, h/3, n), keys(v, b, h/3, n), &kernel.Options{Exec: kernel.Exec{Tier: tier}})
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
	c := contracttest.Case{B: 1, H: 4, HKV: 2, Lq: 300, Lk: 300, D: 16, Dv: 16, Mask: contracttest.Causal(0)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		whole := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for _, chunk := range []int{1, 7, 64, 100, 299} {
			got := c.Tensor(1, c.H, c.Lq, c.Dv, contracttest.Canary)
			for at := 0; at < c.Lq; at += chunk {
				n := min(chunk, c.Lq-at)
				err := kernel.Attention(contracttest.Rows(got, at, at+n), contracttest.Rows(q, at, at+n), contracttest.Rows(k, 0, at+n), contracttest.Rows(v, 0, at+n), &kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Causal(at)}})
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
	c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: 40, Lk: 290, D: 16, Dv: 16, Mask: contracttest.Causal(250)}
	q, k, v := c.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		causal := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for i := range c.Lq {
			d := c
			d.Mask = contracttest.KeyLengths([]int{251 + i})
			lengths := d.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
			for h := range c.H {
				if !slices.Equal(contracttest.Row(&causal, 0, h, i), contracttest.Row(&lengths, 0, h, i)) {
					t.Fatalf("row %d of head %d differs", i, h)
				}
			}
		}
	})
}

// TestDecodeIsPrefill compares a prompt with the same one token by token, and a few
// tokens at a time.
func TestDecodeIsPrefill(t *testing.T) {
	const tokens = 280
	c := contracttest.Case{B: 1, H: 8, HKV: 2, Lq: tokens, Lk: tokens, D: 24, Dv: 24, Mask: contracttest.Causal(0), Seed: 5}
	q, k, v := c.Inputs()
	step := 1
	if testutil.Quick() {
		step = 23
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		want := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier}})
		for _, n := range []int{1, 2, 3, 5} {
			got := c.Tensor(1, c.H, tokens, c.Dv, contracttest.Canary)
			for at := 0; at < tokens; at += n {
				if at/n%step != 0 {
					n := min(n, tokens-at)
					from, to := contracttest.Rows(want, at, at+n), contracttest.Rows(got, at, at+n)
					contracttest.EachRow(&from, func(b, h, i int, row []float32) { copy(contracttest.Row(&to, b, h, i), row) })
					continue
				}
				end := min(at+n, tokens)
				err := kernel.Attention(contracttest.Rows(got, at, end), contracttest.Rows(q, at, end), contracttest.Rows(k, 0, end), contracttest.Rows(v, 0, end), &kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: kernel.Scoring{Mask: kernel.Causal(at)}})
				if err != nil {
					t.Fatal(err)
				}
			}
			contracttest.Same(t, fmt.Sprintf("%d at a time", n), &got, &want)
		}
	})
}
