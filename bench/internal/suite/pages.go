package suite

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/table"
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

var layoutNames = [...]string{kvcache.HND: "HND", kvcache.NHD: "NHD"}

// Cache prints what pages cost attention, and how long a cache takes to grow and to fork.
func Cache(ctx context.Context, c *Config, out io.Writer) error {
	if err := pagesTable(ctx, c.Tiers[0], out); err != nil {
		return err
	}
	if err := growthTable(ctx, out); err != nil {
		return err
	}
	return forkLines(out)
}

func pagesTable(ctx context.Context, tier string, out io.Writer) error {
	fmt.Fprintf(out, "\nAttention on pages in random order, on one thread of %s: time in comparison with contiguous keys\n", tier)
	fmt.Fprint(out, "and values of the same layout (HND: heads first, NHD: tokens first).\n\n")
	rows := []string{"shape\ttype\tlayout\tcontiguous\tpages of 256\t64\t16"}
	for i := range pagesShapes {
		s := &pagesShapes[i]
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16} {
			for _, layout := range []kvcache.PageLayout{kvcache.HND, kvcache.NHD} {
				row, err := pagesRow(ctx, s, tier, dtype, layout)
				if err != nil {
					return err
				}
				rows = append(rows, row)
			}
		}
	}
	table.Write(out, rows...)
	return nil
}

func pagesRow(ctx context.Context, s *problem.Shape, tier string, dtype kernel.DType, layout kvcache.PageLayout) (string, error) {
	var calls []func() error
	for _, pageSize := range []int{s.Lk, 256, 64, 16} {
		call, err := pagesCall(s, tier, dtype, layout, pageSize)
		if err != nil {
			return "", err
		}
		calls = append(calls, call)
	}
	times, ratios, err := alternate(ctx, calls)
	if err != nil {
		return "", err
	}
	row := fmt.Sprintf("%s\t%v\t%s\t%.3f ms", s.Name, dtype, layoutNames[layout], times[0]/1e6)
	for _, r := range ratios[1:] {
		row += fmt.Sprintf("\t%+.1f%%", 100*(r-1))
	}
	return row, nil
}

// pagesCall returns a call of this shape on a cache with pages of so many tokens.
func pagesCall(s *problem.Shape, tier string, dtype kernel.DType, layout kvcache.PageLayout, pageSize int) (func() error, error) {
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
	return func() error { return kernel.Attention(out, q, k, v, o) }, nil
}
