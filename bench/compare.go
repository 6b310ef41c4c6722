package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/compare"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/models/command"
)

const compareUsage = `usage: go run ./bench compare [flags] OLD NEW [-- FLAGS OF BENCH]

Compares the speed of two versions of the code. OLD and NEW are

  files that -json wrote, several with commas between them, or quoted patterns such
  as 'old-*.json'. Run the versions in turn, or each with -count 6.

  or commits, as git names them; . stands for the files as they lie. Both are built
  and run in turn, with the flags behind -- (default: -time 0.1s). The repository
  stays as it is.

With less than 4 runs of each no difference can be told from chance, and any above the
threshold counts. Exits with 1 if something is slower than the threshold, or if bits
differ.

`

// A comparison is what the subcommand compare was asked for.
type comparison struct {
	versions  []string
	threshold float64
	all       bool
	rounds    int
	args      []string // of bench, for commits
}

// parseCompare reads the command line.
func parseCompare(fs *flag.FlagSet, args []string, help io.Writer) (*comparison, error) {
	c := &comparison{}
	fs.Float64Var(&c.threshold, "threshold", 5, "how many percent more time are slower and, of the old version, faster")
	fs.BoolVar(&c.all, "all", false, "show the figures that hardly differ as well")
	fs.IntVar(&c.rounds, "rounds", 6, "how often each commit is measured")
	if i := slices.Index(args, "--"); i >= 0 {
		args, c.args = args[:i], args[i+1:]
	}
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	c.versions = fs.Args()
	switch {
	case len(c.versions) != 2:
		return nil, command.Usage(fmt.Errorf("%d versions, want OLD and NEW", len(c.versions)))
	case !(c.threshold >= 0):
		return nil, command.Usage(fmt.Errorf("-threshold %g: want 0 or more", c.threshold))
	case c.rounds < 1:
		return nil, command.Usage(fmt.Errorf("-rounds %d: want 1 or more", c.rounds))
	}
	for _, arg := range c.args {
		if name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "="); strings.HasPrefix(arg, "-") && name == "json" {
			return nil, command.Usage(fmt.Errorf("%s behind --: want flags that say what to measure", arg))
		}
	}
	return c, nil
}

// runCompare runs the subcommand compare.
func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("compare", compareUsage)
	c, err := parseCompare(fs, args, stdout)
	if err != nil {
		return err
	}
	found, err := c.run(ctx, fs, stderr)
	if err != nil {
		return err
	}
	printComparison(stdout, found, c.threshold, c.all)
	if found.Slower > 0 || len(found.Agreement.Names) > 0 {
		return errFailed
	}
	return nil
}

// run compares files or commits.
func (c *comparison) run(ctx context.Context, fs *flag.FlagSet, log io.Writer) (*compare.Comparison, error) {
	var paths [2][]string
	commits := 0
	for i, name := range c.versions {
		var isFile bool
		if paths[i], isFile = expand(name); isFile {
			continue
		}
		commits++
		if _, err := resolve(ctx, "", name); err != nil {
			return nil, fmt.Errorf("no such file, and %w", err)
		}
	}
	switch commits {
	case 0:
		rounds := false
		fs.Visit(func(f *flag.Flag) { rounds = rounds || f.Name == "rounds" })
		if rounds || len(c.args) > 0 {
			return nil, command.Usage(errors.New("-rounds and flags behind -- are for commits: files are measured already"))
		}
		files, err := results.ReadAll(slices.Concat(paths[0], paths[1]))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if err := results.SameContract(f.Path, f.Contract, files[0].Path, files[0].Contract); err != nil {
				return nil, err
			}
		}
		return compare.Files(files[:len(paths[0])], files[len(paths[0]):], c.threshold)
	case 1:
		return nil, command.Usage(fmt.Errorf("one of %s and %s is a commit, the other one a file: want two files or two commits, which are measured in turn", c.versions[0], c.versions[1]))
	}
	plan := duel{names: [2]string(c.versions), rounds: c.rounds, args: c.args, log: log}
	if len(plan.args) == 0 {
		plan.args = []string{"-time", "0.1s"}
	}
	files, err := plan.run(ctx)
	if err != nil {
		return nil, err
	}
	if err := results.SameContract(c.versions[1], files[1][0].Contract, c.versions[0], files[0][0].Contract); err != nil {
		return nil, err
	}
	return compare.Files(files[0], files[1], c.threshold)
}

// expand returns the files of a version, and whether any is there.
func expand(version string) (paths []string, there bool) {
	for word := range strings.SplitSeq(version, ",") {
		found, _ := filepath.Glob(word)
		if found == nil {
			found = []string{word} // reading it gives the error
		}
		paths = append(paths, found...)
	}
	return paths, slices.ContainsFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	})
}

// printComparison prints the verdict first.
func printComparison(w io.Writer, c *compare.Comparison, threshold float64, all bool) {
	few := false
	rows := []string{"figure\t   old\t   new\tratio\t95% of ratios\truns\t"}
	for i := range c.Rows {
		r := &c.Rows[i]
		note := noteOf(r, threshold)
		few = few || r.FewRuns()
		if note == "" && !all {
			continue
		}
		interval := ""
		if r.High > 0 {
			interval = fmt.Sprintf("%.3f – %.3f", r.Low, r.High)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%.3f\t%s\t%d+%d\t%s", r.Name, table.Duration(r.Old), table.Duration(r.New), r.Ratio, interval, r.Runs[0], r.Runs[1], note))
	}
	bits := c.Agreement.Line
	if c.Agreement.Agree {
		bits = fmt.Sprintf("The bits of all %d files agree: %s.", c.Files, c.Agreement.Short)
	}
	fmt.Fprintf(w, "Of %d figures %d are slower and %d are faster by more than %g%%.\n%s\n", len(c.Rows), c.Slower, c.Faster, threshold, bits)
	for _, reason := range c.Disturbed {
		fmt.Fprintf(w, "DISTURBED: %s.\n", reason)
	}
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

// noteOf says in words how a figure differs, "" if it hardly does.
func noteOf(r *compare.Row, threshold float64) string {
	switch {
	case r.Slower && r.FewRuns():
		return "slower? (too few runs)"
	case r.Faster && r.FewRuns():
		return "faster? (too few runs)"
	case r.Slower:
		return "SLOWER"
	case r.Faster:
		return "faster"
	case r.Certain && r.Ratio > 1:
		return fmt.Sprintf("slower, by %g%% at most", threshold)
	case r.Certain && r.Ratio < 1:
		return fmt.Sprintf("faster, by %g%% at most", threshold)
	}
	return ""
}
