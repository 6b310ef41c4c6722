package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// quantizedShapes are calls of few rows and of many, on one block and several, with groups, masks that begin
// and end within segments of keys, and sizes for the kernels for integers and for others.
var quantizedShapes = []contracttest.Case{
	{B: 1, H: 4, HKV: 1, Lq: 1, Lk: 300, D: 64, Dv: 128},
	{B: 2, H: 3, HKV: 3, Lq: 1, Lk: 261, D: 16, Dv: 16, Layout: contracttest.TokenMajor},
	{B: 1, H: 10, HKV: 2, Lq: 2, Lk: 528, D: 48, Dv: 32, Mask: contracttest.Causal(526), Layout: contracttest.Gaps},
	{B: 1, H: 9, HKV: 1, Lq: 1, Lk: 97, D: 128, Dv: 80},
	{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 273, D: 24, Dv: 36},
	{B: 1, H: 2, HKV: 2, Lq: 70, Lk: 290, D: 128, Dv: 64, Mask: contracttest.Causal(220)},
	{B: 1, H: 2, HKV: 1, Lq: 130, Lk: 530, D: 12, Dv: 4, Mask: contracttest.Window(90, -1).And(contracttest.Causal(400)), Layout: contracttest.Gaps},
	{B: 3, H: 2, HKV: 1, Lq: 17, Lk: 260, D: 192, Dv: 96, Mask: contracttest.KeyLengths([]int{260, 0, 257})},
	{B: 1, H: 2, HKV: 1, Lq: 1, Lk: 3, D: 128, Dv: 128},
	{B: 1, H: 7, HKV: 1, Lq: 1, Lk: 40, D: 160, Dv: 16},
}

// TestQuantized compares quantized calls with the contract: with one scale for a row and several, in pages, from
// a position on, with NaN and Inf, on every tier and on several threads.
func TestQuantized(t *testing.T) {
	contracttest.ForceThreads(t)
	integers := []kernel.DType{kernel.Int8, kernel.Int4}
	for n := range 4 * len(quantizedShapes) {
		c := quantizedShapes[n%len(quantizedShapes)]
		variant := n / len(quantizedShapes)
		c = c.With(contracttest.TypesOf(kernel.DType(n%3), integers[variant/2], integers[variant%2], kernel.Float32))
		c.Seed = uint64(n)
		t.Run(fmt.Sprintf("%v/%v", c.Types, c), func(t *testing.T) {
			q, k, v := c.Inputs()
			if n%4 == 3 {
				r := testutil.Rand(n)
				sprinkle(&r, &q, &k, &v)
			}
			q, k, v = c.Typed(q, k, v)
			opts := kernel.Options{Quantized: true, Scale: c.Scale}
			if n%3 == 1 {
				opts.KeyStart, opts.QueryStart = []int{47 * n}, []int{47 * n}
			}
			want := c.Output(c.Dv)
			m := c.Model(q, k, v, &opts)
			contracttest.EachRow(&want, func(b, h, i int, row []float32) { copy(row, m.Row(b, h, i).Out) })
			contracttest.EachTier(t, func(t *testing.T, tier string) {
				for _, threads := range []int{1, 3} {
					o := opts
					o.Tier, o.Threads = tier, threads
					got := c.Run(t, q, k, v, o)
					contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &got, &want)
				}
			})
		})
	}
}
