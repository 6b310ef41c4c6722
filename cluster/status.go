package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

const statusUsage = `usage: cluster status [flags]

Says what the workers of attention hold, and for whom, and what the directory has.
`

// status is what the subcommand says, as JSON with -json.
type status struct {
	Version   string               `json:"version"` // of messages and numeric contract
	Workers   []shard.WorkerReport `json:"workers"`
	Sequences []sequenceStatus     `json:"sequences"`
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
		fs.BoolVar(&asJSON, "json", false, "write JSON: an object with version, workers and sequences")
	}
	return ask(ctx, s, "status", statusUsage, args, define, func(ctx context.Context, conn *hub.Conn) error {
		found, err := newStatus(ctx, conn)
		if err != nil {
			return err
		}
		if asJSON {
			e := json.NewEncoder(s.out)
			e.SetIndent("", "  ")
			return e.Encode(found)
		}
		found.write(s)
		return nil
	})
}

// newStatus asks the server, the workers and the directory.
func newStatus(ctx context.Context, conn *hub.Conn) (*status, error) {
	x := &status{Version: hub.Own.String(), Sequences: []sequenceStatus{}}
	var err error
	if x.Workers, err = shard.Report(ctx, conn); err != nil {
		return nil, err
	}
	all, err := shard.List(ctx, conn)
	for _, i := range all {
		s := sequenceStatus{Name: i.Name, Keys: i.Keys, Copies: i.Copies, Replicas: i.Config.Replicas, Held: i.Held(x.Workers)}
		if i.Err != nil {
			s.Error = i.Err.Error()
		}
		x.Sequences = append(x.Sequences, s)
	}
	return x, err
}

// write writes the status as text.
func (x *status) write(s streams) {
	fmt.Fprintf(s.out, "version %s (wire format.numeric contract)\n", x.Version)
	for _, w := range x.Workers {
		leaving := ""
		if w.Leaving {
			leaving = ", leaving"
		}
		fmt.Fprintf(s.out, "worker %s: version %s, %d threads on %d cores, %d of %d bytes%s%s\n", w.Name, w.Version, w.Threads, w.Cores, w.Used, w.Limit, leaving, problem(w.Error))
		for _, h := range w.Holds {
			fmt.Fprintf(s.out, "  for %s: %d blocks, %d bytes\n", h.For, h.Blocks, h.Bytes)
		}
	}
	for _, i := range x.Sequences {
		fmt.Fprintf(s.out, "sequence %s: %d keys, each block on %d of %d workers at least%s%s\n", i.Name, i.Keys, i.Held.Least, i.Replicas, i.repair(), problem(i.Error))
	}
}

// repair says which blocks are not as they should be.
func (i *sequenceStatus) repair() (text string) {
	if i.Held.Lacking > 0 {
		text = fmt.Sprintf(", %d blocks to copy again", i.Held.Lacking)
	}
	if i.Held.Lost > 0 {
		text += fmt.Sprintf(", %d BLOCKS LOST", i.Held.Lost)
	}
	return text
}

// problem returns an error as the end of a line.
func problem(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
