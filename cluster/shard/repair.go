package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/placement"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Repair looks for workers, see [Client.Refresh], and copies blocks that fewer than Config.Replicas
// of them hold to others. It returns the number of copies. Workers that are gone, or have lost
// their blocks, no longer count as holders. Call it after a worker has failed, or come; for a
// sequence it counts as appending. It is for sequences that only this client knows: workers repair
// the sequences of the directory by themselves.
//
// The error is a [*kernel.Error], a [*BlocksError] if there are blocks that no worker holds, or the
// error of [Client.Refresh]. Repair copies what it can even then.
func (c *Client) Repair(ctx context.Context, sequences ...*Sequence) (copies int, err error) {
	if err := c.checkSequences(sequences); err != nil {
		return 0, err
	}
	for i, s := range sequences {
		if s.shared != nil {
			return 0, &kernel.Error{Where: "sequences", Got: fmt.Sprintf("sequence %d of the directory", i), Want: "those that only this client knows"}
		}
	}
	if err := c.Refresh(ctx); err != nil {
		return 0, err
	}
	r := &repair{client: c, live: c.Workers()}
	var lost lostBlocks
	var causes []error
	for _, s := range sequences {
		numbers := make([]int, (s.Len()+wire.BlockKeys-1)/wire.BlockKeys)
		for i := range numbers {
			numbers[i] = i
		}
		for chunk := range slices.Chunk(numbers, perCommit) {
			left, err := r.settle(ctx, s, r.examine(ctx, s, chunk))
			if err := cmp.Or(ctx.Err(), err); err != nil {
				return r.copies, err
			}
			for _, b := range left {
				lost.add(b.name, b.block)
				causes = append(causes, b.causes...)
			}
		}
	}
	return r.copies, lost.err(causes)
}

// repair copies blocks.
type repair struct {
	client  *Client
	live    []string // workers that may hold blocks
	leaving string   // worker from which blocks are copied, and which no longer counts; "" if there is none

	mu     sync.Mutex // of what follows
	load   map[string]int
	copies int
}

// Blocks are repaired some at a time, side by side. Then the directory is told.
const (
	atOnce    = 8
	perCommit = 64
)

// examine looks at blocks of a sequence, and copies those that have too few holders.
func (r *repair) examine(ctx context.Context, s *Sequence, numbers []int) []*blockRepair {
	var blocks []*blockRepair
	s.mu.Lock()
	r.load = maps.Clone(s.load)
	for _, i := range numbers {
		if i >= len(s.blocks) {
			continue // it was cut off
		}
		blocks = append(blocks, &blockRepair{repair: r, name: s.name, block: i, epoch: s.readEpoch(),
			rows: min(s.length-i*wire.BlockKeys, wire.BlockKeys), before: slices.Clone(s.blocks[i].workers)})
	}
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, b := range blocks {
		group.Go(func() error {
			b.run(ctx)
			s.touch(b.added)
			return nil
		})
	}
	group.Wait()
	return blocks
}

// settle notes the new holders of blocks, and tells the directory. It returns the blocks that
// are left: those that nobody holds, and those that others have changed meanwhile.
func (r *repair) settle(ctx context.Context, s *Sequence, blocks []*blockRepair) (left []*blockRepair, err error) {
	var changed []*blockRepair
	for _, b := range blocks {
		if b.after == nil {
			left = append(left, b)
		} else if !slices.Equal(b.before, b.after) {
			changed = append(changed, b)
		}
	}
	if s.shared == nil {
		s.relocate(changed)
		return left, nil
	}
	refused, err := s.publish(ctx, changed)
	return append(left, refused...), err
}

// blockRepair repairs a block.
type blockRepair struct {
	*repair
	name     string
	block    int
	epoch    uint64   // in which rows are read
	rows     int      // that were copied
	before   []string // holders
	after    []string // holders then, nil if there is none left
	added    []string // workers that it was copied to
	declined []string // workers that it could not be copied to
	causes   []error  // why others do not hold it
}

// run finds out which workers hold the block, and copies it to as many as are missing.
func (b *blockRepair) run(ctx context.Context) {
	held := false
	var left []string
	for _, w := range b.before {
		err := b.ask(ctx, w, wire.Send{Lo: b.rows, Hi: b.rows})
		if err != nil {
			b.causes = append(b.causes, err)
		}
		held = held || err == nil
		if w != b.leaving && (err == nil || isBusy(err)) {
			left = append(left, w)
		}
	}
	switch {
	case !held: // or nobody says so
		return
	case ctx.Err() != nil: // nothing is known of some of them
		b.after = b.before
		return
	}
	b.after = left
	b.fill(ctx)
}

// fill copies the block to as many workers as it lacks.
func (b *blockRepair) fill(ctx context.Context) {
	for _, w := range b.candidates() {
		if len(b.after) >= b.client.config.Replicas {
			break
		}
		if b.copyTo(ctx, w) {
			b.after = append(b.after, w)
		}
	}
}

// isBusy tells whether a worker is there and has not answered: it may hold what it held.
func isBusy(err error) bool { return silent(err) && !errors.Is(err, nats.ErrNoResponders) }

// candidates returns the workers that could hold the block too, best first.
func (b *blockRepair) candidates() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(b.live), func(w string) bool { return slices.Contains(b.after, w) })
	return placement.Place(others, b.load, b.name, b.block, len(others))
}

// copyTo copies the block to a worker, and counts it.
func (b *blockRepair) copyTo(ctx context.Context, worker string) bool {
	if err := b.copy(ctx, worker, 0, b.rows); err != nil {
		if ctx.Err() == nil {
			b.declined = append(b.declined, worker)
			if silent(err) {
				b.client.suspects(worker)
			}
		}
		return false
	}
	b.added = append(b.added, worker)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load[worker]++
	b.copies++
	return true
}

// extend copies rows that were appended meanwhile, up to so many of the block.
func (b *blockRepair) extend(ctx context.Context, epoch uint64, rows int) error {
	more := *b
	more.epoch, more.rows = epoch, rows
	for _, w := range b.added {
		if err := more.copy(ctx, w, b.rows, rows); err != nil {
			return err
		}
	}
	b.epoch, b.rows = epoch, rows
	return nil
}

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

// ask sends a message about the block to a worker that is there.
func (b *blockRepair) ask(ctx context.Context, worker string, m wire.Send) error {
	if worker != b.leaving && !slices.Contains(b.live, worker) {
		return &WorkerError{worker, CodeSilent, "it is gone", nats.ErrNoResponders}
	}
	m.Geometry, m.Sequence, m.Epoch, m.Block, m.Rows = b.client.geometry, b.name, b.epoch, b.block, b.rows
	ctx, cancel := context.WithTimeout(ctx, b.client.config.Timeout)
	defer cancel()
	_, err := b.client.request(ctx, worker, "send", wire.Encode(&m))
	return err
}
