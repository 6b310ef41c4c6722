package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/tuning"
)

const kernelsUsage = `usage: go run ./bench -kernels [flags]

Lists the micro-kernels of the tiers that this CPU can run, and where each comes from: the
assembly of an instruction set, with the CPU features that it uses, or Go. A kernel for
query tiles stands once for each width, unless all widths have it from the same source.

`

// runKernels runs the command with -kernels.
func runKernels(args []string, stdout, stderr io.Writer) int {
	fs := newFlags("-kernels")
	tiers := fs.String("tiers", "", "tiers to list (default all that run here)")
	others, err := parseMixed(fs, args)
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("unexpected argument %q", others[0])
	}
	names := machine.Tiers()
	if err == nil && *tiers != "" {
		names, err = parseTiers(*tiers)
	}
	if err != nil {
		return usageOf(fs, kernelsUsage, err, stdout, stderr)
	}
	for _, tier := range names {
		kernels, err := tuning.Kernels(tier)
		if err != nil {
			fmt.Fprintf(stderr, "bench -kernels: %v\n", err)
			return exitFailed
		}
		writeKernels(stdout, tier, kernels)
	}
	return exitOK
}

// writeKernels writes the table of one tier.
func writeKernels(w io.Writer, tier string, kernels []tuning.Kernel) {
	inGo := 0
	for _, k := range kernels {
		if k.Origin == "Go" {
			inGo++
		}
	}
	fmt.Fprintf(w, "\ntier %s: %d kernels, %d of them in Go\n\n", tier, len(kernels), inGo)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "kernel\tlanes\tfrom\tvariant\tCPU features")
	for len(kernels) > 0 {
		k := kernels[0]
		lanes, same := []string{}, func(x tuning.Kernel) bool {
			x.Lanes = k.Lanes
			return x == k
		}
		for _, x := range kernels {
			if same(x) && x.Lanes > 0 {
				lanes = append(lanes, fmt.Sprint(x.Lanes))
			}
		}
		kernels = slices.DeleteFunc(slices.Clone(kernels), same)
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", k.Name, strings.Join(lanes, ","), k.Origin, k.Variant, k.Needs)
	}
	tab.Flush()
}
