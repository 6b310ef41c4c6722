package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
)

const sequencesUsage = `usage: cluster sequences [flags] [NAME...]

Lists the sequences of the directory, or those that are named, with the workers that hold them.
-rebalance first makes the copies that are missing, as after the loss of a worker, and has new
workers take their share of the blocks; programs that read or append meanwhile go on.
`

// sequencesConfig is a command line of sequences.
type sequencesConfig struct {
	server    hub.Config
	rebalance bool
	free      bool
	timeout   time.Duration
	names     []string
	streams   streams
}

// runSequences lists, rebalances or frees sequences.
func runSequences(ctx context.Context, s streams, args []string) error {
	c := &sequencesConfig{streams: s}
	fs := newFlags("sequences", sequencesUsage)
	c.server.Flags(fs)
	fs.BoolVar(&c.rebalance, "rebalance", false, "make missing copies and move blocks to workers that have few")
	fs.BoolVar(&c.free, "free", false, "remove the sequences that are named from the directory and the workers")
	fs.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long to wait for a worker")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	c.names = fs.Args()
	if c.free && (len(c.names) == 0 || c.rebalance) || c.timeout <= 0 {
		return command.Usage(errors.New("-free wants NAMEs and no -rebalance, and -timeout more than 0"))
	}
	c.server.Name, c.server.Log = "attn sequences", s.log()
	return withServer(ctx, c.server, false, c.run)
}

// run does for each sequence what the flags say, and then lists them.
func (c *sequencesConfig) run(ctx context.Context, conn *hub.Conn) error {
	all, err := c.list(ctx, conn)
	if err != nil {
		return err
	}
	var errs []error
	for _, info := range all {
		if err := c.change(ctx, conn, info); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", info.Name, err))
		}
	}
	if c.free {
		return errors.Join(errs...)
	}
	if c.rebalance {
		if all, err = c.list(ctx, conn); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	workers, err := shard.Report(ctx, conn)
	if err == nil && len(c.names) == 0 {
		all, workers, err = lookTwice(ctx, conn, all, workers)
	}
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, i := range all {
		if i.Err != nil {
			fmt.Fprintf(c.streams.out, "%s: %v\n", i.Name, i.Err)
			continue
		}
		fmt.Fprintf(c.streams.out, "%s: %d keys in %s, %s: %s\n", i.Name, i.Keys, i.Config.Type,
			copiesText(i.Held(workers), i.Config.Replicas), strings.Join(holders(&i, workers), " "))
	}
	return errors.Join(errs...)
}

// holders returns the workers that the directory says hold a sequence, and which of them do not
// answer.
func holders(i *shard.Info, workers []shard.WorkerReport) []string {
	all := slices.Clone(i.Workers)
	for n, id := range all {
		if !slices.ContainsFunc(workers, func(w shard.WorkerReport) bool { return w.ID == id && w.Error == "" }) {
			all[n] = "(" + id + " DOES NOT ANSWER)"
		}
	}
	return all
}

// copiesText says how many workers hold the blocks of a sequence, and which blocks are not as they
// should be.
func copiesText(held shard.Copies, replicas int) string {
	text := fmt.Sprintf("each block on %d of %d workers at least", held.Least, replicas)
	if held.Lacking > 0 {
		text += fmt.Sprintf(", %d blocks to copy again", held.Lacking)
	}
	if held.Lost > 0 {
		text += fmt.Sprintf(", %d BLOCKS LOST", held.Lost)
	}
	return text
}

// list returns the sequences that are named, or all.
func (c *sequencesConfig) list(ctx context.Context, conn *hub.Conn) ([]shard.Info, error) {
	all, err := shard.List(ctx, conn)
	if err != nil || len(c.names) == 0 {
		return all, err
	}
	var named []shard.Info
	for _, name := range c.names {
		i := slices.IndexFunc(all, func(x shard.Info) bool { return x.Name == name })
		if i < 0 {
			return nil, &shard.DirectoryError{Sequence: name, Err: shard.ErrNotFound}
		}
		named = append(named, all[i])
	}
	return named, nil
}

// change rebalances or frees a sequence, if it is to be.
func (c *sequencesConfig) change(ctx context.Context, conn *hub.Conn, i shard.Info) error {
	if i.Err != nil || !c.rebalance && !c.free {
		return i.Err
	}
	if c.free {
		return shard.Free(ctx, conn, i.Name)
	}
	config := i.Config
	config.Timeout = c.timeout
	client, err := shard.New(ctx, conn, config)
	if err != nil {
		return err
	}
	s, err := client.Open(ctx, i.Name)
	if err != nil {
		return err
	}
	n, err := client.Rebalance(ctx, s)
	fmt.Fprintf(c.streams.report, "cluster: %s: %d blocks copied\n", i.Name, n)
	return err
}
