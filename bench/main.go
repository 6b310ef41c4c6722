// Command bench shows what attn does on this CPU: it checks on activations of trained
// models that every tier computes the same bits, prints their error against float64 next
// to PyTorch's, and measures their speed as a share of the machine's FMA peak.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/report"
	"github.com/attn-go/attn/bench/internal/speed"
	"github.com/attn-go/attn/bench/internal/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// run runs the command and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\nbench -h lists the flags\n", err)
		return exitUsage
	}
	failures, err := (&bench{c, stdout, stderr}).run(ctx)
	for _, f := range failures {
		fmt.Fprintf(stderr, "bench: %s\n", f)
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
	}
	if err != nil || len(failures) > 0 {
		return exitFailed
	}
	return exitOK
}

// A bench is one run of the command. With -benchfmt it writes only lines in Go's benchmark
// format to out.
type bench struct {
	*config
	out, err io.Writer
}

// run runs the suites that were asked for or, if there are none, checks all tiers and
// measures their speed. A failure is a description of bits that differ.
func (b *bench) run(ctx context.Context) (failures []string, err error) {
	if any, err := b.runSuites(ctx); any {
		return nil, err
	}
	activations, err := b.load()
	if err != nil {
		return nil, err
	}
	tables := b.out
	if b.benchfmt {
		tables = io.Discard
	}
	report.Machine(tables)
	checks, err := b.check(ctx, activations)
	report.Checks(tables, checks)
	for _, c := range checks {
		failures = append(failures, c.Failures...)
	}
	if err != nil || ctx.Err() != nil || len(b.Shapes) == 0 {
		return failures, err
	}
	if !b.benchfmt {
		accuracy, err := check.MeasureAccuracy(b.Shapes, b.Tiers[0])
		if err != nil {
			return failures, err
		}
		report.Accuracy(tables, accuracy)
	}
	differ, err := b.measure(ctx, activations, tables)
	return append(failures, differ...), err
}

// runSuites runs the suites that were asked for and says whether there were any.
func (b *bench) runSuites(ctx context.Context) (any bool, err error) {
	c := &suite.Config{Tiers: b.Tiers, Threads: b.Threads, Generic: b.namedTiers}
	for i, s := range suite.All {
		if !b.suites[i] {
			continue
		}
		if !any {
			report.Machine(b.out)
		}
		any = true
		if err := s.Run(ctx, c, b.out); err != nil {
			return true, err
		}
	}
	return any, nil
}

// load returns the activations to check.
func (b *bench) load() ([]*problem.Problem, error) {
	if b.activations != "" {
		return problem.ReadFile(b.activations, b.causal, b.offset)
	}
	return problem.Activations()
}

// check compares all tiers on the activations.
func (b *bench) check(ctx context.Context, activations []*problem.Problem) ([]check.Result, error) {
	progress := newProgress(b.err, len(activations), b.benchfmt)
	defer progress.close()
	var all []check.Result
	for _, p := range activations {
		if ctx.Err() != nil {
			break
		}
		progress.begin("check " + p.Name)
		c, err := check.Bits(p)
		if err != nil {
			return all, err
		}
		all = append(all, c)
		progress.end("checked " + p.Name)
	}
	return all, nil
}

// measure times attention and prints the results.
func (b *bench) measure(ctx context.Context, activations []*problem.Problem, tables io.Writer) (failures []string, err error) {
	probes := machine.NewProbes()
	if b.benchfmt {
		report.BenchHeader(b.out)
	} else {
		report.Peaks(tables, probes, runtime.GOMAXPROCS(0))
	}
	sweep := speed.NewSweep(&b.Plan, activations, probes)
	progress := newProgress(b.err, sweep.Len(), b.benchfmt)
	sweep.Started = func(c speed.Cell) { progress.begin(c.String()) }
	sweep.Measured = func(r speed.Result) {
		progress.end(report.Line(r))
		if b.benchfmt {
			progress.clear()
			fmt.Fprintln(b.out, report.BenchLine(r))
		}
	}
	err = sweep.Run(ctx)
	progress.close()
	report.Speed(tables, sweep.Results(), probes)
	report.Skipped(tables, b.Skipped(activations))
	return sweep.Failures, err
}
