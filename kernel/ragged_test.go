package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestRagged compares a ragged batch with calls for each of its sequences: a prompt
// after none, or after keys of a cache.
func TestRagged(t *testing.T) {
	const h, hkv, d, dv = 4, 2, 24, 20
	queries := []int{3, 0, 70, 1, 1, 300, 17, 1}
	keys := []int{3, 9, 70, 700, 256, 300, 257, 0}
	if testutil.Quick() {
		queries[5], keys[5] = 90, 90
	}
	largest, longest := queries[5], keys[3]
	c := contracttest.Case{B: len(queries), H: h, HKV: hkv, Lq: largest, Lk: longest, D: d, Dv: dv, Seed: 31}
	q, k, v := c.Inputs()
	past := make([]int, c.B)
	for b := range past {
		past[b] = keys[b] - queries[b]
	}
	o := kernel.Options{Mask: kernel.Causal(0), QueryStart: past, Sinks: []float32{1, 0, -1, 2}}
	want := c.Output(dv)
	lse := c.Output(1)
	for b := range c.B {
		row := func(t *kernel.Tensor, l int) kernel.Tensor {
			return kernel.Strided(contracttest.Floats(*t)[contracttest.View(t).At(b, 0, 0):], [4]int{1, t.Shape()[1], l, t.Shape()[3]}, t.Strides())
		}
		alone := o
		alone.QueryStart, alone.LSE = past[b:b+1], row(&lse, queries[b])
		if err := kernel.Attention(row(&want, queries[b]), row(&q, queries[b]), row(&k, keys[b]), row(&v, keys[b]), alone); err != nil {
			t.Fatal(err)
		}
	}
	lengths := raggedLengths{queries: queries, keys: keys, start: 2}
	rq, rk, rv := lengths.pack(q, k, v)
	want, lse = contracttest.Ragged(want, queries, 2), contracttest.Ragged(lse, queries, 2)
	step := 1
	if testutil.Quick() {
		step = 4
	}
	contracttest.ForceThreads(t)
	contracttest.EachTier(t, func(t *testing.T, tier string) {
		for threads := 1; threads <= 9; threads += step {
			o := o
			o.Tier, o.Threads = tier, threads
			o.LSE = c.Output(1)
			out := lengths.packOutputs(c.Output(dv), &o)
			if err := kernel.Attention(out, rq, rk, rv, o); err != nil {
				t.Fatal(err)
			}
			contracttest.CheckGaps(t, &out)
			contracttest.Same(t, fmt.Sprintf("threads=%d", threads), &out, &want)
			contracttest.Same(t, fmt.Sprintf("LSE, threads=%d", threads), &o.LSE, &lse)
		}
	})
}

// TestRaggedViews: a joint projection and any strides can be ragged.
func TestRaggedViews(t *testing.T) {
	data := testutil.Floats(9 * 6 * 4)
	starts := []int{1, 4, 4, 9}
	q, k, v := kernel.PackedQKV(data, 1, 9, 2, 2, 4)
	out := kernel.Ragged(testutil.Filled(9*2*4, contracttest.Canary), starts, 2, 4)
	if err := kernel.Attention(out, q.Ragged(starts), k.Ragged(starts), v.Ragged(starts), kernel.Options{}); err != nil {
		t.Fatal(err)
	}
	for b := range 3 {
		n := starts[b+1] - starts[b]
		q, k, v := kernel.PackedQKV(data[starts[b]*6*4:], 1, n, 2, 2, 4)
		want := kernel.BLHD(make([]float32, n*2*4), 1, n, 2, 4)
		if err := kernel.Attention(want, q, k, v, kernel.Options{}); err != nil {
			t.Fatal(err)
		}
		contracttest.EachRow(&want, func(_, h, l int, row []float32) {
			contracttest.SameRow(t, fmt.Sprint("row ", b, h, l), contracttest.Row(&out, b, h, l), row)
		})
	}
	contracttest.CheckGaps(t, &out)
}
