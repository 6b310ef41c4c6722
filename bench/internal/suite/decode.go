package suite

import (
	"context"
	"fmt"
	"slices"
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

// Decode measures decoding: for each type, cache level and number of threads, then with other
// groups of query heads, and with more queries per head.
func Decode(ctx context.Context, c *Config, f *results.File) error {
	tiers := c.decodeTiers()
	for _, level := range chosen(c, cacheLevels()) {
		for _, t := range elementTypes {
			if err := c.decodeRows(ctx, newDecoder(level, t, decodeGroup), tiers, c.Threads, &f.Decode); err != nil {
				return err
			}
		}
	}
	if c.takes(false, groupsShape) {
		if err := c.groups(ctx, tiers, f); err != nil {
			return err
		}
	}
	if c.takes(false, queriesShape) {
		return c.queries(ctx, tiers, f)
	}
	return nil
}

// decodeTiers returns the tiers with vectors, or else those that there are.
func (c *Config) decodeTiers() []kernel.Tier {
	if tiers := c.vectorTiers(); len(tiers) > 0 {
		return tiers
	}
	return c.Tiers
}

// decodeRows appends the rows of a decoder for all tiers and numbers of threads.
func (c *Config) decodeRows(ctx context.Context, d *stepDecoder, tiers []kernel.Tier, numbersOfThreads []int, rows *[]results.Decode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	level, t := d.level, d.element
	elements := 2 * float64(level.heads*level.keys*decodeSize)
	bytes := t.bytes * elements
	memory := numbers.Huge(int(bytes) * level.sets(t) / 4)
	part := max(int(bytes)/4, min(leastRead, len(memory)))
	reader := machine.NewReader(nil)
	probes := machine.NewProbes()
	for _, tier := range tiers {
		for _, threads := range numbersOfThreads {
			if err := c.begin(ctx, fmt.Sprintf("decode %s %s group=%d %s threads=%d", level.name, t.name, d.group, tier, threads)); err != nil {
				return err
			}
			d.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}, Scoring: kernel.Scoring{DynamicInt12: t.quantized}}
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
			r := results.Decode{Level: level.name, KVHeads: level.heads, Keys: level.keys, Size: decodeSize, Group: d.group, Type: t.name,
				Tier: tier.String(), Threads: threads, Timing: results.NewTiming(times[1:]), Bytes: bytes, Flops: 2 * float64(d.group) * elements, Read: stats.Median(reads[1:]), ReadSpread: stats.Spread(reads[1:]), PeakSpread: stats.Spread(peaks[1:])}
			r.GBs, r.Tokens = bytes/r.Ns, 1e9/r.Ns
			r.ReadPercent, r.PeakPercent = 100*r.GBs/r.Read, 100*r.Flops/r.Ns/stats.Median(peaks[1:])
			*rows = append(*rows, r)
		}
	}
	return nil
}

// Numbers of query heads for each KV head: without groups, of models such as Llama 3 (4) and
// Qwen 2 (7), and those of models with few KV heads or one.
var smallGroups, largeGroups = []int{1, 2, 4, 7, 8}, []int{16, 32, 71}

// groupSizes returns those that are measured with a type from a level: large ones with float32
// from beyond L2.
func groupSizes(level cacheLevel, t elementType) []int {
	if level.heads == 1 || t.name != elementTypes[0].name {
		return smallGroups
	}
	return slices.Concat(smallGroups, largeGroups)
}

// groups measures decoding on one thread with groups of several sizes.
func (c *Config) groups(ctx context.Context, tiers []kernel.Tier, f *results.File) error {
	for _, level := range cacheLevels() {
		for _, t := range elementTypes {
			d := newDecoder(level, t, 1)
			for _, d.group = range groupSizes(level, t) {
				d.setQueries(1)
				if err := c.decodeRows(ctx, d, tiers, []int{1}, &f.Groups); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// queryCounts are numbers of queries per head, as in speculative decoding. They include
// those at which the kernels change.
var queryCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}

// queries measures the time for each token when several are decoded at once.
func (c *Config) queries(ctx context.Context, tiers []kernel.Tier, f *results.File) error {
	level := cacheLevels()[1]
	single := newDecoder(level, elementTypes[0], decodeGroup)
	for _, tier := range tiers {
		for _, n := range queryCounts {
			if err := c.begin(ctx, fmt.Sprintf("%d queries %s", n, tier)); err != nil {
				return err
			}
			single.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
			several := *single
			several.setQueries(n)
			one, x, err := single.compare(ctx, c, &several)
			if err != nil {
				return err
			}
			x /= float64(n)
			f.Queries = append(f.Queries, results.Queries{Keys: level.keys, Queries: n, Rows: n * decodeGroup, Tier: tier.String(), Ns: 1e9 * x, Percent: 100 * x / one})
		}
	}
	return nil
}
