package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/page"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// runMeasure checks and measures what was asked for and prints it, after an interrupt what there
// is. It writes the file of -json if nothing was interrupted, also if bits differ or something does
// not run on this machine.
func runMeasure(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stdout)
	if err != nil {
		return err
	}
	f := &results.File{Format: results.Format, Schema: results.Schema, Contract: kernel.Contract,
		Date: time.Now().UTC().Format(time.RFC3339), Note: c.note, Args: c.args, Quick: c.Quick,
		Build: machine.Build(), Machine: machine.Describe(), Tiers: machine.TierInfos()}
	if c.peers != "" {
		if f.Peers, err = readPeers(c.peers); err != nil {
			return err
		}
	}
	before := machine.ReadCPUTimes()
	err = c.measure(ctx, f, stderr)
	now := machine.ReadCPUTimes()
	f.Machine.StealPercent, f.Machine.OthersPercent = before.StealPercent(now), before.OthersPercent(now)
	if c.json != "-" {
		page.Print(stdout, f)
	}
	if c.json != "" && err == nil {
		err = f.WriteFile(c.json)
	}
	if len(f.NotRun) > 0 && !c.all && err == nil {
		err = fmt.Errorf("NOT RUN: %s", strings.Join(f.NotRun, "; "))
	}
	failures := f.Failures()
	if a := results.Agree([]*results.File{f}); len(a.Names) > 0 {
		failures = append(failures, a.Line)
	}
	for _, failure := range failures {
		fmt.Fprintf(stderr, "bench: %s\n", failure)
	}
	if err == nil && len(failures) > 0 {
		err = errFailed
	}
	return err
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

// measure measures the suites, one after the other and then, as -count says, all again. An
// interrupt is an error.
func (c *config) measure(ctx context.Context, first *results.File, log io.Writer) error {
	steps := 0
	for _, s := range c.suites {
		n := 1
		if s.Repeats() {
			n = c.count
		}
		steps += n * s.Steps(&c.Config)
	}
	p := newProgress(log, steps)
	defer p.close()
	c.Progress = p.next
	files := []*results.File{first}
	defer func() { first.AddRuns(files[1:]) }()
	for n := range c.count {
		if n > 0 {
			files = append(files, new(results.File))
		}
		for _, s := range c.suites {
			if n > 0 && !s.Repeats() {
				continue
			}
			if err := s.Run(ctx, &c.Config, files[n]); err != nil {
				return err
			}
		}
	}
	return nil
}
