package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/tune"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

const tuneUsage = `usage: go run ./bench -tune [flags]

Measures which tuning numbers make the tiers fast on this CPU, one group of numbers after
the other, and prints entries for internal/tier/tunings.go. It takes some minutes, and
means little unless the machine is idle. To try an entry, or other numbers, with any
program, set ATTN_TUNING as the documentation of kernel.Tier.Tuned says.

`

// runTune runs the command with -tune.
func runTune(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs := newFlags("-tune", tuneUsage)
	tiers := fs.String("tiers", "", "tiers to measure (default all with vectors that run here)")
	groups := fs.String("groups", strings.Join(tune.Groups(), ","), "groups of numbers to measure")
	s := tune.Sweep{Out: stdout}
	fs.IntVar(&s.Rounds, "rounds", 9, "times are the best of so many")
	fs.DurationVar(&s.Time, "time", 2*time.Millisecond, "how long each of them takes at least")
	if err := command.Parse(fs, args, stdout); err != nil {
		return err
	}
	list, err := parseTiers(*tiers)
	if *tiers == "" {
		list = slices.DeleteFunc(list, func(t kernel.Tier) bool { return t == machine.Generic })
	}
	if s.Rounds < 1 || s.Time < 0 {
		err = fmt.Errorf("-rounds %d -time %v: want at least 1 and 0", s.Rounds, s.Time)
	}
	s.Groups = strings.Split(*groups, ",")
	for _, g := range s.Groups {
		if !slices.Contains(tune.Groups(), g) {
			err = cmp.Or(err, fmt.Errorf("-groups: unknown group %q, want some of %s", g, strings.Join(tune.Groups(), ",")))
		}
	}
	if err := cmp.Or(noArguments(fs), err); err != nil {
		return command.Usage(err)
	}
	for _, s.Tier = range list {
		fmt.Fprintf(stdout, "\ntier %s\n", s.Tier)
		if _, err := s.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}
