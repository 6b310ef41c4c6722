package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// leastRead is the least number of floats that the bandwidth is measured with. If there
// are less, they are read several times.
const leastRead = 4 << 20

// Decode measures decoding: for each type, cache level and number of threads, then with more
// queries per head, then for batches of uneven lengths.
func Decode(ctx context.Context, c *Config, f *results.File) error {
	tiers := c.decodeTiers()
	for _, level := range chosen(c, cacheLevels()) {
		for _, t := range elementTypes {
			if err := c.decodeRows(ctx, tiers, level, t, f); err != nil {
				return err
			}
		}
	}
	if c.takes(false, queriesShape) {
		if err := c.queries(ctx, tiers, f); err != nil {
			return err
		}
	}
	if c.takes(false, raggedShape) {
		return c.ragged(ctx, tiers, f)
	}
	return nil
}

// decodeTiers returns the tiers with vectors, or else those that there are.
func (c *Config) decodeTiers() []string {
	if tiers := c.vectorTiers(); len(tiers) > 0 {
		return tiers
	}
	return c.Tiers
}

func (c *Config) decodeRows(ctx context.Context, tiers []string, level cacheLevel, t elementType, f *results.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := newDecoder(level, t)
	elements := 2 * float64(level.heads*level.keys*decodeSize)
	bytes := t.bytes * elements
	memory := numbers.Huge(int(bytes) * level.sets(t) / 4)
	part := max(int(bytes)/4, min(leastRead, len(memory)))
	reader := machine.NewReader(nil)
	probes := machine.NewProbes()
	for _, tier := range tiers {
		for _, threads := range c.Threads {
			if err := c.begin(ctx, fmt.Sprintf("decode %s %s %s threads=%d", level.name, t.name, tier, threads)); err != nil {
				return err
			}
			d.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}
			var times, reads, peaks []float64
			at := 0
			for start := time.Now(); len(times) < minRounds || time.Since(start) < c.time(decodeTime); {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				reader.Data = memory[at : at+part]
				reads = append(reads, reader.Rate(max(1, leastRead/part), threads))
				peaks = append(peaks, stats.Median(probes.For(tier).Sample(threads)))
				if at += part; at+part > len(memory) {
					at = 0
				}
				x, err := d.seconds()
				if err != nil {
					return err
				}
				times = append(times, 1e9*x)
			}
			r := results.Decode{Level: level.name, KVHeads: level.heads, Keys: level.keys, Size: decodeSize, Group: decodeGroup, Type: t.name,
				Tier: tier, Threads: threads, Timing: results.NewTiming(times[1:]), Bytes: bytes, Flops: 2 * decodeGroup * elements, Read: stats.Median(reads[1:])}
			r.GBs, r.Tokens = bytes/r.Ns, 1e9/r.Ns
			r.ReadPercent, r.PeakPercent = 100*r.GBs/r.Read, 100*r.Flops/r.Ns/stats.Median(peaks[1:])
			f.Decode = append(f.Decode, r)
		}
	}
	return nil
}

// queryCounts are numbers of queries per head, as in speculative decoding. They include
// those at which the kernels change.
var queryCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}

// queries measures the time for each token when several are decoded at once.
func (c *Config) queries(ctx context.Context, tiers []string, f *results.File) error {
	level := cacheLevels()[1]
	single := newDecoder(level, elementTypes[0])
	for _, tier := range tiers {
		for _, n := range queryCounts {
			if err := c.begin(ctx, fmt.Sprintf("%d queries %s", n, tier)); err != nil {
				return err
			}
			single.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
			several := *single
			several.setQueries(level, n)
			one, x, err := single.compare(ctx, c, &several)
			if err != nil {
				return err
			}
			x /= float64(n)
			f.Queries = append(f.Queries, results.Queries{Keys: level.keys, Queries: n, Rows: n * decodeGroup, Tier: tier, Ns: 1e9 * x, Percent: 100 * x / one})
		}
	}
	return nil
}
