package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

const upgradeUsage = `usage: cluster upgrade [flags]

Says what programs of another version have left on the server, so that those of this one refuse to go on: entries of
the directory, and queues of embedding of versions that had some. Entries that are damaged count too. With -yes it drops them, unless a program of
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
	js        jetstream.JetStream
	queues    []string // streams of embedding, as versions before 6 had them
	sequences []shard.Info
	atWork    []string // programs of another version
}

// findOld asks the server for what this version cannot use.
func findOld(ctx context.Context, conn *hub.Conn) (*old, error) {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return nil, err
	}
	u := &old{js: js}
	workers, err := shard.Report(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		if w.Version != hub.Own.String() {
			u.atWork = append(u.atWork, "worker "+w.Name)
		}
	}
	all, err := shard.List(ctx, conn)
	for _, i := range all {
		if i.Err != nil {
			u.sequences = append(u.sequences, i)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"embed_jobs", "embed_results"} {
		_, err := js.Stream(ctx, conn.StreamName(name))
		if err == nil {
			u.queues = append(u.queues, conn.StreamName(name))
		} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, err
		}
	}
	return u, nil
}

func (u *old) empty() bool { return len(u.queues)+len(u.sequences) == 0 }

// write says what would be dropped.
func (u *old) write(s streams) {
	if u.empty() {
		fmt.Fprintf(s.out, "all is of version %v\n", hub.Own)
	}
	for _, q := range u.queues {
		fmt.Fprintf(s.out, "queue %s: of a version that had queues\n", q)
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
		done("queue "+q, u.js.DeleteStream(ctx, q))
	}
	for _, i := range u.sequences {
		done("sequence "+i.Name, shard.Forget(ctx, conn, i.Name))
	}
	return errors.Join(errs...)
}
