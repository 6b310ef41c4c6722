package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Sequence is a text, or one layer of it. The workers hold its keys and values. Only one goroutine
// at a time may append or truncate, and none may call attention over it meanwhile. Any number of
// goroutines may call attention at once.
type Sequence struct {
	client *Client
	name   string

	mu       sync.Mutex
	length   int
	epoch    uint64 // number of changes
	blocks   []placed
	load     map[string]int // blocks by worker
	declined declined
	moves    int     // changes of the holders of blocks that were there
	shared   *shared // nil if only this client knows the sequence
}

// placed says which workers hold a block: all rows of it that the sequence has.
type placed struct{ workers []string }

// NewSequence returns a sequence without keys, which only this client knows. Workers keep it until
// it is freed, or the client's connection is gone for longer than [WorkerConfig.Keep].
func (c *Client) NewSequence() *Sequence {
	return &Sequence{client: c, name: c.newName(), load: map[string]int{}}
}

// Name returns the name by which the workers know the sequence. It is made up, and no other
// sequence has it. It is NAME.ID for a sequence of the directory, and CLIENT/ID for others.
func (s *Sequence) Name() string { return s.name }

// Shared tells whether the sequence is in the directory, see [Client.Create].
func (s *Sequence) Shared() bool { return s.shared != nil }

// Len returns the number of keys: the position of the next one.
func (s *Sequence) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.length
}

// Owners returns the names of the workers that hold the block with key n, most preferred
// first, or nil if there is no such key.
func (s *Sequence) Owners(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n >= s.length {
		return nil
	}
	return slices.Clone(s.blocks[n/wire.BlockKeys].workers)
}

// Truncate drops the keys from position n on, such as the rejected tokens of a draft. The
// directory is told by the next Append or [Sequence.Commit]. The error is a
// [*kernel.Error].
func (s *Sequence) Truncate(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n > s.length {
		return &kernel.Error{Where: "n", Got: fmt.Sprint(n), Want: fmt.Sprintf("0 to %d", s.length)}
	}
	s.shorten(n)
	s.epoch++ // other clients see that there was a change
	return nil
}

// touch notes that workers may hold something of the sequence, for [Sequence.Free].
func (s *Sequence) touch(workers []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range workers {
		s.load[w] += 0
	}
}

// shorten drops the keys from n on, and the records of blocks that have none left.
func (s *Sequence) shorten(n int) {
	s.change()
	s.length = n
	keep := (n + wire.BlockKeys - 1) / wire.BlockKeys
	for _, b := range s.blocks[keep:] {
		for _, w := range b.workers {
			s.load[w]--
		}
	}
	s.blocks = s.blocks[:keep]
}

// Free asks the workers to forget the sequence, which has no keys afterwards, and removes it from
// the directory if it is there. Workers that do not answer are no error: they forget it when they
// end. An error of the directory is as in [Client.Append]; then nothing is forgotten.
func (s *Sequence) Free(ctx context.Context) error {
	if s.shared != nil {
		if err := s.remove(ctx); err != nil {
			return err
		}
		s.touch(s.client.Workers()) // an earlier writer may have left something with any of them
	}
	s.mu.Lock()
	workers := slices.Collect(maps.Keys(s.load))
	s.shorten(0)
	clear(s.load)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.client.config.Timeout)
	defer cancel()
	var group errgroup.Group
	for _, w := range workers {
		group.Go(func() error {
			if _, err := s.client.request(ctx, w, "free", wire.Encode(&wire.Free{Sequence: s.name})); !silent(err) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}
