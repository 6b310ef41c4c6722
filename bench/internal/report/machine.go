// Package report prints what the bench command found out: as tables, and the speed also
// in Go's benchmark format.
package report

import (
	"fmt"
	"io"
	"runtime"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/kernel"
)

// Machine prints the CPU, its features and the tiers.
func Machine(w io.Writer) {
	fmt.Fprintf(w, "attn    contract %d, %s %s/%s\n", kernel.Contract, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "CPU     %s%s\n", machine.CPUName(), machine.CPUModel())
	fmt.Fprintf(w, "cores   %s\n", machine.Cores())
	fmt.Fprintf(w, "SIMD    %s\n", table.Wrap(machine.SIMDFeatures(), 100, "        "))
	for i, t := range kernel.Tiers() {
		title := "tiers "
		if i > 0 {
			title = "      "
		}
		fmt.Fprintf(w, "%s  %-8s %s\n", title, t.Name, tierState(t))
	}
	if err := defaultTierError(); err != nil {
		fmt.Fprintf(w, "        calls that name no tier fail: %v\n", err)
	}
}

func tierState(t kernel.TierInfo) string {
	switch {
	case !t.Runs:
		return "cannot run: " + t.Reason
	case t.Default:
		return "runs (default)"
	}
	return "runs"
}

// defaultTierError returns the error of calls that name no tier. They fail if ATTN_TIER
// names a tier that cannot run here.
func defaultTierError() error {
	one := func() kernel.Tensor { return kernel.BHLD(make([]float32, 1), 1, 1, 1, 1) }
	return kernel.Attention(one(), one(), one(), one(), kernel.Options{})
}

// Peaks prints the FMA peaks.
func Peaks(w io.Writer, ps machine.Probes, threads int) {
	fmt.Fprintf(w, "\nFMA peak, GFLOP/s (float32)\n\n")
	rows := []string{"vectors\t one core"}
	if threads > 1 {
		rows[0] += fmt.Sprintf("\t%d threads at once", threads)
	}
	for _, p := range ps {
		row := fmt.Sprintf("%s\t%9.1f", p.Name, p.Together(1))
		if threads > 1 {
			row += fmt.Sprintf("\t%17.1f", p.Together(threads))
		}
		rows = append(rows, row)
	}
	table.Write(w, rows...)
}
