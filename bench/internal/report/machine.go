package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

// Machine prints the CPU, its features and the tiers.
func Machine(w io.Writer, f *results.File) {
	m, b := &f.Machine, &f.Build
	fmt.Fprintf(w, "\nattn    contract %d, %s %s/%s", f.Contract, b.Go, b.GOOS, b.GOARCH)
	if b.Commit != "" {
		fmt.Fprintf(w, ", commit %.12s", b.Commit)
	}
	if b.Modified {
		fmt.Fprint(w, ", modified")
	}
	fmt.Fprintf(w, "\ncores   %s\n", cores(m))
	fmt.Fprintf(w, "SIMD    %s\n", table.Wrap(m.Features, 100, "        "))
	for i, t := range f.Tiers {
		title := "tiers "
		if i > 0 {
			title = "      "
		}
		fmt.Fprintf(w, "%s  %-8s %s\n", title, t.Name, TierState(t))
	}
}

func cores(m *results.Machine) string {
	parts := []string{fmt.Sprintf("%d CPUs, GOMAXPROCS %d", m.CPUs, m.GOMAXPROCS)}
	if m.Cores > 0 && m.HWThreads > 0 {
		parts = append(parts, fmt.Sprintf("the CPU reports %d cores, %d threads", m.Cores, m.HWThreads))
	}
	parts = append(parts, m.Traits()...)
	if m.StealPercent != nil {
		parts = append(parts, fmt.Sprintf("steal %.1f%%", *m.StealPercent))
	}
	if m.OthersPercent != nil {
		parts = append(parts, fmt.Sprintf("other programs %.1f%%", *m.OthersPercent))
	}
	return strings.Join(parts, "; ")
}

// TierState says whether a tier runs.
func TierState(t results.Tier) string {
	switch {
	case !t.Runs:
		return "cannot run: " + t.Reason
	case t.Default:
		return "runs (default)"
	}
	return "runs"
}
