package main

import (
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
	rounds := fs.Int("rounds", 9, "times are the best of so many")
	per := fs.Duration("time", 2*time.Millisecond, "how long each of them takes at least")
	if err := command.Parse(fs, args, stdout); err != nil {
		return err
	}
	err := noArguments(fs)
	if err == nil && (*rounds < 1 || *per < 0) {
		err = fmt.Errorf("-rounds %d -time %v: want at least 1 and 0", *rounds, *per)
	}
	var list []kernel.Tier
	if err == nil {
		list, err = parseTiers(*tiers)
	}
	if *tiers == "" {
		list = slices.DeleteFunc(list, func(t kernel.Tier) bool { return t == machine.Generic })
	}
	chosen := strings.Split(*groups, ",")
	for _, g := range chosen {
		if err == nil && !slices.Contains(tune.Groups(), g) {
			err = fmt.Errorf("-groups: unknown group %q, want some of %s", g, strings.Join(tune.Groups(), ","))
		}
	}
	if err != nil {
		return command.Usage(err)
	}
	for _, tier := range list {
		fmt.Fprintf(stdout, "\ntier %s\n", tier)
		s := tune.Sweep{Tier: tier, Groups: chosen, Rounds: *rounds, Time: *per, Out: stdout}
		if _, err := s.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}
