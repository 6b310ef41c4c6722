package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nuid"
	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

const workUsage = `usage: cluster work [flags]

Works for the clients of a cluster until it is interrupted. A worker has one or more roles:
`

// A role is a kind of work. Each has a file of its own, work_NAME.go.
type role struct {
	name    string
	summary string
	flags   func(fs *flag.FlagSet)                         // defines the flags that only this role has
	missing func() error                                   // what this machine lacks for the role, or nil; may be nil
	run     func(ctx context.Context, w *workConfig) error // works until ctx ends
}

// roles returns all roles, each with settings of its own.
func roles() []role {
	return []role{shardRole(), embedRole()}
}

// workConfig is what all roles of a worker share.
type workConfig struct {
	server  hub.Config
	conn    *hub.Conn
	name    string
	exec    kernel.Exec
	streams streams
	monitor *monitor
}

// runWork works in all roles that the command line names.
func runWork(ctx context.Context, s streams, args []string) error {
	w := &workConfig{streams: s, monitor: newMonitor("work")}
	chosen, err := w.parse(args)
	if err != nil {
		return err
	}
	w.monitor.pending(connection, "no server has answered yet")
	for _, r := range chosen {
		w.monitor.pending(r.name, "the worker starts")
	}
	stop, err := w.monitor.start(s)
	if err != nil {
		return err
	}
	defer stop()
	w.server.Name, w.server.Log = "attn worker "+w.name, w.streams.log()
	return withServer(ctx, w.server, true, func(ctx context.Context, conn *hub.Conn) error {
		w.conn = conn
		w.monitor.connected(conn)
		group, ctx := errgroup.WithContext(ctx)
		for _, r := range chosen {
			group.Go(func() error {
				if err := r.run(ctx, w); err != nil && !errors.Is(err, context.Canceled) {
					return fmt.Errorf("%s: %w", r.name, err)
				}
				return nil
			})
		}
		return group.Wait()
	})
}

// parse parses the command line and returns the roles that it names.
func (w *workConfig) parse(args []string) ([]role, error) {
	all := roles()
	usage := workUsage
	for _, r := range all {
		usage += fmt.Sprintf("  %-6s %s\n", r.name, r.summary)
	}
	fs := newFlags("work", usage)
	w.server.Flags(fs)
	fs.DurationVar(&w.server.Wait, "wait", -1, "how long to wait for a server that does not answer; a negative time means as long as it takes")
	fs.StringVar(&w.name, "name", "", "`name` of the worker: letters, digits, - and _, 55 at most (default one that is made up)")
	command.ExecFlags(fs, &w.exec)
	w.monitor.flags(fs)
	wanted := fs.String("roles", "", "`roles`, separated by commas (default all for which this machine has what they need)")
	for _, r := range all {
		r.flags(fs)
	}
	if err := command.Parse(fs, args, w.streams.out); err != nil {
		return nil, err
	}
	if err := noArguments(fs); err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, command.Usage(err)
	}
	if *wanted == "" {
		return w.possible(all)
	}
	return choose(all, strings.Split(*wanted, ","))
}

// possible returns the roles for which nothing is missing, and says which it leaves out.
func (w *workConfig) possible(all []role) ([]role, error) {
	var chosen []role
	for _, r := range all {
		if r.missing != nil {
			if err := r.missing(); err != nil {
				fmt.Fprintf(w.streams.report, "cluster: NOT WORKING as %s: %v\n", r.name, err)
				continue
			}
		}
		chosen = append(chosen, r)
	}
	return chosen, nil
}

// check completes and checks the settings.
func (w *workConfig) check() error {
	if w.name == "" {
		w.name = madeUpName()
	}
	if !hub.IsToken(w.name) || len(w.name) > 55 {
		return fmt.Errorf("-name is %q, want 1 to 55 letters, digits, - and _", w.name)
	}
	return command.CheckExec(w.exec)
}

// madeUpName returns a name from this machine's name that no other worker has.
func madeUpName() string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if hub.IsToken(string(r)) {
			return r
		}
		return '-'
	}, host)
	return host[:min(len(host), 32)] + "-" + nuid.Next()
}

// choose returns the roles with the given names.
func choose(all []role, names []string) ([]role, error) {
	var chosen []role
	for _, name := range names {
		i := slices.IndexFunc(all, func(r role) bool { return r.name == name })
		if i < 0 {
			return nil, command.Usage(fmt.Errorf("-roles: there is no role %q", name))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
