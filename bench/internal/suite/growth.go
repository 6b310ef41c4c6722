package suite

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/table"
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

// growthTable prints how long it takes to append a token.
func growthTable(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "\nAppending n tokens of %d heads of size %d, until %d tokens fill the cache: time for each token.\n", growthHeads, growthSize, growthTokens)
	fmt.Fprint(out, "copy: only copies the float32 keys and values to the end of two slices, up to a page at once.\n")
	fmt.Fprint(out, "scatter: copies them to their positions in pages (in layout HND, each head has its own part of a page).\n\n")
	rows := []string{"n\tpage size\tlayout\tcopy\tscatter\tfloat32\t÷ copy\t÷ scatter\tfloat16\tbfloat16\tint8"}
	for _, n := range []int{1, 16, 512} {
		for _, pageSize := range []int{16, 64} {
			for _, layout := range []kvcache.PageLayout{kvcache.HND, kvcache.NHD} {
				row, err := growthRow(ctx, n, pageSize, layout)
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

func growthRow(ctx context.Context, n, pageSize int, layout kvcache.PageLayout) (string, error) {
	k, v := numbers.Ramps(n*growthHeads*growthSize), numbers.Ramps(n*growthHeads*growthSize)
	calls := []func() error{copyCall(k, v, min(n, pageSize)), copyCall(k, v, min(n, pageSize))}
	if layout == kvcache.HND {
		calls[1] = scatterCall(k, v, pageSize)
	}
	for dtype := kernel.Float32; dtype <= kernel.Int8; dtype++ {
		batch, seq, err := growingCache(pageSize, dtype, layout)
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
			return seq.Truncate(0)
		})
	}
	times, ratios, err := alternate(ctx, calls)
	if err != nil {
		return "", err
	}
	row := fmt.Sprintf("%d\t%d\t%s", n, pageSize, layoutNames[layout])
	for i, t := range times {
		row += fmt.Sprintf("\t%.0f ns", t/growthTokens)
		if i == 2 {
			row += fmt.Sprintf("\t%.2f\t%.2f", ratios[2], ratios[2]/ratios[1])
		}
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

// forkLines prints how long it takes to fork a sequence.
func forkLines(out io.Writer) error {
	for _, pageSize := range []int{16, 64} {
		batch, seq, err := growingCache(pageSize, kernel.Float32, kvcache.HND)
		if err != nil {
			return err
		}
		if err := batch.Extend(growthTokens); err != nil {
			return err
		}
		const forks = 10000
		start := time.Now()
		for range forks {
			f, err := seq.Fork(growthTokens)
			if err != nil {
				return err
			}
			f.Free()
		}
		fmt.Fprintf(out, "\nForking %d tokens in pages of %d, and freeing the fork: %.2f µs", growthTokens, pageSize, float64(time.Since(start).Microseconds())/forks)
	}
	fmt.Fprintln(out)
	return nil
}
