package suite

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// raggedLengths are the lengths of a batch's sequences, up to a common factor.
var raggedLengths = []int{3000, 10, 200, 6000, 50, 800, 12000, 400, 1, 2500, 77, 1500}

// raggedHeads is the number of KV heads of such a batch.
const raggedHeads = 2

// ragged measures the speedup by several threads on batches of sequences of very different
// lengths. In L3 it shows how evenly the work is divided. From memory, reading limits the
// speedup, so that of reading is measured as well.
func (c *Config) ragged(ctx context.Context, tiers []kernel.Tier, f *results.File) error {
	threads := machine.MaxThreads()
	if threads == 1 {
		return nil
	}
	_, l3 := machine.CacheSizes()
	for _, level := range []struct {
		name  string
		bytes int
	}{{"L3", l3 / 4}, {"memory", machine.MemoryBytes()}} {
		reading := readingSpeedup(level.bytes, threads)
		for _, t := range raggedTypes {
			d := newRaggedDecoder(level.bytes, t)
			for _, tier := range tiers {
				if err := c.begin(ctx, fmt.Sprintf("ragged %s %s %s", level.name, t.name, tier)); err != nil {
					return err
				}
				one, speedup, err := d.speedup(ctx, c, tier, threads)
				if err != nil {
					return err
				}
				f.Ragged = append(f.Ragged, results.Ragged{Level: level.name, Bytes: level.bytes, Type: t.name, Tier: tier.String(), One: 1e9 * one,
					Threads: threads, Speedup: speedup, Reading: reading})
			}
		}
	}
	return nil
}

// A raggedType is an element type of such a batch.
type raggedType struct {
	name   string
	bytes  int // of an element
	ragged func(x []float32, starts []int) kernel.Tensor
}

// raggedTypes are one that is limited by reading and one that is limited by arithmetic.
var raggedTypes = []raggedType{
	{"float32", 4, func(x []float32, starts []int) kernel.Tensor {
		return kernel.Ragged(x, starts, raggedHeads, decodeSize)
	}},
	{"float16", 2, func(x []float32, starts []int) kernel.Tensor {
		return kernel.Ragged(numbers.Convert(x, numeric.ToF16), starts, raggedHeads, decodeSize)
	}},
}

// newRaggedDecoder makes a batch whose keys and values take so many bytes.
func newRaggedDecoder(bytes int, t raggedType) *stepDecoder {
	sum := 0
	for _, n := range raggedLengths {
		sum += n
	}
	starts, tokens := []int{0}, float64(bytes/(2*t.bytes*raggedHeads*decodeSize))
	for _, n := range raggedLengths {
		starts = append(starts, starts[len(starts)-1]+max(1, int(tokens*float64(n)/float64(sum))))
	}
	batch, heads := len(raggedLengths), raggedHeads*decodeGroup
	keyValues := func() []float32 { return numbers.Huge(starts[batch] * raggedHeads * decodeSize) }
	return &stepDecoder{
		q:   kernel.BHLD(numbers.Normals(batch*heads*decodeSize), batch, heads, 1, decodeSize),
		out: kernel.BHLD(make([]float32, batch*heads*decodeSize), batch, heads, 1, decodeSize),
		k:   []kernel.Tensor{t.ragged(keyValues(), starts)},
		v:   []kernel.Tensor{t.ragged(keyValues(), starts)},
	}
}

// speedup returns the time of a call on one thread, and how many times as fast it is on
// several threads.
func (d *stepDecoder) speedup(ctx context.Context, c *Config, tier kernel.Tier, threads int) (one, speedup float64, err error) {
	d.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
	parallel := *d
	parallel.opts.Threads = threads
	one, x, err := d.compare(ctx, c, &parallel)
	return one, one / x, err
}

// readingSpeedup returns how many times as fast several threads read memory as one thread.
func readingSpeedup(bytes, threads int) float64 {
	r := machine.NewReader(numbers.Huge(bytes / 4))
	var rates [2][]float64
	for range 9 {
		for i, n := range []int{1, threads} {
			rates[i] = append(rates[i], r.Rate(1+4*leastRead/len(r.Data), n))
		}
	}
	return stats.Median(rates[1]) / stats.Median(rates[0])
}
