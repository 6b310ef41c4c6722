package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
)

const sequencesUsage = `usage: cluster sequences [flags] [NAME...]

Lists the sequences of the directory, or those that are named, with the workers that hold
them. Workers make copies again by themselves.
`

// runSequences lists or frees sequences.
func runSequences(ctx context.Context, s streams, args []string) error {
	var names, free []string
	define := func(fs *flag.FlagSet) {
		fs.Func("free", "remove the sequence of this `NAME` from the directory and the workers, also without workers; may be repeated", func(name string) error {
			free = append(free, name)
			return nil
		})
	}
	check := func(fs *flag.FlagSet) error {
		if names = fs.Args(); len(free) > 0 && len(names) > 0 {
			return command.Usage(fmt.Errorf("%q follows -free NAME, want -free before each name", names[0]))
		}
		return nil
	}
	return ask(ctx, s, "sequences", sequencesUsage, args, check, define, func(ctx context.Context, conn *hub.Conn) error {
		if len(free) == 0 {
			return newStatus(ctx, conn).list(s, names)
		}
		var errs []error
		for _, name := range free {
			if err := shard.Free(ctx, conn, name); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		return errors.Join(errs...)
	})
}

// list writes the sequences of some names, or all, with their holders.
func (x *status) list(s streams, names []string) error {
	for _, i := range x.all {
		switch {
		case len(names) > 0 && !slices.Contains(names, i.Name):
		case i.Err != nil:
			fmt.Fprintf(s.out, "%s: %v\n", i.Name, i.Err)
		default:
			fmt.Fprintf(s.out, "%s: %d keys in %s, %s: %s\n", i.Name, i.Keys, i.Config.Type,
				copiesText(i.Held(x.Workers), i.Config.Replicas), strings.Join(holders(&i, x.Workers), " "))
		}
	}
	errs := []error{x.unknown()}
	for _, name := range names {
		if !slices.ContainsFunc(x.all, func(i shard.Info) bool { return i.Name == name }) {
			errs = append(errs, &shard.DirectoryError{Sequence: name, Err: shard.ErrNotFound})
		}
	}
	return errors.Join(errs...)
}

// holders returns the workers that hold a sequence by the directory, and says which do not answer.
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
