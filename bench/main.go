// Command bench shows what attn does on this CPU: it checks on real input that
// every tier computes the same bits, prints their error against float64 beside
// PyTorch's, and measures their speed as a share of the machine's FMA peak.
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
	"slices"
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

// run is the command; it returns the exit code.
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
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
	}
	if err != nil || len(failures) > 0 {
		return exitFailed
	}
	return exitOK
}

// bench is one run of the command. With -benchfmt only lines in Go's benchmark
// format reach out.
type bench struct {
	*config
	out, err io.Writer
}

// run does everything; failures are bits that differ.
func (b *bench) run(ctx context.Context) (failures []string, err error) {
	if any, err := runReports(ctx, b.config, b.out); any {
		return nil, err
	}
	groups, err := b.load()
	if err != nil {
		return nil, err
	}
	report := b.out
	if b.benchfmt {
		report = io.Discard
	}
	describeMachine(report)
	checks, err := b.check(ctx, groups)
	reportChecks(report, checks)
	for _, c := range checks {
		failures = append(failures, c.failures...)
	}
	if err != nil || ctx.Err() != nil {
		return failures, errors.Join(err, interrupted(ctx))
	}
	if len(b.shapes) == 0 {
		return failures, nil
	}
	if !b.benchfmt {
		all, err := b.accuracy()
		if err != nil {
			return failures, err
		}
		reportAccuracy(report, all)
	}
	differ, err := b.measure(ctx, groups, report)
	return append(failures, differ...), err
}

// load returns the real input.
func (b *bench) load() ([]*group, error) {
	if b.activations != "" {
		return fileGroups(b.activations, b.causal, b.offset)
	}
	return embeddedGroups()
}

// check compares all tiers on the real input.
func (b *bench) check(ctx context.Context, groups []*group) ([]checked, error) {
	p := newProgress(b.err, len(groups), b.benchfmt)
	defer p.close()
	var all []checked
	for _, g := range groups {
		if ctx.Err() != nil {
			break
		}
		p.begin("check " + g.name)
		c, err := check(g)
		if err != nil {
			return all, err
		}
		all = append(all, c)
		p.end(fmt.Sprintf("checked %s", g.name))
	}
	return all, nil
}

// accuracy measures the errors of those chosen shapes that have an expected one.
func (b *bench) accuracy() ([]accuracy, error) {
	var all []accuracy
	for _, s := range b.shapes {
		if !slices.Contains(accuracyShapes, s.name) {
			continue
		}
		a, err := measureAccuracy(s, b.tiers[0])
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// measure times the cells.
func (b *bench) measure(ctx context.Context, groups []*group, report io.Writer) (failures []string, err error) {
	ps := newProbes()
	if b.benchfmt {
		writeBenchHeader(b.out)
	} else {
		reportPeaks(report, ps, runtime.GOMAXPROCS(0))
	}
	cells := b.cells(groups)
	p := newProgress(b.err, len(cells)*b.count, b.benchfmt)
	s := &sweep{
		cells: cells, time: b.cellTime(len(cells)), count: b.count, groups: groups, probes: ps,
		starts: func(c cell) { p.begin(c.String()) },
		reports: func(r result) {
			p.end(r.line())
			if b.benchfmt {
				p.clear()
				fmt.Fprintln(b.out, benchLine(r))
			}
		},
	}
	err = s.run(ctx)
	p.close()
	reportResults(report, s.results(), ps)
	reportSkipped(report, b.skipped(groups))
	return s.failures, errors.Join(err, interrupted(ctx))
}

// interrupted turns an interrupt into an error.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}
