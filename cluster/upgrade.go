package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

const upgradeUsage = `usage: cluster upgrade [flags]

Says which entries of the directory programs of another version have left, so that those of this one refuse them. Entries that are
damaged count too. With -yes it drops them, unless a worker of another version is there; then it drops nothing.
`

// runUpgrade lists what is of another version, and drops it if it is told so.
func runUpgrade(ctx context.Context, s streams, args []string) error {
	yes := false
	define := func(fs *flag.FlagSet) { fs.BoolVar(&yes, "yes", false, "drop what is listed") }
	return ask(ctx, s, "upgrade", upgradeUsage, args, noArguments, define, func(ctx context.Context, conn *hub.Conn) error {
		workers, err := shard.Report(ctx, conn)
		if err != nil {
			return err
		}
		all, err := shard.List(ctx, conn)
		if err != nil {
			return err
		}
		var old, atWork []string
		for _, i := range all {
			if i.Err != nil {
				old = append(old, i.Name)
				fmt.Fprintf(s.out, "sequence %s: %v\n", i.Name, i.Err)
			}
		}
		if len(old) == 0 {
			fmt.Fprintf(s.out, "all is of version %v\n", hub.Own)
		}
		for _, w := range workers {
			if w.Version != hub.Own.String() {
				atWork = append(atWork, "worker "+w.Name)
				fmt.Fprintf(s.out, "at work: worker %s\n", w.Name)
			}
		}
		switch {
		case !yes || len(old) == 0:
			return nil
		case len(atWork) > 0:
			return fmt.Errorf("nothing is dropped while programs of another version are at work: %s", strings.Join(atWork, ", "))
		}
		return drop(ctx, conn, s, old)
	})
}

// drop drops entries of the directory.
func drop(ctx context.Context, conn *hub.Conn, s streams, names []string) error {
	var errs []error
	for _, name := range names {
		if err := shard.Forget(ctx, conn, name); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(s.report, "cluster: dropped sequence %s\n", name)
	}
	return errors.Join(errs...)
}
