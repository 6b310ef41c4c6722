package main

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

const simulateUsage = `usage: cluster simulate [flags]

Measures on this machine what a step of decoding costs: the arithmetic of a block of 256 keys,
reading and merging its partials, a message. From that and the network that the flags state it
computes how long one layer of one step takes on 2 to 64 machines like this one. "star" is what
attend does: all partials go to the client. "chain" is what attend -run does: blocks lie on workers in
runs, and a state goes from worker to worker. Both have the bits of one machine.
`

// simulation is a command line of simulate.
type simulation struct {
	config  shard.Config
	heads   int
	run     int
	exec    kernel.Exec
	network shard.Network
	streams streams
}

// runSimulate measures and forecasts.
func runSimulate(ctx context.Context, s streams, args []string) error {
	c := &simulation{streams: s}
	if err := c.parse(args); err != nil {
		return err
	}
	costs, err := shard.Measure(ctx, c.config, c.heads, c.exec)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%d query heads on %d key heads of %d columns in %v; measured here:\n", c.heads, c.config.Heads, c.config.HeadSize, c.config.Type)
	fmt.Fprintf(s.out, "  a block of 256 keys: arithmetic %v, reading its partials %v, merging %v\n", costs.Block, costs.Read, costs.Merge)
	fmt.Fprintf(s.out, "  a message and its answer: %v\n", costs.Message)
	fmt.Fprintf(s.out, "Network: %v from machine to machine, %.3g Gbit/s each; %d bytes a query, %d bytes a block.\n\n",
		c.network.Latency, c.network.Bandwidth*8/1e9, costs.QueryBytes, costs.PartialBytes)
	return c.print(&costs)
}

// parse parses the command line.
func (c *simulation) parse(args []string) error {
	fs := newFlags("simulate", simulateUsage)
	fs.IntVar(&c.heads, "heads", 32, "query heads")
	fs.IntVar(&c.config.Heads, "kv-heads", 8, "key heads")
	fs.IntVar(&c.config.HeadSize, "head-size", 128, "columns of a head")
	kind := fs.String("type", "f16", "elements of keys and values: f32, f16, bf16 or int8")
	fs.IntVar(&c.run, "run", 64, "blocks of 256 keys in a row on one worker, for chains, 1 to 4096")
	command.ExecFlags(fs, &c.exec)
	fs.DurationVar(&c.network.Latency, "latency", 50*time.Microsecond, "from one machine to another, over the NATS server")
	gigabits := fs.Float64("gbit", 10, "Gbit/s of a machine's connection, in each direction")
	fs.IntVar(&c.network.Message, "max-payload", 1<<20, "most bytes of a message")
	if err := command.Parse(fs, args, c.streams.out); err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	t, ok := elementTypes[*kind]
	c.config.Type, c.network.Bandwidth = t, *gigabits*1e9/8
	switch {
	case !ok:
		return command.Usage(fmt.Errorf("-type is %q, want f32, f16, bf16 or int8", *kind))
	case c.run < 1 || c.run > 4096:
		return command.Usage(fmt.Errorf("-run %d, want 1 to 4096", c.run))
	case !(*gigabits > 0 && *gigabits <= 1e6) || c.network.Latency < 0 || c.network.Message < 1:
		return command.Usage(fmt.Errorf("-gbit %v, -latency %v and -max-payload %d, want numbers of a network", *gigabits, c.network.Latency, c.network.Message))
	}
	return command.CheckExec(c.exec)
}

// print writes a table: times, and how many times as fast as one machine.
func (c *simulation) print(costs *shard.Costs) error {
	chain := func(keys, machines int, n shard.Network) time.Duration { return costs.Chain(keys, machines, c.run, n) }
	t := tabwriter.NewWriter(c.streams.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "keys\tone machine\tMB of partials\t")
	machines := []int{2, 4, 8, 16, 32, 64}
	for _, m := range machines {
		fmt.Fprintf(t, "%d machines\t", m)
	}
	fmt.Fprintln(t)
	for keys := 64 << 10; keys <= 1<<20; keys *= 2 {
		alone := costs.Alone(keys)
		for _, way := range []struct {
			name string
			time func(keys, machines int, n shard.Network) time.Duration
		}{{"star", costs.Star}, {"chain", chain}} {
			fmt.Fprintf(t, "%s %s\t%v\t%.1f\t", strconv.Itoa(keys>>10)+"k", way.name, alone.Round(10*time.Microsecond), float64(keys/256*costs.PartialBytes)/1e6)
			for _, m := range machines {
				took := way.time(keys, m, c.network)
				fmt.Fprintf(t, "%v ×%.1f\t", took.Round(10*time.Microsecond), alone.Seconds()/took.Seconds())
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
}
