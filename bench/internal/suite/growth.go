package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// The cache that grows has room for growthTokens tokens, each with growthHeads keys and as
// many values of growthSize numbers.
const (
	growthHeads  = 8
	growthSize   = 128
	growthTokens = 4096
)

// How many tokens are appended at once, and the page sizes.
var growthCounts, growthPages = []int{1, 16, 512}, []int{16, 64}

// growth measures how long it takes to append a token.
func (c *Config) growth(ctx context.Context, f *results.File) error {
	for _, n := range some(c, growthCounts, 2) {
		for _, pageSize := range some(c, growthPages, 1) {
			for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
				if err := c.begin(ctx, fmt.Sprintf("append %d, pages of %d, %s", n, pageSize, layoutNames[layout])); err != nil {
					return err
				}
				row, err := c.growthRow(ctx, n, pageSize, layout)
				if err != nil {
					return err
				}
				f.Growth = append(f.Growth, row)
			}
		}
	}
	return nil
}

func (c *Config) growthRow(ctx context.Context, n, pageSize int, layout kvcache.PageLayout) (row results.Growth, err error) {
	row = results.Growth{AtOnce: n, PageSize: pageSize, Layout: layoutNames[layout]}
	k, v := numbers.Ramps(n*growthHeads*growthSize), numbers.Ramps(n*growthHeads*growthSize)
	calls := []func() error{copyCall(k, v, min(n, pageSize)), copyCall(k, v, min(n, pageSize))}
	if layout == kvcache.LayoutHND {
		calls[1] = scatterCall(k, v, pageSize)
	}
	for dtype := kernel.Float32; dtype <= kernel.Int8; dtype++ {
		batch, seq, err := growingCache(pageSize, dtype, layout)
		if err != nil {
			return row, err
		}
		row.Types = append(row.Types, dtype.String())
		tk, tv := kernel.BLHD(k, 1, n, growthHeads, growthSize), kernel.BLHD(v, 1, n, growthHeads, growthSize)
		calls = append(calls, func() error {
			for range growthTokens / n {
				if err := batch.Append(tk, tv); err != nil {
					return err
				}
			}
			return seq.Truncate(0)
		})
	}
	times, ratios, err := c.alternate(ctx, calls)
	if err != nil {
		return row, err
	}
	row.Copy, row.Scatter = times[0].Ns/growthTokens, times[1].Ns/growthTokens
	row.OverCopy, row.OverScatter = ratios[2], ratios[2]/ratios[1]
	for _, t := range times[2:] {
		row.Ns = append(row.Ns, t.Ns/growthTokens)
	}
	return row, nil
}

// copyCall returns a call that fills two slices with growthTokens tokens of k and v, chunk
// tokens at a time.
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

// scatterCall does the same as copyCall, but copies each head's part of a token to its
// position in a page of layout HND.
func scatterCall(k, v []float32, pageSize int) func() error {
	const token, all = growthHeads * growthSize, growthTokens * growthHeads * growthSize
	toK, toV := make([]float32, all), make([]float32, all)
	scatter := func(to, from []float32, at int) {
		for i := 0; i < len(from); i += token {
			page := at / pageSize * pageSize * token
			for h := range growthHeads {
				copy(to[page+(h*pageSize+at%pageSize)*growthSize:], from[i+h*growthSize:][:growthSize])
			}
			at++
		}
	}
	return func() error {
		for at := 0; at < growthTokens; at += len(k) / token {
			scatter(toK, k, at)
			scatter(toV, v, at)
		}
		return nil
	}
}

// growingCache returns an empty sequence of a cache with room for growthTokens, and a batch
// of that sequence alone.
func growingCache(pageSize int, dtype kernel.DType, layout kvcache.PageLayout) (*kvcache.Batch, *kvcache.Sequence, error) {
	cache, err := kvcache.New(kvcache.Config{Heads: growthHeads, HeadSize: growthSize, Type: dtype, Layout: layout,
		PageSize: pageSize, Pages: growthTokens / pageSize})
	if err != nil {
		return nil, nil, err
	}
	seq := cache.NewSequence()
	batch, err := cache.NewBatch(seq)
	return batch, seq, err
}

// forks measures how long it takes to fork a sequence.
func forks(f *results.File) error {
	for _, pageSize := range []int{16, 64} {
		batch, seq, err := growingCache(pageSize, kernel.Float32, kvcache.LayoutHND)
		if err != nil {
			return err
		}
		if err := batch.Extend(growthTokens); err != nil {
			return err
		}
		const forks = 10000
		start := time.Now()
		for range forks {
			fork, err := seq.Fork(growthTokens)
			if err != nil {
				return err
			}
			fork.Free()
		}
		f.Forks = append(f.Forks, results.Fork{Tokens: growthTokens, PageSize: pageSize, Ns: float64(time.Since(start).Nanoseconds()) / forks})
	}
	return nil
}
