//go:build unix

// Command torture runs a cluster of real processes on this machine, disturbs it again and again, and writes a table of
// what became of it as Markdown. Its status is not 0 if a result was wrong, or if none came.
//
//	go run ./cluster/torture -minutes 30
//
// It listens on 127.0.0.1 alone, starts at most seven processes at a time, and ends them and its temporary folder with itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/attn-go/attn/models/command"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("torture", run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings are a command line.
type settings struct {
	minutes float64 // after which no other round of faults begins; 0 means no such limit
	rounds  int     // of faults; 0 means as many as there is time for
	seed    uint64
	program string // the command cluster; "" means that it is built
}

// run tortures until its time is over or ctx ends.
func run(ctx context.Context, args []string, out, report io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("torture", flag.ContinueOnError)
	fs.Float64Var(&s.minutes, "minutes", 1, "`minutes` after which no other fault begins, more than 0 and at most 1440")
	fs.IntVar(&s.rounds, "rounds", 0, "most times that each fault is tried; 0 means as often as there is time")
	fs.Uint64Var(&s.seed, "seed", 1, "`seed` of the moments and the choices")
	fs.StringVar(&s.program, "cluster", "", "`file` of the command cluster (default: it is built)")
	if err := command.Parse(fs, args, out); err != nil {
		return err
	}
	if !(s.minutes > 0 && s.minutes <= 1440) || s.rounds < 0 || fs.NArg() > 0 {
		return command.Usage(fmt.Errorf("-minutes %v, -rounds %d and %d arguments, want more than 0 and at most 1440, 0 or more, and none", s.minutes, s.rounds, fs.NArg()))
	}
	x, err := newStage(ctx, s, report)
	if err != nil {
		return err
	}
	defer x.close()
	end := time.Now().Add(time.Duration(s.minutes * float64(time.Minute)))
	t := newTable(faults)
	for round := 0; s.rounds == 0 || round < s.rounds; round++ {
		for i, f := range faults {
			if ctx.Err() != nil || time.Now().After(end) {
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
