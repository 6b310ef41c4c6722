package suite

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

// decodeRows measure decoding: for each type, cache level and number of threads, then with other
// groups of query heads, and with more queries per head.
func decodeRows(c *Config, f *results.File) (rows []row) {
	for _, level := range chosen(c, cacheLevels()) {
		for _, t := range elementTypes {
			rows = append(rows, c.decoding(level, t, []int{decodeGroup}, c.Threads, &f.Decode)...)
		}
	}
	if c.takes(false, groupsShape) {
		for _, level := range cacheLevels() {
			for _, t := range elementTypes {
				rows = append(rows, c.decoding(level, t, groupSizes(level, t), []int{1}, &f.Groups)...)
			}
		}
	}
	if c.takes(false, queriesShape) {
		rows = append(rows, c.queries(f)...)
	}
	return rows
}

// decodeTiers returns the tiers with vectors, or else those that there are.
func (c *Config) decodeTiers() []kernel.Tier {
	if tiers := c.vectorTiers(); len(tiers) > 0 {
		return tiers
	}
	return c.Tiers
}

// decoding returns rows of one level and type for groups of several sizes.
func (c *Config) decoding(level cacheLevel, t elementType, groups, numbersOfThreads []int, to *[]results.Decode) (rows []row) {
	decoder, probes := sync.OnceValue(func() *stepDecoder { return newDecoder(level, t, groups[0]) }), sync.OnceValue(machine.NewProbes)
	for _, group := range groups {
		for _, tier := range c.decodeTiers() {
			for _, threads := range numbersOfThreads {
				rows = append(rows, row{fmt.Sprintf("decode %s %s group=%d %s threads=%d", level.name, t.name, group, tier, threads),
					appended(to, func(ctx context.Context) (results.Decode, error) {
						d := decoder()
						if d.group != group {
							d.group = group
							d.setQueries(1)
						}
						return c.decodeRow(ctx, d, kernel.Exec{Tier: tier, Threads: threads}, probes().For(tier))
					})})
			}
		}
	}
	return rows
}

// decodeRow measures decoding, and right beside it reading as much memory and the FMA peak.
func (c *Config) decodeRow(ctx context.Context, d *stepDecoder, e kernel.Exec, probe *machine.Probe) (r results.Decode, err error) {
	level, t := d.level, d.element
	elements := 2 * float64(level.heads*level.keys*decodeSize)
	bytes := t.bytes * elements
	if d.memory == nil {
		d.memory = numbers.Huge(int(bytes) * level.sets(t) / 4)
	}
	part := max(int(bytes)/4, min(leastRead, len(d.memory)))
	reader := machine.NewReader(nil)
	d.opts = kernel.Options{Exec: e, Scoring: kernel.Scoring{DynamicInt12: t.quantized, BFloat16: t.rounds}}
	var times, reads, peaks []float64
	at := 0
	for start := time.Now(); len(times) < minRounds || time.Since(start) < c.time(decodeTime); {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		reader.Data = d.memory[at : at+part]
		reads = append(reads, reader.Rate(max(1, leastRead/part), e.Threads))
		peaks = append(peaks, stats.Median(probe.Sample(e.Threads)))
		if at += part; at+part > len(d.memory) {
			at = 0
		}
		x, err := d.seconds()
		if err != nil {
			return r, err
		}
		times = append(times, 1e9*x)
	}
	r = results.Decode{Level: level.name, KVHeads: level.heads, Keys: level.keys, Size: decodeSize, Group: d.group, Type: t.name,
		Tier: e.Tier.String(), Threads: e.Threads, Timing: results.NewTiming(times[1:]), Bytes: bytes, Flops: 2 * float64(d.group) * elements, Read: stats.Median(reads[1:]), ReadSpread: stats.Spread(reads[1:]), PeakSpread: stats.Spread(peaks[1:])}
	r.GBs, r.Tokens = bytes/r.Ns, 1e9/r.Ns
	r.ReadPercent, r.PeakPercent = 100*r.GBs/r.Read, 100*r.Flops/r.Ns/stats.Median(peaks[1:])
	return r, nil
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

// queryCounts are numbers of queries per head, as in speculative decoding. They include
// those at which the kernels change.
var queryCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}

// queries measure the time for each token when several are decoded at once.
func (c *Config) queries(f *results.File) (rows []row) {
	level := cacheLevels()[1]
	decoder := sync.OnceValue(func() *stepDecoder { return newDecoder(level, elementTypes[0], decodeGroup) })
	for _, tier := range c.decodeTiers() {
		for _, n := range queryCounts {
			rows = append(rows, row{fmt.Sprintf("%d queries %s", n, tier), appended(&f.Queries, func(ctx context.Context) (r results.Queries, err error) {
				single := decoder()
				single.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
				several := *single
				several.setQueries(n)
				one, x, err := single.compare(ctx, c, &several)
				x /= float64(n)
				return results.Queries{Keys: level.keys, Queries: n, Rows: n * decodeGroup, Tier: tier.String(), Ns: 1e9 * x, Percent: 100 * x / one}, err
			})})
		}
	}
	return rows
}
