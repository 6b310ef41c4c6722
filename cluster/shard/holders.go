package shard

import (
	"context"
	"slices"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// relocate notes the new holders of blocks of a sequence that is not in the directory.
func (s *Sequence) relocate(changed []*blockRepair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range changed {
		s.blocks[b.block].workers = b.after
		s.moves++
	}
	s.recount()
}

// publish tells the directory of the new holders of blocks, without another change to the entry
// that is there: the sequence may have grown meanwhile. It returns the blocks that others have
// changed, of which nothing was told.
func (s *Sequence) publish(ctx context.Context, changed []*blockRepair) (refused []*blockRepair, err error) {
	if len(changed) == 0 {
		return nil, nil
	}
	name := s.shared.name
	kv, ctx, cancel, err := s.client.directory(ctx, name)
	if err != nil {
		return nil, err
	}
	defer cancel()
	for {
		e, last, err := s.client.read(ctx, name)
		if err != nil {
			return nil, err
		}
		if e.ID != s.name {
			return nil, &ConflictError{name}
		}
		if refused = apply(ctx, e, changed); len(refused) == len(changed) {
			return refused, nil
		}
		revision, err := kv.Update(ctx, name, e.Encode(), last)
		switch {
		case err == nil:
			s.moved(e, last, revision)
			return refused, nil
		case !otherRevision(err):
			return nil, &DirectoryError{name, err}
		}
	}
}

// apply sets the new holders of blocks in an entry. It returns those blocks that have other
// holders there, or rows that the copies lack or that were replaced.
func apply(ctx context.Context, e *wire.Entry, changed []*blockRepair) (refused []*blockRepair) {
	for _, b := range changed {
		rows := min(e.Length-b.block*wire.BlockKeys, wire.BlockKeys)
		switch {
		case e.Cut > b.epoch || rows < b.rows || !slices.Equal(e.Blocks[b.block], b.before),
			rows > b.rows && b.extend(ctx, e.Epoch, rows) != nil:
			refused = append(refused, b)
		default:
			e.Blocks[b.block] = b.after
		}
	}
	return refused
}

// moved notes an entry with other holders, which was written in place of revision last.
func (s *Sequence) moved(e *wire.Entry, last, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared.revision == last {
		s.shared.revision = revision
	}
	s.adoptHolders(e)
}
