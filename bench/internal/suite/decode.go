package suite

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/kernel"
)

// leastRead is the least number of floats that the bandwidth is measured with. If there
// are less, they are read several times.
const leastRead = 4 << 20

// Decode prints the speed of decoding: for each type, cache level and number of threads,
// then with more queries per head, then for batches of uneven lengths.
func Decode(ctx context.Context, c *Config, out io.Writer) error {
	tiers := c.vectorTiers()
	if len(tiers) == 0 {
		tiers = c.Tiers
	}
	if err := decodeTable(ctx, tiers, c.Threads, out); err != nil {
		return err
	}
	if err := queriesTable(ctx, tiers, out); err != nil {
		return err
	}
	return raggedTable(ctx, tiers, out)
}

func decodeTable(ctx context.Context, tiers []string, threads []int, out io.Writer) error {
	fmt.Fprintf(out, "\nDecoding: %d query heads on %d KV heads of size %d (in L2: on one), one query per head. Medians.\n", decodeGroup*decodeHeads, decodeHeads, decodeSize)
	fmt.Fprintf(out, "read: GB/s that the same threads reached right before, when they only read as much memory.\n")
	fmt.Fprintf(out, "%% of FMA: share of the FMA peak. The higher one of the two shares is the one that limits a call.\n\n")
	rows := []string{"cache\tkeys\ttype\ttier\tthreads\t    time\t  GB/s\t  read\t% of read\t% of FMA\ttokens/s"}
	for _, level := range cacheLevels() {
		for _, t := range elementTypes {
			more, err := decodeRows(ctx, tiers, threads, level, t)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
	}
	table.Write(out, rows...)
	fmt.Fprintln(out, "\ntokens/s: of one such layer.")
	return nil
}

func decodeRows(ctx context.Context, tiers []string, allThreads []int, level cacheLevel, t elementType) ([]string, error) {
	d := newDecoder(level, t)
	elements := 2 * float64(level.heads*level.keys*decodeSize)
	bytes := t.bytes * elements
	memory := numbers.Huge(int(bytes) * level.sets(t) / 4)
	part := max(int(bytes)/4, min(leastRead, len(memory)))
	reader := machine.NewReader(nil)
	probes := machine.NewProbes()
	var rows []string
	for _, tier := range tiers {
		for _, threads := range allThreads {
			d.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}
			var times, reads, peaks []float64
			at := 0
			for start := time.Now(); len(times) < minRounds || time.Since(start) < decodeTime; {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				reader.Data = memory[at : at+part]
				reads = append(reads, reader.Rate(max(1, leastRead/part), threads))
				peaks = append(peaks, stats.Median(probes.For(tier).Sample()))
				if at += part; at+part > len(memory) {
					at = 0
				}
				x, err := d.seconds()
				if err != nil {
					return nil, err
				}
				times = append(times, x)
			}
			x, limit := stats.Median(times[1:]), stats.Median(reads[1:])
			rate, peak := bytes/x/1e9, stats.Median(peaks[1:])*float64(threads)
			flops := 2 * decodeGroup * elements / x / 1e9
			rows = append(rows, fmt.Sprintf("%s\t%d × %d\t%s\t%s\t%7d\t%8s\t%6.1f\t%6.1f\t%8.0f%%\t%7.0f%%\t%8.0f", level.name, level.heads, level.keys, t.name, tier, threads,
				table.Duration(1e9*x), rate, limit, 100*rate/limit, 100*flops/peak, 1/x))
		}
	}
	return rows, nil
}

// queryCounts are numbers of queries per head, as in speculative decoding. They include
// those at which the kernels change.
var queryCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}

// queriesTable prints the time for each token when several are decoded at once.
func queriesTable(ctx context.Context, tiers []string, out io.Writer) error {
	level := cacheLevels()[1]
	fmt.Fprintf(out, "\nSeveral queries per head, float32 in L3, %d keys, one thread: time for each query\n\n", level.keys)
	header := "queries\trows per KV head"
	rows := make([]string, len(queryCounts))
	for i, n := range queryCounts {
		rows[i] = fmt.Sprintf("%7d\t%16d", n, n*decodeGroup)
	}
	single := newDecoder(level, elementTypes[0])
	for _, tier := range tiers {
		header += fmt.Sprintf("\t%8s\t%% of 1", tier)
		for i, n := range queryCounts {
			single.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
			several := *single
			several.setQueries(level, n)
			one, x, err := single.compare(ctx, &several)
			if err != nil {
				return err
			}
			x /= float64(n)
			rows[i] += fmt.Sprintf("\t%8s\t%5.0f%%", table.Duration(1e9*x), 100*x/one)
		}
	}
	table.Write(out, append([]string{header}, rows...)...)
	return nil
}
