package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/attn-go/attn/cluster/embed"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

const upgradeUsage = `usage: cluster upgrade [flags]

Says what programs of another version have left on the server, so that those of this one refuse to go on: queues of
embedding and entries of the directory. Entries that are damaged count too. With -yes it drops them, unless a program of
another version is at work; then it drops nothing.
`

// runUpgrade lists what is of another version, and drops it if it is told so.
func runUpgrade(ctx context.Context, s streams, args []string) error {
	yes := false
	define := func(fs *flag.FlagSet) { fs.BoolVar(&yes, "yes", false, "drop what is listed") }
	return ask(ctx, s, "upgrade", upgradeUsage, args, define, func(ctx context.Context, conn *hub.Conn) error {
		u, err := findOld(ctx, conn)
		if err != nil {
			return err
		}
		u.write(s)
		switch {
		case !yes || u.empty():
			return nil
		case len(u.atWork) > 0:
			return fmt.Errorf("nothing is dropped while programs of another version are at work: %s", strings.Join(u.atWork, ", "))
		}
		return u.drop(ctx, conn, s)
	})
}

// old is what programs of another version have left.
type old struct {
	queues    []embed.QueueReport
	sequences []shard.Info
	atWork    []string // programs of another version
}

// findOld asks the server for what this version cannot use.
func findOld(ctx context.Context, conn *hub.Conn) (*old, error) {
	u := &old{}
	queues, err := embed.Queues(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, q := range queues {
		if q.Error == "" {
			continue
		}
		u.queues = append(u.queues, q)
		for _, r := range q.Runs {
			if r.Held {
				u.atWork = append(u.atWork, "the client of run "+r.Run)
			}
		}
	}
	names, err := embed.OtherWorkers(ctx, conn)
	if err != nil {
		return nil, err
	}
	workers, err := shard.Report(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		if w.Version != hub.Own.String() {
			names = append(names, w.Name)
		}
	}
	for _, name := range names {
		u.atWork = append(u.atWork, "worker "+name)
	}
	all, err := shard.List(ctx, conn)
	for _, i := range all {
		if i.Err != nil {
			u.sequences = append(u.sequences, i)
		}
	}
	return u, err
}

func (u *old) empty() bool { return len(u.queues)+len(u.sequences) == 0 }

// write says what would be dropped.
func (u *old) write(s streams) {
	if u.empty() {
		fmt.Fprintf(s.out, "all is of version %v\n", hub.Own)
	}
	for _, q := range u.queues {
		fmt.Fprintf(s.out, "queue %s: %d messages of %d runs: %s\n", q.Name, q.Messages, len(q.Runs), q.Error)
	}
	for _, i := range u.sequences {
		fmt.Fprintf(s.out, "sequence %s: %v\n", i.Name, i.Err)
	}
	for _, who := range u.atWork {
		fmt.Fprintf(s.out, "at work: %s\n", who)
	}
}

// drop drops all.
func (u *old) drop(ctx context.Context, conn *hub.Conn, s streams) error {
	var errs []error
	done := func(what string, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		fmt.Fprintf(s.report, "cluster: dropped %s\n", what)
	}
	for _, q := range u.queues {
		done("queue "+q.Name, embed.DropQueue(ctx, conn, q))
	}
	for _, i := range u.sequences {
		done("sequence "+i.Name, shard.Forget(ctx, conn, i.Name))
	}
	return errors.Join(errs...)
}
