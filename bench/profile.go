package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/phases"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/table"
	"github.com/attn-go/attn/kernel"
)

const profileUsage = `usage: go run ./bench -profile-calls [flags]

Splits the time of short calls on one thread into phases: each row is a shape, each cell
the time of a phase in a call and its share. The shares are those of a profile of the
program, some hundred samples a second, so they are precise to a few percent.

`

// runProfile runs the command with -profile-calls.
func runProfile(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlags("-profile-calls")
	shapes := fs.String("shapes", "S1,S8", "shapes to profile, by names or letters")
	per := fs.Duration("time", 3*time.Second, "how long each is profiled")
	others, err := parseMixed(fs, args)
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("unexpected argument %q", others[0])
	}
	var list []*problem.Shape
	if err == nil {
		list, err = parseShapes(*shapes, false)
	}
	if err != nil {
		return usageOf(fs, profileUsage, err, stdout, stderr)
	}
	rows := []string{"shape\tCPU time\t"}
	rows[0] += strings.Join(phases.Names(), "\t") + "\t"
	for _, s := range list {
		row, err := profileRow(ctx, s, *per)
		if err != nil {
			fmt.Fprintf(stderr, "bench -profile-calls: %v\n", err)
			return exitFailed
		}
		rows = append(rows, row)
	}
	table.Write(stdout, rows...)
	return exitOK
}

// profileRow profiles a shape.
func profileRow(ctx context.Context, s *problem.Shape, limit time.Duration) (string, error) {
	tensor := func(heads, n int) kernel.Tensor {
		return kernel.BHLD(numbers.Normals(heads*n*s.D), 1, heads, n, s.D)
	}
	q, k, v, out := tensor(s.Heads, s.Lq), tensor(s.KVHeads, s.Lk), tensor(s.KVHeads, s.Lk), tensor(s.Heads, s.Lq)
	o := kernel.Options{Exec: kernel.Exec{Threads: 1}}
	if s.Causal {
		o.Mask = kernel.Causal(0)
	}
	ns, shares, err := phases.Split(ctx, func() error { return kernel.Attention(out, q, k, v, &o) }, limit)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.Name, err)
	}
	cells := []string{s.Name, table.Duration(ns)}
	for _, name := range phases.Names() {
		cells = append(cells, fmt.Sprintf("%s %.0f%%", table.Duration(ns*shares[name]), 100*shares[name]))
	}
	return strings.Join(cells, "\t") + "\t", nil
}
