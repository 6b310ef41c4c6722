package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// cacheShapes are what attention on pages is measured at: a token, a draft of some, a part of
// a prompt and a whole one.
var cacheShapes = []shape{
	{"decode", 32, 8, 1, 4096, 128, false},
	{"draft", 32, 8, 4, 4096, 128, false},
	{"chunk", 32, 8, 64, 4096, 128, false},
	{"prompt", 4, 4, 1024, 1024, 128, true},
}

var orderNames = [...]string{kvcache.HND: "HND", kvcache.NHD: "NHD"}

// What is compared alternates for cacheTime, and minRounds times at least.
const (
	cacheTime = 400 * time.Millisecond
	minRounds = 5
)

// reportCache prints what pages cost attention, and how long a cache takes to grow and to fork.
func reportCache(ctx context.Context, c *config, out io.Writer) error {
	tier := c.tiers[0]
	fmt.Fprintf(out, "\nAttention on pages in random order, on one thread of %s: time beside that of keys and values\n", tier)
	fmt.Fprint(out, "in one piece, with heads and tokens in the same order (HND: heads first, NHD: tokens first).\n\n")
	rows := []string{"shape\ttype\torder\tone piece\tpages of 256\t64\t16"}
	for i := range cacheShapes {
		s := &cacheShapes[i]
		for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16} {
			for _, order := range []kvcache.PageLayout{kvcache.HND, kvcache.NHD} {
				row, err := pagesRow(ctx, s, tier, dtype, order)
				if err != nil || ctx.Err() != nil {
					return err
				}
				rows = append(rows, row)
			}
		}
	}
	table(out, rows...)
	return reportGrowth(ctx, out)
}

// pagesRow compares one shape.
func pagesRow(ctx context.Context, s *shape, tier string, dtype kernel.DType, order kvcache.PageLayout) (string, error) {
	sizes := []int{s.lk, 256, 64, 16}
	var calls []func() error
	for _, size := range sizes {
		call, err := onPages(s, tier, dtype, order, size)
		if err != nil {
			return "", err
		}
		calls = append(calls, call)
	}
	times, ratios, err := alternate(ctx, calls)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s\t%v\t%s\t%.3f ms\t%+.1f%%\t%+.1f%%\t%+.1f%%", s.name, dtype, orderNames[order],
		times[0]/1e6, percent(ratios[1]), percent(ratios[2]), percent(ratios[3])), nil
}

func percent(ratio float64) float64 { return 100 * (ratio - 1) }

// alternate makes calls in turn, and returns their median times in ns and the medians of
// their ratios to the first.
func alternate(ctx context.Context, calls []func() error) (times, ratios []float64, err error) {
	all, relative := make([][]float64, len(calls)), make([][]float64, len(calls))
	for n, begin := 0, time.Now(); (n <= minRounds || time.Since(begin) < cacheTime) && ctx.Err() == nil; n++ {
		for i, call := range calls {
			start := time.Now()
			if err := call(); err != nil {
				return nil, nil, err
			}
			if n > 0 { // the first warms up
				all[i] = append(all[i], float64(time.Since(start).Nanoseconds()))
				relative[i] = append(relative[i], all[i][n-1]/all[0][n-1])
			}
		}
	}
	for i := range calls {
		times, ratios = append(times, median(all[i])), append(ratios, median(relative[i]))
	}
	return times, ratios, nil
}

// onPages returns a call of a shape on a cache with pages of so many tokens.
func onPages(s *shape, tier string, dtype kernel.DType, order kvcache.PageLayout, size int) (func() error, error) {
	cache, err := kvcache.New(kvcache.Config{Heads: s.kvHeads, HeadSize: s.d, Type: dtype, Layout: order, PageSize: size, Pages: s.lk / size})
	if err != nil {
		return nil, err
	}
	text := cache.NewSequence()
	batch, err := cache.NewBatch(text)
	if err != nil {
		return nil, err
	}
	rows := kernel.BLHD(waves(s.lk*s.kvHeads*s.d), 1, s.lk, s.kvHeads, s.d)
	if err := batch.Append(rows, rows); err != nil {
		return nil, err
	}
	pages := append([]int32(nil), text.Pages()...)
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	k, v := cache.Memory(0)
	if len(pages) > 1 {
		table := &kernel.PageTable{Pages: [][]int32{pages}, Lengths: []int{s.lk}}
		k, v = k.Paged(table), v.Paged(table)
	}
	q := kernel.BHLD(waves(s.heads*s.lq*s.d), 1, s.heads, s.lq, s.d)
	out := kernel.BHLD(make([]float32, s.heads*s.lq*s.d), 1, s.heads, s.lq, s.d)
	o := kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
	if s.causal {
		o.Mask = kernel.Causal(s.lk - s.lq)
	}
	return func() error { return kernel.Attention(out, q, k, v, o) }, nil
}

// waves are numbers whose making takes no time.
func waves(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%1021-510) / 256
	}
	return x
}

// growthHeads × growthSize are the numbers of a token's keys in what follows, growthTokens
// those that the cache has room for.
const (
	growthHeads  = 8
	growthSize   = 128
	growthTokens = 4096
)

// reportGrowth prints how long tokens take to be added, and a fork.
func reportGrowth(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "\nGrowing by n tokens of %d heads of %d, a token's time, and that of copying their float32 keys and\n", growthHeads, growthSize)
	fmt.Fprint(out, "values: to the end of two slices, all at once as far as a page goes; and to the places that they\n")
	fmt.Fprint(out, "have in pages, which are apart for each head where heads come first. All memory is in use by turns.\n\n")
	rows := []string{"n\tpages\torder\tcopy\tto places\tfloat32\tbeside copy\tto places\tfloat16\tbfloat16\tint8"}
	for _, n := range []int{1, 16, 512} {
		for _, size := range []int{16, 64} {
			for _, order := range []kvcache.PageLayout{kvcache.HND, kvcache.NHD} {
				row, err := growthRow(ctx, n, size, order)
				if err != nil || ctx.Err() != nil {
					return err
				}
				rows = append(rows, row)
			}
		}
	}
	table(out, rows...)
	return reportFork(out)
}

func growthRow(ctx context.Context, n, size int, order kvcache.PageLayout) (string, error) {
	k, v := waves(n*growthHeads*growthSize), waves(n*growthHeads*growthSize)
	calls := []func() error{copyCall(k, v, min(n, size)), copyCall(k, v, min(n, size))}
	if order == kvcache.HND {
		calls[1] = placeCall(k, v, size)
	}
	for dtype := kernel.Float32; dtype <= kernel.Int8; dtype++ {
		batch, text, err := growing(size, dtype, order)
		if err != nil {
			return "", err
		}
		tk, tv := kernel.BLHD(k, 1, n, growthHeads, growthSize), kernel.BLHD(v, 1, n, growthHeads, growthSize)
		calls = append(calls, func() error {
			for range growthTokens / n {
				if err := batch.Append(tk, tv); err != nil {
					return err
				}
			}
			return text.Truncate(0)
		})
	}
	times, ratios, err := alternate(ctx, calls)
	if err != nil {
		return "", err
	}
	row := fmt.Sprintf("%d\t%d\t%s", n, size, orderNames[order])
	for i, t := range times {
		row += fmt.Sprintf("\t%.0f ns", t/growthTokens)
		if i == 2 {
			row += fmt.Sprintf("\t%.2f\t%.2f", ratios[2], ratios[2]/ratios[1])
		}
	}
	return row, nil
}

// copyCall returns a call that copies k and v, chunk tokens at a time, as often as a cache has room.
func copyCall(k, v []float32, chunk int) func() error {
	chunk *= growthHeads * growthSize
	const all = growthTokens * growthHeads * growthSize
	toK, toV := make([]float32, all), make([]float32, all)
	return func() error {
		for at := 0; at < all; at += len(k) {
			for i := 0; i < len(k); i += chunk {
				copy(toK[at+i:], k[i:i+chunk])
				copy(toV[at+i:], v[i:i+chunk])
			}
		}
		return nil
	}
}

// placeCall is copyCall to the places of a cache's pages of so many tokens, heads first.
func placeCall(k, v []float32, size int) func() error {
	const token, all = growthHeads * growthSize, growthTokens * growthHeads * growthSize
	toK, toV := make([]float32, all), make([]float32, all)
	put := func(to, from []float32, at int) {
		for i := 0; i < len(from); i += token {
			first := at / size * size * token
			for h := range growthHeads {
				copy(to[first+(h*size+at%size)*growthSize:], from[i+h*growthSize:][:growthSize])
			}
			at++
		}
	}
	return func() error {
		for at := 0; at < growthTokens; at += len(k) / token {
			put(toK, k, at)
			put(toV, v, at)
		}
		return nil
	}
}

// growing returns a text of a cache with room for growthTokens.
func growing(size int, dtype kernel.DType, order kvcache.PageLayout) (*kvcache.Batch, *kvcache.Sequence, error) {
	cache, err := kvcache.New(kvcache.Config{Heads: growthHeads, HeadSize: growthSize, Type: dtype, Layout: order,
		PageSize: size, Pages: growthTokens / size})
	if err != nil {
		return nil, nil, err
	}
	text := cache.NewSequence()
	batch, err := cache.NewBatch(text)
	return batch, text, err
}

func reportFork(out io.Writer) error {
	for _, size := range []int{16, 64} {
		batch, text, err := growing(size, kernel.Float32, kvcache.HND)
		if err != nil {
			return err
		}
		if err := batch.Extend(growthTokens); err != nil {
			return err
		}
		const forks = 10000
		start := time.Now()
		for range forks {
			f, err := text.Fork(growthTokens)
			if err != nil {
				return err
			}
			f.Free()
		}
		fmt.Fprintf(out, "\nA fork of %d tokens in pages of %d, and its end: %.2f µs", growthTokens, size, float64(time.Since(start).Microseconds())/forks)
	}
	fmt.Fprintln(out)
	return nil
}
