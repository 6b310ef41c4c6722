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

// A bench is one run of the command. What it finds out is in file; tables are printed from
// there.
type bench struct {
	*config
	out, err io.Writer
	file     *results.File
}

func newBench(c *config, out, err io.Writer) *bench {
	return &bench{config: c, out: out, err: err,
		file: &results.File{Format: results.Format, Schema: results.Schema, Contract: kernel.Contract,
			Date: time.Now().UTC().Format(time.RFC3339), Note: c.note, Args: c.args, Quick: c.Quick,
			Build: machine.Build(), Machine: machine.Describe(), Tiers: machine.TierInfos()}}
}

// run measures what was asked for, prints it, and writes it to the file of -json, even if not
// all could be measured. A failure is a description of bits that differ.
func (b *bench) run(ctx context.Context) (failures []string, err error) {
	if b.peers != "" {
		if b.file.Peers, err = readPeers(b.peers); err != nil {
			return nil, err
		}
	}
	before := machine.ReadCPUTimes()
	err = b.measure(ctx)
	now := machine.ReadCPUTimes()
	b.file.Machine.StealPercent, b.file.Machine.OthersPercent = before.StealPercent(now), before.OthersPercent(now)
	if b.json != "-" {
		page.Print(b.out, b.file)
	}
	if b.json != "" && err == nil && ctx.Err() == nil {
		err = b.file.WriteFile(b.json)
	}
	if len(b.file.NotRun) > 0 && !b.all && err == nil {
		err = fmt.Errorf("NOT RUN: %s", strings.Join(b.file.NotRun, "; "))
	}
	failures = b.file.Failures()
	if a := results.Agree([]*results.File{b.file}); len(a.Names) > 0 {
		failures = append(failures, a.Line)
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

// measure measures the suites, one after the other and then, as -count says, all again.
func (b *bench) measure(ctx context.Context) (err error) {
	steps := 0
	for _, s := range b.suites {
		n := 1
		if s.Repeats() {
			n = b.count
		}
		steps += n * s.Steps(&b.Config)
	}
	p := newProgress(b.err, steps)
	defer p.close()
	b.Progress = p.next
	var repeated []*results.File
	for n := range b.count {
		f := b.file
		if n > 0 {
			f = new(results.File)
			repeated = append(repeated, f)
		}
		for _, s := range b.suites {
			if err == nil && (n == 0 || s.Repeats()) {
				err = s.Run(ctx, &b.Config, f)
			}
		}
	}
	b.file.AddRuns(repeated)
	return err
}
