package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/models/command"
)

const kernelsUsage = `usage: go run ./bench -kernels [flags]

Lists the micro-kernels of the tiers that this CPU can run, and where each comes from: the
assembly of an instruction set, with the CPU features that it uses, or Go. A kernel for
query tiles stands once for each width, unless all widths have it from the same source.

`

// runKernels runs the command with -kernels.
func runKernels(_ context.Context, args []string, stdout, _ io.Writer) error {
	fs := newFlags("-kernels", kernelsUsage)
	tiers := fs.String("tiers", "", "tiers to list (default all that run here)")
	if err := command.Parse(fs, args, stdout); err != nil {
		return err
	}
	list, err := parseTiers(*tiers)
	if err := cmp.Or(noArguments(fs), err); err != nil {
		return command.Usage(err)
	}
	for _, t := range list {
		writeKernels(stdout, t.String(), inside(t).List())
	}
	return nil
}

// writeKernels writes the table of one tier.
func writeKernels(w io.Writer, name string, kernels []tier.Kernel) {
	inGo := 0
	for _, k := range kernels {
		if origin(k) == "Go" {
			inGo++
		}
	}
	fmt.Fprintf(w, "\ntier %s: %d kernels, %d of them in Go\n\n", name, len(kernels), inGo)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "kernel\tlanes\tfrom\tvariant\tCPU features")
	for len(kernels) > 0 {
		k := kernels[0]
		lanes, same := []string{}, func(x tier.Kernel) bool {
			return x.Name == k.Name && origin(x) == origin(k) && x.Variant == k.Variant && slices.Equal(x.Needs, k.Needs)
		}
		for _, x := range kernels {
			if same(x) && x.Lanes > 0 {
				lanes = append(lanes, fmt.Sprint(x.Lanes))
			}
		}
		kernels = slices.DeleteFunc(slices.Clone(kernels), same)
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", k.Name, strings.Join(lanes, ","), origin(k), k.Variant, strings.Join(k.Needs, ","))
	}
	tab.Flush()
}

// origin returns the instruction set whose assembly a kernel is, or "Go"; "none" if the tier does without.
func origin(k tier.Kernel) string {
	if k.None {
		return "none"
	}
	return cmp.Or(k.ISA, "Go")
}
