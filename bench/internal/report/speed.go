package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

// Line returns a result in one line.
func Line(r results.Speed) string {
	line := fmt.Sprintf("%s %s threads=%d: %s, %s GFLOP/s", label(r.Shape, r.Alias), r.Tier, r.Threads, table.Duration(r.Ns), table.GFLOPs(r.GFLOPs))
	if percent, ok := r.Share(); ok {
		return line + fmt.Sprintf(", %.1f%% of peak", percent)
	}
	return line + ", no share: the peak varied"
}

// label returns the name of a shape, with its alias if it has one.
func label(shape, alias string) string {
	if alias == "" {
		return shape
	}
	return shape + " (" + alias + ")"
}

// Speed prints the tables of all results.
func Speed(w io.Writer, f *results.File) {
	speeds(w, "Speed: median time of a call; the peak of as many threads at once was measured between the calls", f, f.Speed)
	speeds(w, "Speed by sequence length", f, f.Lengths)
	if len(f.Skipped) > 0 {
		fmt.Fprintf(w, "%s was not timed on %s: ask for it with -tiers %[1]s.\n", machine.Generic, table.Wrap(f.Skipped, 90, "  "))
	}
}

func speeds(w io.Writer, title string, f *results.File, all []results.Speed) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n\n", title)
	rows := []string{"shape\tinput\tthreads\ttier\t     time\tspread\tGFLOP/s\t  peak\tits spread\t% of peak"}
	last, missing := "", false
	for _, r := range all {
		name, input := "", ""
		if r.Shape != last {
			name, input, last = label(r.Shape, r.Alias), r.Input, r.Shape
		}
		percent, ok := r.Share()
		missing = missing || !ok
		rows = append(rows, fmt.Sprintf("%s\t%s\t%7d\t%s\t%9s\t%5.1f%%\t%7s\t%6.1f\t%9.1f%%\t%9s", name, input, r.Threads, r.Tier,
			table.Duration(r.Ns), 100*r.Spread(), table.GFLOPs(r.GFLOPs), r.Peak, 100*r.PeakSpread, Share(percent, ok)(1)))
	}
	table.Write(w, rows...)
	fmt.Fprintf(w, "\nspread: interquartile range. GFLOP/s: 4·heads·Lq·Lk·D, half if causal, visible keys only.\n")
	explainShares(w, missing)
	if tiers := tiersWithoutPeak(f, all); len(tiers) > 0 {
		fmt.Fprintf(w, "%s has no vectors: its peak is that of the widest vectors.\n", strings.Join(tiers, ", "))
	}
}

// tiersWithoutPeak returns the tiers that are compared with the peak of another one.
func tiersWithoutPeak(f *results.File, all []results.Speed) []string {
	var found []string
	seen := map[string]bool{}
	for _, p := range f.Peaks {
		seen[p.Vectors] = true
	}
	for _, r := range all {
		if !seen[r.Tier] {
			found = append(found, r.Tier)
		}
		seen[r.Tier] = true
	}
	return found
}
