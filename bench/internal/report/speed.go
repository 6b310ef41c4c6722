package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/speed"
	"github.com/attn-go/attn/bench/internal/table"
)

// Line returns a result in one line.
func Line(r speed.Result) string {
	return fmt.Sprintf("%v: %s, %s GFLOP/s, %.1f%% of peak", r.Cell, table.Duration(r.Ns), table.GFLOPs(r.GFLOPs), r.Percent)
}

// Speed prints the table of all results.
func Speed(w io.Writer, results []speed.Result, ps machine.Probes) {
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSpeed: median time of a call; the peak of one core was measured between the calls\n\n")
	rows := []string{"shape\tinput\tthreads\ttier\t     time\tspread\tGFLOP/s\tpeak × threads\t% of peak"}
	last := (*problem.Shape)(nil)
	for _, r := range results {
		name, input := "", ""
		if r.Shape != last {
			name, input, last = r.Shape.Name, r.Input, r.Shape
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%7d\t%s\t%9s\t%5.1f%%\t%7s\t%14s\t%8.1f%%", name, input, r.Threads, r.Tier,
			table.Duration(r.Ns), 100*r.Spread, table.GFLOPs(r.GFLOPs), fmt.Sprintf("%.1f × %d", r.Peak, r.Threads), r.Percent))
	}
	table.Write(w, rows...)
	fmt.Fprintf(w, "\nspread: interquartile range. GFLOP/s: 4·heads·Lq·Lk·D, half if causal, visible keys only.\n")
	for _, t := range tiersWithoutProbe(results, ps) {
		fmt.Fprintf(w, "%s has no vectors: its peak is that of %s.\n", t, ps.For(t).Name)
	}
}

// tiersWithoutProbe returns the tiers that are compared with the peak of another one.
func tiersWithoutProbe(results []speed.Result, ps machine.Probes) []string {
	var found []string
	seen := map[string]bool{}
	for _, r := range results {
		if !seen[r.Tier] && ps.For(r.Tier).Name != r.Tier {
			found = append(found, r.Tier)
		}
		seen[r.Tier] = true
	}
	return found
}

// Skipped prints which shapes the generic tier was not timed on.
func Skipped(w io.Writer, shapes []string) {
	if len(shapes) > 0 {
		fmt.Fprintf(w, "%s was not timed on %s: ask for it with -tiers %[1]s.\n", machine.Generic, strings.Join(shapes, ", "))
	}
}
