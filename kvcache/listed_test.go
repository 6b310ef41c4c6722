package kvcache_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestKeyRows: lists of rows of a view, in pages of any size and layout, give the bits of the same
// lists of contiguous keys, for each element type, also where the sequences differ in length and
// have dropped tokens.
func TestKeyRows(t *testing.T) {
	for n, dtype := range contracttest.KeyTypes() {
		for _, size := range []int{1, 5, 16, 600} {
			c := smallConfig()
			c.Layers, c.KeyType, c.ValueType, c.PageSize, c.Pages = 1, dtype, dtype, size, 1200/size+8
			c.Layout = kvcache.PageLayout(n % 2)
			t.Run(fmt.Sprintf("%v/size=%d", dtype, size), func(t *testing.T) { attendToLists(t, c) })
		}
	}
}

func attendToLists(t *testing.T, config kvcache.Config) {
	h := newHarness(t, config)
	a, b := h.begin(), h.begin()
	h.grow([]int{a, b}, []int{300, 33})
	h.grow([]int{b, a}, []int{7, 40})
	h.must(h.sequences[a].DropBefore(50))
	h.grow([]int{a, b}, []int{2, 2})
	batch, err := h.cache.NewBatch(h.sequences[a], h.sequences[b])
	h.must(err)
	k, v := batch.View(0)
	lengths := []int{contracttest.View(&k).Length(0), contracttest.View(&k).Length(1)}
	copies := [2]kernel.Tensor{contracttest.Unpaged(&k), contracttest.Unpaged(&v)}
	lists := kernel.KeyRows{Rows: make([]int32, 2*config.Heads*2*270), Shape: [4]int{2, config.Heads, 2, 270}}
	r := testutil.Rand(3)
	for i := range lists.Rows {
		lists.Rows[i] = int32(r.IntN(lengths[i/(len(lists.Rows)/2)]))
	}
	q := contracttest.Case{B: 2, H: 3 * config.Heads, HKV: 1, Lq: 2, Lk: 1, D: config.HeadSize, Dv: 1, Seed: 5}
	queries, _, _ := q.Inputs()
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}, Scoring: batch.Scoring()}
		o.KeyRows = lists
		got, want := q.Output(config.ValueSize), q.Output(config.ValueSize)
		h.must(kernel.Attention(got, queries, k, v, &o))
		h.must(kernel.Attention(want, queries, copies[0], copies[1], &o))
		contracttest.Same(t, "", &got, &want)
	})
}
