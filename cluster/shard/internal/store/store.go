// Package store holds the keys and values of a worker of package shard in memory.
package store

import (
	"sync"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Store holds blocks of sequences, up to a number of bytes. It is for any number of
// goroutines.
type Store struct {
	mu        sync.Mutex
	limit     int64
	used      int64
	refuses   bool // new blocks
	sequences map[string]*sequence
}

// sequence is what a store holds of a sequence.
type sequence struct {
	geometry wire.Geometry
	blocks   map[int]*block
}

// New returns an empty store for so many bytes of blocks.
func New(limit int64) *Store {
	return &Store{limit: limit, sequences: map[string]*sequence{}}
}

// blockOverhead is what a block takes beside its rows, roughly.
const blockOverhead = 512

// cost returns the bytes that a block counts for. It has room for all of its rows from the
// beginning.
func cost(g *wire.Geometry) int64 { return int64(g.RowBytes())*wire.BlockKeys + blockOverhead }

// Put stores rows. What it does not store it leaves as it was.
func (s *Store) Put(g *wire.Geometry, k *wire.Keys) wire.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq := s.sequences[k.Sequence]
	if seq != nil && seq.geometry != *g {
		return wire.Misfit
	}
	var b *block
	if seq != nil {
		b = seq.blocks[k.Block]
	}
	if b != nil {
		return b.put(g, k)
	}
	switch {
	case k.Offset > 0:
		return wire.Gap
	case s.refuses:
		return wire.Leaving
	case s.used+cost(g) > s.limit:
		return wire.Full
	case seq == nil:
		seq = &sequence{*g, map[int]*block{}}
		s.sequences[k.Sequence] = seq
	}
	b = newBlock(g)
	seq.blocks[k.Block] = b
	s.used += cost(g)
	return b.put(g, k)
}

// Refuse has the store take no more blocks. Those that it has still grow.
func (s *Store) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = true
}

// Get returns the first rows of a block as they are in an epoch: keys and values of [1, Heads,
// rows, D]. They stay as they are whatever happens to the store. It returns false if the store
// does not hold as many, or holds others, or if some were replaced after that epoch.
func (s *Store) Get(g *wire.Geometry, name string, epoch uint64, number, rows int) (k, v kernel.Tensor, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq := s.sequences[name]
	if seq == nil || seq.geometry != *g {
		return k, v, false
	}
	b := seq.blocks[number]
	if b == nil || b.rows < rows || b.replaced(epoch, rows) {
		return k, v, false
	}
	k, v = b.tensors(g, rows)
	return k, v, true
}

// Free forgets a sequence.
func (s *Store) Free(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq := s.sequences[name]; seq != nil {
		s.used -= int64(len(seq.blocks)) * cost(&seq.geometry)
		delete(s.sequences, name)
	}
}

// Held is what a store holds of a sequence.
type Held struct {
	Blocks int
	Bytes  int64
}

// Held returns what the store holds, by the names of the sequences.
func (s *Store) Held() map[string]Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(map[string]Held, len(s.sequences))
	for name, seq := range s.sequences {
		held[name] = Held{len(seq.blocks), int64(len(seq.blocks)) * cost(&seq.geometry)}
	}
	return held
}

// Usage is what a store holds.
type Usage struct {
	Sequences, Blocks int
	Used, Limit       int64 // bytes
}

// Usage returns what the store holds.
func (s *Store) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{Sequences: len(s.sequences), Used: s.used, Limit: s.limit}
	for _, seq := range s.sequences {
		u.Blocks += len(seq.blocks)
	}
	return u
}
