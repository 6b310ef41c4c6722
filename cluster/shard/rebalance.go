package shard

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// Rebalance repairs sequences, see [Client.Repair], and then moves blocks from workers that
// hold more than their share to those that hold less, such as new ones. No more blocks move
// than that takes, and of a sequence with n blocks on w workers each then holds n·R/w, rounded
// up or down. It returns the number of copies, of both. For a sequence it counts as appending.
//
// A block is copied, then all who read are told of the new holder, and only then the old one
// forgets it: calls at any time give the same bits. A worker that cannot take a block leaves it
// where it is.
//
// The errors are those of Repair; then no block was moved, or what was moved is in order.
func (c *Client) Rebalance(ctx context.Context, sequences ...*Sequence) (copies int, err error) {
	if err := c.checkSequences(sequences); err != nil {
		return 0, err
	}
	r, err := c.repair(ctx, sequences)
	if r == nil {
		return 0, err
	}
	for i := 0; i < len(sequences) && err == nil; i++ {
		err = r.balance(ctx, sequences[i])
	}
	return r.copies, errors.Join(err, ctx.Err())
}

// move is a block that goes from one worker to another.
type move struct {
	block    int
	from, to string
	done     bool
}

// balance moves blocks of a sequence.
func (r *repair) balance(ctx context.Context, s *Sequence) error {
	s.mu.Lock()
	full := s.blocks[:s.length/wire.BlockKeys] // the writer may be sending rows of the rest
	moves := planMoves(full, r.live, s.name)
	epoch := s.readEpoch()
	s.mu.Unlock()
	if len(moves) == 0 {
		return nil
	}
	r.copyAll(ctx, s, moves, epoch)
	undo := s.relocate(moves)
	if s.shared != nil {
		if err := s.Commit(ctx); err != nil {
			if !errors.As(err, new(*DirectoryError)) { // otherwise it may have been stored
				undo()
			}
			return err
		}
	}
	r.dropAll(ctx, s, moves)
	return nil
}

// planMoves returns the fewest moves after which each of the workers holds its share of
// blocks, rounded up or down. A worker takes those blocks for which it ranks highest.
func planMoves(blocks []placed, workers []string, name string) []*move {
	holders := make([][]string, len(blocks))
	load := map[string]int{}
	total := 0
	for i, b := range blocks {
		holders[i] = slices.Clone(b.workers)
		for _, w := range b.workers {
			if slices.Contains(workers, w) {
				load[w]++
				total++
			}
		}
	}
	var moves []*move
	for len(workers) > 0 {
		least := slices.MinFunc(workers, func(a, b string) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(a, b)) })
		most := slices.MaxFunc(workers, func(a, b string) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(b, a)) })
		if load[most]-load[least] < 2 {
			break
		}
		best, score := -1, uint64(0) // there is one, as least holds fewer than most
		for i, h := range holders {
			if x := rendezvous(least, name, i); slices.Contains(h, most) && !slices.Contains(h, least) && (best < 0 || x > score) {
				best, score = i, x
			}
		}
		holders[best][slices.Index(holders[best], most)] = least
		load[most]--
		load[least]++
		moves = append(moves, &move{block: best, from: most, to: least})
	}
	return moves
}

// copyAll copies the blocks of moves to their new holders.
func (r *repair) copyAll(ctx context.Context, s *Sequence, moves []*move, epoch uint64) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, m := range moves {
		b := &blockRepair{repair: r, name: s.name, block: m.block, epoch: epoch, rows: wire.BlockKeys}
		s.mu.Lock()
		holders := slices.Clone(s.blocks[m.block].workers)
		s.mu.Unlock()
		s.touch([]string{m.to})
		group.Go(func() error {
			m.done = b.copy(ctx, holders, m.to) == nil
			return nil
		})
	}
	group.Wait()
	for _, m := range moves {
		if m.done {
			r.copies++
		}
	}
}

// relocate notes the new holders. It returns a function that notes the old ones again.
func (s *Sequence) relocate(moves []*move) (undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := slices.Clone(s.blocks)
	for _, m := range moves {
		workers := slices.Clone(s.blocks[m.block].workers)
		if i := slices.Index(workers, m.from); m.done && i >= 0 {
			workers[i] = m.to
			s.blocks[m.block].workers = workers
			s.change()
			s.moves++
		}
	}
	s.recount()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.blocks = old
		s.recount()
	}
}

// dropAll asks the old holders to forget the blocks. Those that do not hear it keep them until
// the sequence is freed.
func (r *repair) dropAll(ctx context.Context, s *Sequence, moves []*move) {
	blocks := map[string][]int{}
	for _, m := range moves {
		if m.done {
			blocks[m.from] = append(blocks[m.from], m.block)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.client.config.Timeout)
	defer cancel()
	var all sync.WaitGroup
	for _, w := range slices.Sorted(maps.Keys(blocks)) {
		drop := wire.Drop{ID: rand.Uint64(), Sequence: s.name, Blocks: blocks[w]}
		all.Go(func() { r.client.request(ctx, w, "drop", drop.Append(nil)) })
	}
	all.Wait()
}
