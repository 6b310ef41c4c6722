package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// plainCases are calls of one block of keys.
var plainCases = []contracttest.Case{
	{B: 2, H: 9, HKV: 9, Lq: 1, Lk: 1, D: 64, Dv: 64},
	{B: 1, H: 6, HKV: 2, Lq: 1, Lk: 7, D: 20, Dv: 12},
	{B: 1, H: 10, HKV: 2, Lq: 2, Lk: 9, D: 8, Dv: 40},
	{B: 1, H: 3, HKV: 3, Lq: 16, Lk: 16, D: 64, Dv: 64},
	{B: 2, H: 5, HKV: 1, Lq: 7, Lk: 33, D: 12, Dv: 20}, // tiles begin within a group
	{B: 2, H: 6, HKV: 3, Lq: 2, Lk: 8, D: 64, Dv: 72},  // tiles of rows of several heads, here whole ones
	{B: 3, H: 9, HKV: 9, Lq: 3, Lk: 5, D: 16, Dv: 20},  // and here parts of them
	{B: 2, H: 5, HKV: 5, Lq: 1, Lk: 15, D: 8, Dv: 3},
	{B: 1, H: 2, HKV: 2, Lq: 37, Lk: 256, D: 16, Dv: 8},
}

// TestPlainCalls: calls of one block of keys without options have the bits of the contract, for
// skinny and other tiles and their last, narrower ones, tiles of rows of several heads, groups that
// a tile divides, all layouts of heads, and heads that hold a NaN or Inf in a query, a key or a
// value.
func TestPlainCalls(t *testing.T) {
	for _, c := range plainCases {
		for i, x := range []float32{1, testutil.NaN, testutil.Inf, -testutil.Inf} {
			c.Layout = contracttest.Layout(i) % contracttest.Layouts
			for in := range 3 {
				q, k, v := c.Inputs()
				contracttest.EachRow([]*kernel.Tensor{&q, &k, &v}[in], func(b, h, l int, row []float32) {
					if b == c.B-1 && h == 0 && l == 0 {
						row[len(row)-1] = x
					}
				})
				want := c.Contract(q, k, v)
				contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
					for threads := 1; threads <= 1+i%2; threads++ {
						o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{KeyStart: []int{512 * i}}} // blocks begin there
						got := c.Run(t, q, k, v, o)
						contracttest.Same(t, c.String(), &got, &want)
					}
				})
			}
		}
	}
}

// TestShortCalls: calls of few elements that are not all float32 have the bits of the contract, for
// all types and layouts, with NaN and Inf.
func TestShortCalls(t *testing.T) {
	contracttest.ForceThreads(t)
	for n, types := range contracttest.AllTypes() {
		c := plainCases[n%len(plainCases)].With(types)
		c.Seed, c.Layout = uint64(n), contracttest.Layout(n/len(plainCases))%contracttest.Layouts
		if !testutil.Every(n, 5, 11) {
			continue
		}
		q, k, v := c.Inputs()
		if n%2 == 0 {
			r := testutil.Rand(n)
			sprinkle(&r, &q, &k, &v)
		}
		q, k, v = c.Typed(q, k, v)
		want := c.Contract(q, k, v)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 3} {
				got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
				contracttest.Same(t, fmt.Sprintf("%v, %v, threads=%d", types, c, threads), &got, &want)
			}
		})
	}
}
