package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// Leave makes ready for the worker to end: it takes no more blocks, and those of sequences of the
// directory that it holds are copied to other workers, which take its place. Until [Worker.Close] it
// goes on answering. Blocks of sequences that are not in the directory stay: only the client
// that made such a sequence knows who holds what.
//
// The error is a [*BlocksError] of the blocks that no other worker took, one of the directory,
// or that of ctx. What could be copied is copied, and Leave may be called again.
func (w *Worker) Leave(ctx context.Context) error {
	if err := w.announce(); err != nil {
		return err
	}
	found, err := search(ctx, w.conn)
	if err != nil {
		return err
	}
	live, _ := choose(found)
	live = slices.DeleteFunc(live, func(x string) bool { return x == w.config.id })
	var errs []error
	err = w.bucket.each(ctx, w.conn, func(name string, e *wire.Entry, err error) {
		if err == nil {
			err = w.handOver(ctx, name, e, live)
		}
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, hub.ErrVersion) {
			errs = append(errs, err)
		}
	})
	if hasNoDirectory(err) {
		err = nil
	}
	return errors.Join(append(errs, err)...)
}

// announce tells programs that look for workers that this one takes no more blocks. Those that
// have not looked since are refused, see put.
func (w *Worker) announce() error {
	if w.leaving.Swap(true) {
		return nil
	}
	w.store.Refuse()
	metadata := w.metadata()
	metadata[leaving] = "true"
	var err error
	w.notice, err = micro.AddService(w.conn.Conn, micro.Config{Name: service, Version: serviceVersion,
		Description: "says that a worker leaves", Metadata: metadata, QueueGroupDisabled: true})
	if err != nil {
		w.leaving.Store(false)
		return fmt.Errorf("shard: %w", err)
	}
	return w.conn.Flush()
}

// handOver copies the blocks of a sequence that this worker holds to others.
func (w *Worker) handOver(ctx context.Context, name string, e *wire.Entry, live []string) error {
	r := &repair{live: live, leaving: w.config.id}
	for range tries {
		var mine []int
		for i, holders := range e.Blocks {
			if slices.Contains(holders, w.config.id) {
				mine = append(mine, i)
			}
		}
		if len(mine) == 0 {
			return nil
		}
		if _, err := w.settle(ctx, name, e, mine, r); err != nil {
			return err
		}
		var err error
		if e, _, err = r.client.read(ctx, name); err != nil {
			return err
		}
	}
	var left lostBlocks
	for i, holders := range e.Blocks {
		if slices.Contains(holders, w.config.id) {
			left.add(name, i)
		}
	}
	return left.err([]error{errors.New("no other worker has taken them")})
}
