package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/compare"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

const compareUsage = `usage: go run ./bench compare [flags] OLD NEW

Compares the speed of two versions of the code. OLD and NEW are files that -json wrote,
or several with commas between them, or a quoted pattern such as 'old-*.json'. Run the
versions in turn, or each with -count 6: with less than 4 runs of each no difference
can be told from chance, and any above the threshold counts. Exits with 1 if something
is slower than the threshold, or if bits differ.

`

// runCompare runs the subcommand compare.
func runCompare(args []string, stdout, stderr io.Writer) int {
	fs := newFlags("compare")
	threshold := fs.Float64("threshold", 5, "how many percent more time are slower")
	all := fs.Bool("all", false, "show the figures that hardly differ as well")
	versions, err := parseMixed(fs, args)
	switch {
	case err != nil:
	case len(versions) != 2:
		err = fmt.Errorf("%d versions, want OLD and NEW", len(versions))
	case *threshold < 0:
		err = fmt.Errorf("-threshold %g: want 0 or more", *threshold)
	}
	if err != nil {
		return usageOf(fs, compareUsage, err, stdout, stderr)
	}
	c, err := compareVersions(versions[0], versions[1], *threshold)
	if err != nil {
		fmt.Fprintf(stderr, "bench compare: %v\n", err)
		return exitFailed
	}
	printComparison(stdout, c, *threshold, *all)
	if len(c.Slower()) > 0 || len(c.Agreement.Names) > 0 {
		return exitFailed
	}
	return exitOK
}

func compareVersions(old, new string, threshold float64) (*compare.Comparison, error) {
	before, err := expand(old)
	if err != nil {
		return nil, err
	}
	after, err := expand(new)
	if err != nil {
		return nil, err
	}
	files, err := results.ReadAll(slices.Concat(before, after))
	if err != nil {
		return nil, err
	}
	return compare.Files(files[:len(before)], files[len(before):], threshold)
}

// expand returns the files of a version.
func expand(list string) (paths []string, err error) {
	for word := range strings.SplitSeq(list, ",") {
		found, err := filepath.Glob(word)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		if found == nil {
			found = []string{word} // reading it gives the error
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// printComparison prints the verdict first.
func printComparison(w io.Writer, c *compare.Comparison, threshold float64, all bool) {
	slower, few, faster := len(c.Slower()), false, 0
	rows := []string{"figure\t   old\t   new\tratio\t95% of ratios\truns\t"}
	for _, r := range c.Rows {
		note := ""
		switch {
		case r.Slower && r.FewRuns():
			note = "slower? (too few runs)"
		case r.Slower:
			note = "SLOWER"
		case r.Certain && r.Ratio < 1:
			note = "faster"
			faster++
		}
		few = few || r.FewRuns()
		if note == "" && !all {
			continue
		}
		interval := ""
		if r.High > 0 && !r.FewRuns() {
			interval = fmt.Sprintf("%.3f – %.3f", r.Low, r.High)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%.3f\t%s\t%d+%d\t%s", r.Name, table.Duration(r.Old), table.Duration(r.New), r.Ratio, interval, r.Runs[0], r.Runs[1], note))
	}
	fmt.Fprintf(w, "%d of %d figures are slower by more than %g%%, %d are faster.\n%s\n", slower, len(c.Rows), threshold, faster, c.Agreement.Line)
	if c.OtherCPU {
		fmt.Fprintln(w, "The files are of different CPUs: the ratios are of machines, not of versions.")
	}
	if few {
		fmt.Fprintf(w, "Some figures have less than %d runs of each version: no difference can be told from chance.\n", compare.LeastRuns)
	}
	if len(rows) > 1 {
		fmt.Fprintln(w)
		table.Write(w, rows...)
	}
}
