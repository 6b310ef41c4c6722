package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/page"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/report"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/speed"
	"github.com/attn-go/attn/bench/internal/suite"
	"github.com/attn-go/attn/kernel"
)

// A bench is one run of the command. What it finds out is in file; tables are printed from
// there. With -benchfmt it writes only lines in Go's benchmark format to out.
type bench struct {
	*config
	out, err io.Writer
	file     *results.File
	suite    *suite.Config
	progress *progress
}

func newBench(c *config, out, err io.Writer) *bench {
	return &bench{config: c, out: out, err: err,
		file: &results.File{Format: results.Format, Schema: results.Schema, Contract: kernel.Contract,
			Date: time.Now().UTC().Format(time.RFC3339), Note: c.note, Args: c.args, Quick: c.Quick,
			Build: machine.Build(), Machine: machine.Describe(), Tiers: machine.TierInfos()},
		suite: &suite.Config{Tiers: c.Tiers, Threads: c.Threads, Shapes: c.suiteShapes, Time: c.Time, Generic: c.namedTiers, Quick: c.Quick},
	}
}

// run measures what was asked for, prints it, and writes it to the file of -json, even if not
// all could be measured. A failure is a description of bits that differ.
func (b *bench) run(ctx context.Context) (failures []string, err error) {
	if b.peers != "" {
		if b.file.Peers, err = readPeers(b.peers); err != nil {
			return nil, err
		}
	}
	if !b.benchfmt {
		if note := busyNow(ctx, busyTime); note != "" {
			fmt.Fprintf(b.err, "bench: %s\n", note)
		}
	}
	before := machine.ReadCPUTimes()
	failures, err = b.measure(ctx)
	now := machine.ReadCPUTimes()
	b.file.Machine.StealPercent, b.file.Machine.OthersPercent = before.StealPercent(now), before.OthersPercent(now)
	if !b.benchfmt && b.json != "-" {
		b.print(err == nil)
	}
	if b.json != "" && err == nil && ctx.Err() == nil {
		err = b.file.WriteFile(b.json)
	}
	if len(b.file.NotRun) > 0 && !b.all && err == nil {
		err = fmt.Errorf("NOT RUN: %s", strings.Join(b.file.NotRun, "; "))
	}
	return failures, err
}

// readPeers reads the times of other programs from files with commas between them.
func readPeers(paths string) (peers []results.Peer, err error) {
	for path := range strings.SplitSeq(paths, ",") {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var some []results.Peer
		if err := json.Unmarshal(data, &some); err != nil {
			return nil, fmt.Errorf("%s: not a file of bench/peers/attention.py or backward.py --json, or of models/peers: %w", path, err)
		}
		peers = append(peers, some...)
	}
	return peers, nil
}

// print prints the verdict, and then tables of everything.
func (b *bench) print(whole bool) {
	if whole {
		report.Verdict(b.out, b.file)
	}
	report.Machine(b.out, b.file)
	page.Print(b.out, b.file)
}

// measure measures the suites that were asked for or, if none was, checks all tiers and
// measures their speed; with -all it does both.
func (b *bench) measure(ctx context.Context) (failures []string, err error) {
	var suites []suite.Suite
	steps := 0
	for i, s := range suite.All {
		if b.suites[i] || b.all {
			suites = append(suites, s)
			steps += b.repeats(&s) * s.Steps(b.suite)
		}
	}
	if len(suites) == 0 || b.all {
		failures, err = b.attention(ctx, steps)
	} else {
		b.progress = newProgress(b.err, steps, b.benchfmt)
		if b.benchfmt {
			report.BenchHeader(b.out)
		}
	}
	if b.progress != nil {
		defer b.progress.close()
	}
	b.suite.Progress = func(row string) {
		b.progress.end(row)
		b.progress.begin(row)
	}
	if err == nil && ctx.Err() == nil {
		err = b.runSuites(ctx, suites)
	}
	return failures, err
}

// repeats returns how often a suite is measured.
func (b *bench) repeats(s *suite.Suite) int {
	if s.Repeats() {
		return b.Count
	}
	return 1
}

// runSuites measures suites, one after the other and then all again.
func (b *bench) runSuites(ctx context.Context, suites []suite.Suite) (err error) {
	runs := make([][]*results.File, len(suites))
	for n := range b.Count {
		for i := range suites {
			s := &suites[i]
			if n >= b.repeats(s) || err != nil || ctx.Err() != nil {
				continue
			}
			run := new(results.File)
			runs[i] = append(runs[i], run)
			err = s.Run(ctx, b.suite, run)
			if b.benchfmt {
				b.progress.clear()
				report.Bench(b.out, run)
			}
		}
	}
	for i := range runs {
		b.file.AddRuns(runs[i])
	}
	return err
}

// attention checks all tiers and measures their speed. It makes the bar of progress, with steps
// for what comes later.
func (b *bench) attention(ctx context.Context, later int) (failures []string, err error) {
	activations, err := b.load()
	if err != nil {
		return nil, err
	}
	probes := machine.NewProbes()
	plan := b.Plan
	sweeps := []*speed.Sweep{speed.NewSweep(&plan, activations, probes)}
	if b.all {
		sweeps = append(sweeps, speed.NewSweep(b.lengths(), nil, probes))
	}
	for _, s := range sweeps {
		later += s.Len()
	}
	b.progress = newProgress(b.err, len(activations)+later, b.benchfmt)
	if failures, err = b.check(ctx, activations); err != nil || ctx.Err() != nil || len(b.Shapes) == 0 {
		return failures, err
	}
	var limits *machine.Limits // which are measured again between and after the sweeps
	if !b.benchfmt {
		b.progress.begin("peaks and bandwidths")
		limits = machine.NewLimits(probes, b.peakThreads())
		limits.Measure()
	} else {
		report.BenchHeader(b.out)
	}
	for _, s := range sweeps {
		s.Started = func(c speed.Cell) { b.progress.begin(c.String()) }
		s.Measured = b.measured
		if err := s.Run(ctx); err != nil {
			return failures, err
		}
		failures = append(failures, s.Failures...)
		if limits != nil {
			limits.Measure()
			for of, rates := range s.Peaks {
				limits.Add(of, rates)
			}
		}
	}
	if limits != nil {
		b.file.Peaks, b.file.Bandwidths = limits.Peaks(), limits.Bandwidths()
	}
	b.file.Speed, b.file.Skipped = sweeps[0].Results(), b.Skipped(activations)
	if b.all {
		b.file.Lengths = sweeps[1].Results()
	}
	return failures, nil
}

// The longest sequences that are measured.
const longest, quickLongest = 8192, 1024

// lengths plans to measure sequences of all lengths on one thread.
func (b *bench) lengths() *speed.Plan {
	p := b.Plan
	p.Shapes, p.Threads, p.Generic = problem.Lengths(longest), []int{1}, false
	if b.Quick {
		p.Shapes = problem.Lengths(quickLongest)
	}
	return &p
}

// peakThreads are the numbers of threads whose peak and bandwidth are measured: one, and those
// that speed is measured on.
func (b *bench) peakThreads() []int {
	threads := []int{1}
	for _, n := range b.Threads {
		if n != 1 {
			threads = append(threads, n)
		}
	}
	return threads
}

// measured reports the speed of a cell.
func (b *bench) measured(_ speed.Cell, r results.Speed) {
	b.progress.end(report.Line(r))
	if b.benchfmt {
		b.progress.clear()
		report.Bench(b.out, &results.File{Speed: []results.Speed{r}})
	}
}

// load returns the activations to check.
func (b *bench) load() ([]*problem.Problem, error) {
	if b.activations != "" {
		return problem.ReadFile(b.activations, b.causal, b.offset)
	}
	return problem.Activations()
}

// check compares all tiers on the activations.
func (b *bench) check(ctx context.Context, activations []*problem.Problem) (failures []string, err error) {
	for _, p := range activations {
		if ctx.Err() != nil {
			break
		}
		b.progress.begin("check " + p.Name)
		c, err := check.Bits(p)
		if err != nil {
			return failures, err
		}
		b.file.Checks = append(b.file.Checks, c.Row())
		failures = append(failures, c.Failures...)
		b.progress.end("checked " + p.Name)
	}
	return failures, nil
}
