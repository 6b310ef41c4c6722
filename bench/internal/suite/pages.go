package suite

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// pagesShapes are the calls that attention on pages is measured with: one token, a draft of
// several, a part of a prompt, and a whole prompt.
var pagesShapes = []problem.Shape{
	{Name: "decode", Heads: 32, KVHeads: 8, Lq: 1, Lk: 4096, D: 128},
	{Name: "draft", Heads: 32, KVHeads: 8, Lq: 4, Lk: 4096, D: 128},
	{Name: "chunk", Heads: 32, KVHeads: 8, Lq: 64, Lk: 4096, D: 128},
	{Name: "prompt", Heads: 4, KVHeads: 4, Lq: 1024, Lk: 1024, D: 128, Causal: true},
}

var layoutNames = [...]string{kvcache.LayoutHND: "HND", kvcache.LayoutNHD: "NHD"}

// Cache measures what pages cost attention, and how long a cache takes to grow and to fork.
func Cache(ctx context.Context, c *Config, f *results.File) error {
	if err := c.pages(ctx, f); err != nil {
		return err
	}
	if err := c.growth(ctx, f); err != nil {
		return err
	}
	return forks(f)
}

// pageSizes are those that are compared with contiguous keys and values.
var pageSizes = []int{256, 64, 16}

func (c *Config) pages(ctx context.Context, f *results.File) error {
	for i := range some(c, pagesShapes, 1) {
		s := &pagesShapes[i]
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16} {
			for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
				if err := c.begin(ctx, fmt.Sprintf("pages %s %v %s", s.Name, dtype, layoutNames[layout])); err != nil {
					return err
				}
				row, err := c.pagesRow(ctx, s, dtype, layout)
				if err != nil {
					return err
				}
				f.Pages = append(f.Pages, row)
			}
		}
	}
	return nil
}

func (c *Config) pagesRow(ctx context.Context, s *problem.Shape, dtype kernel.DType, layout kvcache.PageLayout) (row results.Pages, err error) {
	row = results.Pages{Shape: s.Name, Type: dtype.String(), Layout: layoutNames[layout], Tier: c.Tiers[0].String(), Sizes: pageSizes}
	var calls []func() error
	for _, pageSize := range append([]int{s.Lk}, pageSizes...) {
		call, err := pagesCall(s, c.Tiers[0], dtype, layout, pageSize)
		if err != nil {
			return row, err
		}
		calls = append(calls, call)
	}
	times, ratios, err := c.alternate(ctx, calls)
	if err != nil {
		return row, err
	}
	row.Contiguous = times[0].Ns
	for _, r := range ratios[1:] {
		row.Cost = append(row.Cost, 100*(r-1))
	}
	return row, nil
}

// pagesCall returns a call of this shape on a cache with pages of so many tokens.
func pagesCall(s *problem.Shape, tier kernel.Tier, dtype kernel.DType, layout kvcache.PageLayout, pageSize int) (func() error, error) {
	cache, err := kvcache.New(kvcache.Config{Heads: s.KVHeads, HeadSize: s.D, Type: dtype, Layout: layout, PageSize: pageSize, Pages: s.Lk / pageSize})
	if err != nil {
		return nil, err
	}
	seq := cache.NewSequence()
	batch, err := cache.NewBatch(seq)
	if err != nil {
		return nil, err
	}
	rows := kernel.BLHD(numbers.Ramps(s.Lk*s.KVHeads*s.D), 1, s.Lk, s.KVHeads, s.D)
	if err := batch.Append(rows, rows); err != nil {
		return nil, err
	}
	pages := append([]int32(nil), seq.Pages()...)
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	k, v := cache.Memory(0)
	if len(pages) > 1 {
		table := &kernel.PageTable{Pages: [][]int32{pages}, Lengths: []int{s.Lk}}
		k, v = k.Paged(table), v.Paged(table)
	}
	q := kernel.BHLD(numbers.Ramps(s.Heads*s.Lq*s.D), 1, s.Heads, s.Lq, s.D)
	out := kernel.BHLD(make([]float32, s.Heads*s.Lq*s.D), 1, s.Heads, s.Lq, s.D)
	o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
	if s.Causal {
		o.Mask = kernel.Causal(s.Lk - s.Lq)
	}
	return func() error { return kernel.Attention(out, q, k, v, &o) }, nil
}
