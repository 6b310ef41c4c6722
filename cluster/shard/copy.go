package shard

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// copy copies rows of the block to a worker, from the first holder that can send them. Rows pass
// from worker to worker.
func (b *blockRepair) copy(ctx context.Context, to string, lo, hi int) error {
	var errs []error
	for _, from := range b.before {
		if from == to {
			continue
		}
		err := b.send(ctx, from, to, lo, hi)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// send asks a holder to send rows to a worker.
func (b *blockRepair) send(ctx context.Context, from, to string, lo, hi int) error {
	return b.ask(ctx, from, wire.Send{Lo: lo, Hi: hi, To: to})
}

// ask sends a message about the block to one of the workers that are there.
func (b *blockRepair) ask(ctx context.Context, worker string, m wire.Send) error {
	if worker != b.leaving && !slices.Contains(b.live, worker) {
		return &WorkerError{worker, CodeSilent, "it is gone", nats.ErrNoResponders}
	}
	m.Geometry, m.Sequence, m.Epoch, m.Block, m.Rows = b.client.geometry, b.name, b.epoch, b.block, b.rows
	ctx, cancel := context.WithTimeout(ctx, b.client.config.Timeout)
	defer cancel()
	_, err := b.client.request(ctx, worker, "send", m.Append(nil))
	return err
}
