package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/table"
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
		writeKernels(stdout, inside(t))
	}
	return nil
}

// writeKernels writes the table of one tier. A row has the lanes of all kernels that differ in
// these alone.
func writeKernels(w io.Writer, t *tier.Tier) {
	kernels, inGo := t.List(), 0
	var keys, lower []string
	lanes := map[string][]string{}
	for _, k := range kernels {
		if origin(k) == "Go" {
			inGo++
		}
		key := fmt.Sprintf("%s\t%%s\t%s\t%s\t%s", k.Name, origin(k), k.Variant, strings.Join(k.Needs, ","))
		if k.Lower != "" && !slices.Contains(lower, k.Name) {
			lower = append(lower, k.Name)
		}
		if _, ok := lanes[key]; !ok {
			keys, lanes[key] = append(keys, key), nil
		}
		if k.Lanes > 0 {
			lanes[key] = append(lanes[key], fmt.Sprint(k.Lanes))
		}
	}
	fmt.Fprintf(w, "\ntier %s: %d kernels, %d of them in Go\n\n", t.Name, len(kernels), inGo)
	if len(lower) > 0 {
		fmt.Fprintf(w, "up to %d rows of float32 times K-quants and other grouped weights take those of tier %s: %s\n\n", t.LowerRows, t.Lower().Name, strings.Join(lower, ", "))
	}
	rows := []string{"kernel\tlanes\tfrom\tvariant\tCPU features"}
	for _, key := range keys {
		rows = append(rows, fmt.Sprintf(key, strings.Join(lanes[key], ",")))
	}
	table.Write(w, rows...)
}

// origin returns the instruction set whose assembly a kernel is, or "Go"; "none" if the tier does
// without.
func origin(k tier.Kernel) string {
	if k.None {
		return "none"
	}
	return cmp.Or(k.ISA, "Go")
}
