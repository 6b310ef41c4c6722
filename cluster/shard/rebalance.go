package shard

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/placement"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// Rebalance repairs sequences, see [Client.Repair], and then moves blocks from workers that
// hold more than their share to those that hold less, such as new ones. No more blocks move
// than that takes, and of a sequence with n blocks on w workers each then holds n·R/w, rounded
// up or down. It returns the number of copies, of both. For a sequence it counts as appending.
//
// A block is copied, then all who read are told of the new holder, and only then the old one
// forgets it: calls at any time give the same bits. A worker that cannot take a block leaves it
// where it is, and so does another client that changes the block meanwhile.
//
// The errors are those of Repair; then no block was moved, or what was moved is in order.
func (c *Client) Rebalance(ctx context.Context, sequences ...*Sequence) (copies int, err error) {
	return c.repair(ctx, sequences, true)
}

// holdersOf returns the workers that hold each block.
func holdersOf(blocks []placed) [][]string {
	holders := make([][]string, len(blocks))
	for i, b := range blocks {
		holders[i] = b.workers
	}
	return holders
}

// balance moves blocks of a sequence.
func (r *repair) balance(ctx context.Context, s *Sequence) error {
	s.mu.Lock()
	full := s.blocks[:s.length/wire.BlockKeys] // the writer may be sending rows of the rest
	moves := placement.Even(holdersOf(full), r.live, s.name)
	epoch := s.readEpoch()
	r.load = maps.Clone(s.load)
	s.mu.Unlock()
	for len(moves) > 0 && ctx.Err() == nil {
		var some []placement.Move
		some, moves = take(moves)
		moved, err := r.move(ctx, s, some, epoch)
		if err != nil {
			return err
		}
		r.dropAll(ctx, s, moved)
	}
	return nil
}

// take returns some moves of different blocks, and the rest.
func take(moves []placement.Move) (some, rest []placement.Move) {
	blocks := map[int]bool{}
	for _, m := range moves {
		if len(some) < perCommit && !blocks[m.Block] {
			blocks[m.Block] = true
			some = append(some, m)
		} else {
			rest = append(rest, m)
		}
	}
	return some, rest
}

// move copies blocks and notes their new holders. It returns the moves that were done.
func (r *repair) move(ctx context.Context, s *Sequence, moves []placement.Move, epoch uint64) ([]placement.Move, error) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	blocks := make([]*blockRepair, len(moves))
	for i, m := range moves {
		b := &blockRepair{repair: r, name: s.name, block: m.Block, epoch: epoch, rows: wire.BlockKeys}
		s.mu.Lock()
		b.before = slices.Clone(s.blocks[m.Block].workers)
		s.mu.Unlock()
		s.touch([]string{m.To})
		blocks[i] = b
		group.Go(func() error {
			at := slices.Index(b.before, m.From)
			if at >= 0 && !slices.Contains(b.before, m.To) && b.copyTo(ctx, m.To) {
				b.after = slices.Clone(b.before)
				b.after[at] = m.To
			}
			return nil
		})
	}
	group.Wait()
	left, err := r.settle(ctx, s, blocks)
	var done []placement.Move
	for i, b := range blocks {
		if !slices.Contains(left, b) {
			done = append(done, moves[i])
		}
	}
	return done, err
}

// dropAll asks the old holders to forget the blocks. Those that do not hear it keep them until
// the sequence is freed.
func (r *repair) dropAll(ctx context.Context, s *Sequence, moves []placement.Move) {
	blocks := map[string][]int{}
	for _, m := range moves {
		blocks[m.From] = append(blocks[m.From], m.Block)
	}
	ctx, cancel := context.WithTimeout(ctx, r.client.config.Timeout)
	defer cancel()
	var all sync.WaitGroup
	for _, w := range slices.Sorted(maps.Keys(blocks)) {
		drop := wire.Drop{ID: rand.Uint64(), Sequence: s.name, Blocks: blocks[w]}
		all.Go(func() { r.client.request(ctx, w, "drop", wire.Encode(&drop)) })
	}
	all.Wait()
}
