package shard

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// Repair looks for workers, see [Client.Refresh], and copies blocks that fewer than
// Config.Replicas of them hold to others. It returns the number of copies. Workers that are
// gone, or have lost their blocks, no longer count as holders. Call it after a worker has
// failed, or come; for a sequence it counts as appending. [Client.Rebalance] also moves blocks.
//
// A sequence of the directory may have another writer. Repair then reads it again first, and
// the writer goes on undisturbed.
//
// The error is a [*BlocksError] if there are blocks that no worker holds, or that of
// [Client.Refresh], or one of the directory. What could be copied is copied.
func (c *Client) Repair(ctx context.Context, sequences ...*Sequence) (copies int, err error) {
	if err := c.checkSequences(sequences); err != nil {
		return 0, err
	}
	r, err := c.repair(ctx, sequences)
	if r == nil {
		return 0, err
	}
	return r.copies, err
}

// repair repairs sequences. It returns nil and an error if there are no workers.
func (c *Client) repair(ctx context.Context, sequences []*Sequence) (*repair, error) {
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	r := &repair{client: c, live: c.Workers()}
	for _, s := range sequences {
		if err := r.shared(ctx, s); err != nil {
			return r, err
		}
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	return r, r.lost.err(r.causes)
}

// shared repairs a sequence, and tells the directory if it is there. If another client changes
// the sequence at the same time, it begins again.
func (r *repair) shared(ctx context.Context, s *Sequence) error {
	if s.shared == nil {
		r.sequence(ctx, s)
		return nil
	}
	for range tries {
		if err := s.follow(ctx); err != nil {
			return err
		}
		lost := r.lost.clone()
		r.sequence(ctx, s)
		err := s.Commit(ctx)
		if !errors.As(err, new(*ConflictError)) {
			return err
		}
		r.lost = lost
	}
	return &ConflictError{s.shared.name}
}

// follow makes ready for blocks to be moved: the writer of a sequence commits what it has, and
// others read it again.
func (s *Sequence) follow(ctx context.Context) error {
	s.mu.Lock()
	writer := s.shared.claimed
	s.mu.Unlock()
	if writer {
		err := s.Commit(ctx)
		if !errors.As(err, new(*ConflictError)) {
			return err
		}
	}
	return s.Reload(ctx)
}

// repair is a call of Repair.
type repair struct {
	client *Client
	live   []string

	mu     sync.Mutex // of what follows, and of load
	load   map[string]int
	copies int
	lost   lostBlocks
	causes []error
}

// atOnce is how many blocks are repaired side by side.
const atOnce = 8

// sequence repairs the blocks of a sequence.
func (r *repair) sequence(ctx context.Context, s *Sequence) {
	s.mu.Lock()
	blocks, length, epoch := slices.Clone(s.blocks), s.length, s.readEpoch()
	r.load = maps.Clone(s.load)
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range blocks {
		b := &blockRepair{repair: r, name: s.name, block: i, epoch: epoch, rows: min(length-i*wire.BlockKeys, wire.BlockKeys)}
		group.Go(func() error {
			blocks[i].workers = b.run(ctx, blocks[i].workers)
			return nil
		})
	}
	group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range r.load {
		s.load[w] = 0 // it may hold something
	}
	for i, b := range blocks {
		if !slices.Equal(s.blocks[i].workers, b.workers) {
			s.change()
			s.moves++
		}
	}
	s.blocks = blocks
	s.recount()
}

// blockRepair repairs a block.
type blockRepair struct {
	*repair
	name  string
	block int
	epoch uint64
	rows  int
}

// run returns the workers that hold the block afterwards. If none does, it is those that did,
// which may come back.
func (b *blockRepair) run(ctx context.Context, owners []string) []string {
	var holders []string
	var errs []error
	for _, w := range owners {
		if !slices.Contains(b.live, w) {
			errs = append(errs, &WorkerError{w, CodeSilent, "it is gone", nil})
		} else if _, err := b.fetch(ctx, w, b.rows-1, b.rows); err != nil {
			errs = append(errs, err)
		} else {
			holders = append(holders, w)
		}
	}
	b.mu.Lock()
	if len(holders) == 0 {
		b.lost.add(b.name, b.block)
		b.causes = append(b.causes, errs...)
		b.mu.Unlock()
		return owners
	}
	others := slices.DeleteFunc(slices.Clone(b.live), func(w string) bool { return slices.Contains(holders, w) })
	candidates := place(others, b.load, b.name, b.block, len(others))
	b.mu.Unlock()
	for _, w := range candidates {
		if len(holders) >= b.client.config.Replicas {
			break
		}
		if b.copy(ctx, holders, w) == nil {
			holders = append(holders, w)
			b.mu.Lock()
			b.load[w]++
			b.copies++
			b.mu.Unlock()
		}
	}
	return holders
}

// copy copies the block from one of the holders to a worker.
func (b *blockRepair) copy(ctx context.Context, holders []string, to string) error {
	g := &b.client.geometry
	most := (answerLimit(b.client.conn) - wire.PutOverhead - wire.KeysOverhead) / g.RowBytes()
	for lo := 0; lo < b.rows; lo += most {
		hi := min(b.rows, lo+most)
		rows, err := b.fetchAny(ctx, holders, lo, hi)
		if err != nil {
			return err
		}
		put := wire.Put{Geometry: *g, Items: []wire.Keys{{Sequence: b.name, Block: b.block, Epoch: b.epoch, Offset: lo, Count: hi - lo, Rows: rows}}}
		if err := b.put(ctx, to, &put); err != nil {
			return err
		}
	}
	return nil
}

// put sends rows to a worker.
func (b *blockRepair) put(ctx context.Context, worker string, p *wire.Put) error {
	ctx, cancel := context.WithTimeout(ctx, b.client.config.Timeout)
	defer cancel()
	statuses, err := b.client.put(ctx, worker, p)
	if err != nil {
		return err
	}
	return statusError(worker, statuses[0])
}

// fetchAny fetches rows from the first holder that has them.
func (b *blockRepair) fetchAny(ctx context.Context, holders []string, lo, hi int) ([]byte, error) {
	var errs []error
	for _, w := range holders {
		rows, err := b.fetch(ctx, w, lo, hi)
		if err == nil {
			return rows, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// fetch fetches rows from a worker.
func (b *blockRepair) fetch(ctx context.Context, worker string, lo, hi int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.client.config.Timeout)
	defer cancel()
	f := wire.Fetch{Geometry: b.client.geometry, Sequence: b.name, Epoch: b.epoch, Block: b.block, Rows: b.rows, Lo: lo, Hi: hi}
	data, err := b.client.request(ctx, worker, "fetch", f.Append(nil))
	if err == nil && len(data) != (hi-lo)*b.client.geometry.RowBytes() {
		err = malformed(worker, errors.New("rows of another size"))
	}
	return data, err
}
