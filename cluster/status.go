package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/cluster/shard"
)

const statusUsage = `usage: cluster status [flags]

Says which gateways and workers there are, what the workers of attention hold, and for whom, and what the directory has. What does not
answer within 5 seconds is named, and the rest is said all the same; the command then fails.
`

// status is what the subcommand says, as JSON with -json.
type status struct {
	Version   string               `json:"version"`  // of messages and numeric contract
	Gateways  []relay.Peer         `json:"gateways"` // and their workers
	Workers   []shard.WorkerReport `json:"workers"`
	Sequences []sequenceStatus     `json:"sequences"`
	Unknown   []string             `json:"unknown"` // what did not answer, and why

	all []shard.Info // that Sequences has been made of
}

// sequenceStatus is what the directory says of a sequence.
type sequenceStatus struct {
	Name     string `json:"name"`
	Keys     int    `json:"keys"`
	Copies   int    `json:"copies"`   // least number of workers that should hold a block
	Replicas int    `json:"replicas"` // that are wanted
	Error    string `json:"error,omitempty"`

	Held shard.Copies `json:"held"` // what workers hold indeed
}

// runStatus asks once and writes what it hears.
func runStatus(ctx context.Context, s streams, args []string) error {
	asJSON := false
	define := func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "write JSON: an object with version, gateways, workers, sequences and unknown")
	}
	return ask(ctx, s, "status", statusUsage, args, noArguments, define, func(ctx context.Context, conn *hub.Conn) error {
		found := newStatus(ctx, conn)
		if asJSON {
			e := json.NewEncoder(s.out)
			e.SetIndent("", "  ")
			if err := e.Encode(found); err != nil {
				return err
			}
		} else {
			found.write(s)
		}
		return found.unknown()
	})
}

// unknown returns an error if something did not answer.
func (x *status) unknown() error {
	if len(x.Unknown) > 0 {
		return errors.New(strings.Join(x.Unknown, "; "))
	}
	return nil
}

// partTime is how long each part of a cluster may take to say how it is.
const partTime = 5 * time.Second

// newStatus asks the server, the workers and the directory, side by side.
func newStatus(ctx context.Context, conn *hub.Conn) *status {
	x := &status{Version: hub.Own.String(), Sequences: []sequenceStatus{}, Unknown: []string{}}
	var mu sync.Mutex
	var asking sync.WaitGroup
	part := func(what, advice string, ask func(ctx context.Context) error) {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, partTime)
			defer cancel()
			if err := ask(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				x.Unknown = append(x.Unknown, fmt.Sprintf("%s: %v%s", what, err, advice))
			}
		})
	}
	const jetStream = " (JetStream has no leader, does not answer or its disk is full: see the log and /readyz of the server)"
	part("the directory", jetStream, func(ctx context.Context) (err error) { x.all, err = shard.List(ctx, conn); return err })
	part("the workers", "", func(ctx context.Context) (err error) { x.Workers, err = shard.Report(ctx, conn); return err })
	part("the gateways", "", func(ctx context.Context) (err error) { x.Gateways, err = relay.Peers(ctx, conn); return err })
	asking.Wait()
	slices.Sort(x.Unknown)
	if len(x.Unknown) == 0 {
		x.lookTwice(ctx, conn)
	}
	for _, i := range x.all {
		s := sequenceStatus{Name: i.Name, Keys: i.Keys, Copies: i.Copies, Replicas: i.Config.Replicas}
		if x.Workers != nil {
			s.Held = i.Held(x.Workers)
		}
		if i.Err != nil {
			s.Error = i.Err.Error()
		}
		x.Sequences = append(x.Sequences, s)
	}
	return x
}

// lookTwice asks the directory and the workers again if blocks seem to be lost: a sequence may have
// been freed between what the one and the others have said.
func (x *status) lookTwice(ctx context.Context, conn *hub.Conn) {
	if !slices.ContainsFunc(x.all, func(i shard.Info) bool { return i.Held(x.Workers).Lost > 0 }) {
		return
	}
	all, err := shard.List(ctx, conn)
	if err != nil {
		return
	}
	if workers, err := shard.Report(ctx, conn); err == nil {
		x.all, x.Workers = all, workers
	}
}

// write writes the status as text.
func (x *status) write(s streams) {
	fmt.Fprintf(s.out, "version %s (wire format.numeric contract)\n", x.Version)
	for _, g := range x.Gateways {
		fmt.Fprintf(s.out, "%s %s: version %s, fingerprint %s\n", map[bool]string{true: "gateway", false: "answer"}[g.Role == "gateway"], g.Name, g.Version, cmp.Or(g.Fingerprint, "of the first worker, WHICH IT HAS NOT FOUND"))
	}
	for _, w := range x.Workers {
		leaving := ""
		if w.Leaving {
			leaving = ", leaving"
		}
		fmt.Fprintf(s.out, "worker %s: version %s, %d threads on %d cores, %d of %d bytes%s%s\n", w.ID, w.Version, w.Threads, w.Cores, w.Used, w.Limit, leaving, problem(w.Error))
		for _, h := range w.Holds {
			fmt.Fprintf(s.out, "  for %s: %d blocks, %d bytes\n", h.For, h.Blocks, h.Bytes)
		}
	}
	for _, i := range x.Sequences {
		fmt.Fprintf(s.out, "sequence %s: %d keys, %s%s\n", i.Name, i.Keys, copiesText(i.Held, i.Replicas), problem(i.Error))
	}
}

// problem returns an error as the end of a line.
func problem(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
