//go:build unix

// Package torture has a test alone: a cluster of real processes on this machine, which it disturbs again and again. It writes a
// table of what became of it as Markdown, and fails if a result was wrong, or if none came.
//
//	go test ./cluster/torture -run TestTorture -v -args -minutes 30
//
// It listens on 127.0.0.1 alone, starts at most nine processes at a time, and ends them and its temporary folder with itself.
package torture

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"
)

// settings say how long it takes.
type settings struct {
	minutes float64 // after which no other round of faults begins; 0 means no such limit
	rounds  int     // of faults; 0 means as many as there is time for
	seed    uint64
	program string // the command cluster; "" means that it is built
}

// long is -minutes: each fault once without it.
var long = flag.Float64("minutes", 0, "`minutes` after which no other fault begins (default: each fault once)")

// run tortures until its time is over or ctx ends.
func run(ctx context.Context, s settings, out, report io.Writer) error {
	x, err := newStage(ctx, s, report)
	if err != nil {
		return err
	}
	defer x.close()
	end := time.Now().Add(time.Duration(s.minutes * float64(time.Minute)))
	t := newTable(faults)
	for round := 0; s.rounds == 0 || round < s.rounds; round++ {
		for i, f := range faults {
			if ctx.Err() != nil || s.minutes > 0 && time.Now().After(end) {
				return t.finish(out, ctx.Err())
			}
			o, err := x.try(ctx, f)
			if err != nil {
				return t.finish(out, fmt.Errorf("%s: %w", f.name, err))
			}
			t.add(i, o)
			fmt.Fprintf(report, "torture: %s: %s\n", f.name, o)
		}
	}
	return t.finish(out, nil)
}
